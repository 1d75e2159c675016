/* SPDX-License-Identifier: MIT */
/* An array on the stack is overrun: the canary says so at the function's end. KIND: smashed-stack */
/* CFLAGS: -fstack-protector-all */
#include <stdio.h>
#include <string.h>
static __attribute__((noinline)) void fill(char *to, const char *from)
{
	while (*from)
		*to++ = *from++; /* BUG */
	*to = 0;
}
static __attribute__((noinline)) int greet(const char *name)
{
	char text[16];
	fill(text, name);
	return printf("%s\n", text);
}
int main(int argc, char **argv)
{
	greet("bob");
	greet("somebody with a very long name");
	return 0;
}
