/* SPDX-License-Identifier: MIT */
/*
 * gone.c: what cannot be read for a while: no pointer, pages that are unmapped or protected.
 *
 * LEVELS: -O0 -O2
 * EXPR: page->n < 8
 * EXPR: tie->next->n != 5
 * EXPR: other == 0 || *other < 40
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

volatile int pass;
struct page {
	int n;
	struct page *next;
} *page, *tie;
int *other;

int main(void)
{
	for (int i = 0; i < 12; i++) {
		pass = i;
		if (i % 4 == 1) {
			page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			page->n = i;
		}
		if (page)
			page->n += 2;
		if (i % 4 == 3 && i < 10) {
			munmap(page, 4096);
			page = NULL;
		}
		if (i % 3 == 0) {
			tie = calloc(1, sizeof(*tie));
			tie->n = i;
		}
		if (i % 3 == 1) {
			tie->next = calloc(1, sizeof(*tie));
			tie->next->n = i;
		}
		if (i % 5 == 2)
			other = malloc(sizeof(int));
		if (other)
			*other = i * 5 % 43;
	}
	*other = 41;
	tie->next = malloc(sizeof(*tie));
	tie->next->n = 4;
	tie->next->n++;
	page->n += 20;
	puts("end");
	_exit(1);
}
