/* SPDX-License-Identifier: MIT */
/* A loop writes over a return address. KIND: jump. CFLAGS: -fno-stack-protector -fno-inline */
#include <stdio.h>

static __attribute__((noinline)) void fill(volatile char *p, const char *s)
{
	for (int i = 0; s[i]; i++)
		p[i] = s[i]; /* BUG */
}

static __attribute__((noinline)) int greet(const char *name)
{
	volatile char buf[8];

	fill(buf, name);
	return buf[0];
}

int main(void)
{
	printf("%d\n", greet("abc"));
	printf("%d\n", greet("abcdefghijklmnopqrstuvwxyzabcdef"));
	return 0;
}
