/* SPDX-License-Identifier: MIT */
/* pagemap.c: see pagemap.h. */
#include "trace/pagemap.h"

#include <sys/ioctl.h>

#define PAGE_IS_PRESENT (1ull << 3)
#define PAGE_IS_SWAPPED (1ull << 4)

/* As in linux/fs.h since 6.7, which the headers of Debian 12 do not have yet. */
struct region {
	uint64_t start, end, categories;
};
struct scan {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
_Static_assert(sizeof(struct scan) == 96, "struct pm_scan_arg");
#define SCAN _IOWR('f', 16, struct scan)

uint64_t pagemap_next_used(int fd, uint64_t from, uint64_t to)
{
	struct region found = {0};
	struct scan s = {.size = sizeof(s),
			 .start = from,
			 .end = to,
			 .vec = (uintptr_t)&found,
			 .vec_len = 1,
			 .max_pages = 1,
			 .category_anyof_mask = PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
			 .return_mask = PAGE_IS_PRESENT};
	int n = ioctl(fd, SCAN, &s);

	return n < 0 ? from : n == 0 ? to : found.start;
}
