/* SPDX-License-Identifier: MIT */
/* An array on the stack is overrun, over the return address. KIND: jump */
/* CFLAGS: -fno-stack-protector */
#include <stdio.h>
#include <string.h>
static __attribute__((noinline)) void copy(char *to, const char *from)
{
	for (; *from; from++)
		*to++ = *from; /* BUG */
	*to = 0;
}
static __attribute__((noinline)) int greet(const char *name)
{
	char text[16];
	copy(text, name);
	return puts(text);
}
int main(void)
{
	greet("bob");
	greet("0123456789012345678901234567890123456789012345678901234567890123456789");
	return 0;
}
