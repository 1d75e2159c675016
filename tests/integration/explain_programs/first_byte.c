/* SPDX-License-Identifier: MIT */
/* A pointer is overwritten byte by byte: the first write counts. KIND: segfault */
/* CFLAGS: -fno-stack-protector */
#include <stdio.h>
static struct {
	char name[8];
	int *count;
} r;
static int n = 3;
static __attribute__((noinline)) void set_name(const char *s)
{
	int i;
	for (i = 0; s[i]; i++)
		r.name[i] = s[i]; /* BUG */
	r.name[i] = 0;
}
int main(void)
{
	r.count = &n;
	set_name("short");
	printf("%s %d\n", r.name, *r.count);
	set_name("0123456789ab");
	printf("%s %d\n", r.name, *r.count);
	return 0;
}
