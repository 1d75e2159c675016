/* SPDX-License-Identifier: MIT */
/* footprint.c: see footprint.h: a bit for each byte of a page that was touched. */
#include "executed/footprint.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define PAGE 4096u
#define HASH 0x9e3779b97f4a7c15ull
#define BITS 64u

struct footprint_page {
	uint64_t number; /* address / PAGE */
	uint64_t seen[PAGE / BITS];
};

static struct footprint_page **place_of(struct footprint *f, uint64_t number)
{
	size_t k = (size_t)(number * HASH >> 20) & (f->cap - 1);

	while (f->v[k] && f->v[k]->number != number)
		k = (k + 1) & (f->cap - 1);
	return &f->v[k];
}

static void grow(struct footprint *f)
{
	struct footprint_page **old = f->v;
	size_t n = f->cap;

	f->cap = n ? n * 2 : 1024;
	f->v = xcalloc(f->cap, sizeof(*f->v));
	for (size_t k = 0; k < n; k++)
		if (old[k])
			*place_of(f, old[k]->number) = old[k];
	free(old);
}

static struct footprint_page *page_at(struct footprint *f, uint64_t number)
{
	struct footprint_page **at;

	if (f->last && f->last->number == number)
		return f->last;
	if (f->n * 2 >= f->cap)
		grow(f);
	at = place_of(f, number);
	if (!*at) {
		*at = xcalloc(1, sizeof(**at));
		(*at)->number = number;
		f->n++;
	}
	return f->last = *at;
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
	for (size_t k = 0; k < f->cap; k++)
		free(f->v[k]);
	free(f->v);
	memset(f, 0, sizeof(*f));
}
