/* SPDX-License-Identifier: MIT */
/* passes.c: instructions that access the same block again and again, rightly at first; with a small heap and a large
 * one. */
#include <setjmp.h>
#include <stdlib.h>
#include <sys/mman.h>

static volatile int sum;
static jmp_buf out;

static void quiet(int n)
{
	sum += n;
}

static void leave(int n)
{
	if (n)
		leave(n - 1);
	longjmp(out, 1);
}

static void look(int *p, int last)
{
	for (int i = 0; i < 10; i++) {
		quiet(i);
		if (i == last)
			free(p); /* FREE */
		sum += *p; /* BAD: use-after-free */
	}
}

int main(void)
{
	char *large, *left = malloc(8); /* ALLOC */

	free(left); /* FREE */
	if (!setjmp(out))
		leave(3);
	quiet(left[1]); /* BAD: use-after-free */
	look(calloc(6, sizeof(int)), 6); /* ALLOC */
	large = malloc(80 << 20); /* ALLOC */
	large[0] = 1;
	/* what is known of the heap is written to a copy of the process anew after this */
	munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
	for (int i = 0; i < 5; i++)
		large[(80 << 20) - 4 + i] = 1; /* BAD: outside */
	free(large);
	return 0;
}
