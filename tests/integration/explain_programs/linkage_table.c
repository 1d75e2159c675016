/* SPDX-License-Identifier: MIT */
/*
 * A negative length: what is overwritten is what leads to functions of libc; or a page that cannot be written to is met
 * first, as this processor's memcpy copies. KIND: jump or segfault
 */
#include <stdio.h>
#include <string.h>
static char in[64] = "abc", out[64];
static __attribute__((noinline)) int body_length(int total, int header)
{
	return total - header; /* BUG: negative */
}
static __attribute__((noinline)) void take(int n)
{
	if (n > 64)
		return;
	memcpy(out, in, n); /* BUG: and it is not looked at */
}
int main(void)
{
	take(body_length(20, 8));
	take(body_length(4, 8));
	puts(out);
	return 0;
}
