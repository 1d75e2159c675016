/* SPDX-License-Identifier: MIT */
/* Memory is written to after it was made read-only. KIND: segfault */
#include <stdio.h>
#include <sys/mman.h>
static char *page;
static __attribute__((noinline)) void freeze(void)
{
	mprotect(page, 4096, PROT_READ); /* BUG */
}
int main(void)
{
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	page[0] = 'a';
	freeze();
	puts("frozen");
	page[1] = 'b';
	return 0;
}
