/* SPDX-License-Identifier: MIT */
/* footprint.c: see footprint.h: a bit for each byte of a page that was touched. */
#include "executed/footprint.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define PAGE 4096u
#define BITS 64u

struct footprint_page {
	uint64_t seen[PAGE / BITS];
};

struct entry {
	uint64_t key; /* 1 + address / PAGE */
	struct footprint_page *page;
};

static struct footprint_page *page_at(struct footprint *f, uint64_t number)
{
	struct entry *at;

	if (f->last && f->last_number == number)
		return f->last;
	if (!f->pages.size)
		table_init(&f->pages, sizeof(*at));
	at = table_add(&f->pages, number + 1);
	if (!at->page)
		at->page = xcalloc(1, sizeof(*at->page));
	f->last_number = number;
	return f->last = at->page;
}

/* n bytes from `first` of the page on, which are in one word of its bits. */
static unsigned mark(struct footprint_page *p, unsigned first, unsigned n)
{
	uint64_t bits = (n == BITS ? ~0ull : (1ull << n) - 1) << first % BITS, *word = &p->seen[first / BITS];
	unsigned fresh = (unsigned)__builtin_popcountll(bits & ~*word);

	*word |= bits;
	return fresh;
}

void footprint_add(struct footprint *f, uint64_t addr, uint64_t len, enum footprint_access how)
{
	while (len) {
		unsigned first = (unsigned)(addr % PAGE), room = BITS - first % BITS,
			 n = len < room ? (unsigned)len : room, fresh = mark(page_at(f, addr / PAGE), first, n);

		f->touched += fresh;
		f->loaded += how == FOOTPRINT_LOAD ? fresh : 0;
		addr += n;
		len -= n;
	}
}

void footprint_fini(struct footprint *f)
{
	for (struct entry *at = NULL; f->pages.cap && (at = table_next(&f->pages, at));)
		free(at->page);
	table_fini(&f->pages);
	memset(f, 0, sizeof(*f));
}
