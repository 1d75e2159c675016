/* SPDX-License-Identifier: MIT */
/*
 * criu_pages.h: the pages of a CRIU image: pagemap-PID.img, which lists their addresses, and pages-N.img, which has
 * their contents in the same order (format of CRIU 3 and 4).
 */
#ifndef FRED_CUT_CRIU_PAGES_H
#define FRED_CUT_CRIU_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define CRIU_PAGE 4096u

/* Consecutive pages. */
struct criu_run {
	uint64_t addr, pages;
	uint64_t flags;
	bool wide; /* the number of pages is in the 64-bit field */
};

struct criu_pages {
	char *map, *data; /* paths of the two files */
	uint8_t head[64]; /* what is before the first run in the file of addresses */
	size_t head_len;
	struct criu_run *runs; /* by address */
	size_t n;
};

/*
 * Reads the pages of the only process in this image folder. ERR_INTERNAL: the format is not known. Call criu_pages_fini
 * in any case.
 */
int criu_pages_read(struct criu_pages *p, const char *dir, struct err *e);
void criu_pages_fini(struct criu_pages *p);
/*
 * Removes all pages for which keep is false: they are zero when the image is restored. *kept, *all: how many there are,
 * and were.
 */
int criu_pages_prune(const struct criu_pages *p, bool (*keep)(const void *ctx, uint64_t addr), const void *ctx,
		     uint64_t *kept, uint64_t *all, struct err *e);

#endif
