/* SPDX-License-Identifier: MIT */
/* Memory is used after it was unmapped. KIND: segfault */
#include <stdio.h>
#include <sys/mman.h>
static int *table;
static __attribute__((noinline)) void release(void)
{
	munmap(table, 4096); /* BUG */
}
int main(void)
{
	table = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	table[3] = 7;
	printf("%d\n", table[3]);
	release();
	puts("released");
	printf("%d\n", table[3]);
	return 0;
}
