/* SPDX-License-Identifier: MIT */
/* good_heap.c: All ways to allocate, used to the last byte; and memory that is mapped where the heap could be. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void use(char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (char)i;
}

int main(void)
{
	void *q = NULL;
	char *line = NULL, *p;
	size_t cap = 0;
	FILE *f = fopen("/proc/self/cmdline", "r");

	for (size_t n = 0; n < 300; n += 7) {
		p = malloc(n);
		use(p, n);
		p = realloc(p, n + 5);
		use(p, n + 5);
		p = realloc(p, n / 2 + 1);
		use(p, n / 2 + 1);
		use(p, malloc_usable_size(p));
		free(p);
		if (!posix_memalign(&q, 64, n + 1))
			use(q, n + 1);
		free(q);
		p = aligned_alloc(4096, 4096);
		use(p, 4096);
		free(p);
		p = reallocarray(NULL, n + 1, 3);
		use(p, (n + 1) * 3);
		free(p);
	}
	if (f && getdelim(&line, &cap, 0, f) > 0)
		use(line, strlen(line) + 1);
	free(line);
	if (f)
		fclose(f);
	p = malloc(1 << 20);
	memset(p, 1, 1 << 20);
	free(p);
	p = mmap((void *)0x30413a080000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return 1;
	/* a copy of the process, which goes through a check, is no child */
	madvise(p, 4096, MADV_DONTFORK);
	mprotect(p, 4096, PROT_READ | PROT_WRITE);
	use(p, 4096);
	return 0;
}
