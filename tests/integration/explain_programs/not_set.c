/* SPDX-License-Identifier: MIT */
/* A variable that was not set in this call. KIND: segfault */
#include <stdio.h>
#include <string.h>
struct opt {
	const char *name;
	int n;
};
static __attribute__((noinline)) void dirty(void)
{
	volatile unsigned long a[32];
	for (int i = 0; i < 32; i++)
		a[i] = 0x1111111111ul * i;
}
static __attribute__((noinline)) int find(const char *key)
{
	struct opt *found;
	static struct opt o[2] = {{"a", 1}, {"b", 2}};
	for (int i = 0; i < 2; i++)
		if (!strcmp(o[i].name, key))
			found = &o[i];
	return found->n; /* BUG */
}
int main(void)
{
	printf("%d\n", find("a"));
	dirty();
	printf("%d\n", find("c"));
	return 0;
}
