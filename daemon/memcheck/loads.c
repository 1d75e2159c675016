/* SPDX-License-Identifier: MIT */
/* loads.c: see loads.h. */
#include "memcheck/loads.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define PIECES_MAX 65536u

void loads_fini(struct loads *l)
{
	free(l->v);
	*l = (struct loads){0};
}

void loads_reset(struct loads *l)
{
	l->n = l->last = 0;
}

void loads_add(struct loads *l, uint64_t addr, const uint8_t *bytes, size_t n)
{
	struct loads_piece *p;

	if (n > LOADS_PIECE || l->n == PIECES_MAX)
		return;
	if (l->n == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 16;
		l->v = xreallocarray(l->v, l->cap, sizeof(*l->v));
	}
	p = &l->v[l->n++];
	p->addr = addr;
	p->len = (uint8_t)n;
	memcpy(p->bytes, bytes, n);
}

/* -1: it was not loaded. */
static int byte_at(struct loads *l, uint64_t addr)
{
	for (size_t k = 0; k < l->n; k++) {
		size_t at = l->last + k < l->n ? l->last + k : l->last + k - l->n;
		const struct loads_piece *p = &l->v[at];

		if (addr - p->addr >= p->len)
			continue;
		l->last = at;
		return p->bytes[addr - p->addr];
	}
	return -1;
}

static bool character_at(struct loads *l, uint64_t addr, unsigned width, uint32_t *c)
{
	*c = 0;
	for (unsigned k = 0; k < width; k++) {
		int b = byte_at(l, addr + k);

		if (b < 0)
			return false;
		*c |= (uint32_t)b << k * 8;
	}
	return true;
}

bool loads_length(struct loads *l, uint64_t addr, uint64_t most, unsigned width, uint64_t *bytes)
{
	uint32_t c = 1;
	uint64_t k;

	for (k = 0; k < most && c; k++)
		if (!character_at(l, addr + k * width, width, &c))
			return false;
	*bytes = k * width;
	return true;
}

static uint32_t folded(uint32_t c)
{
	return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

static bool same(uint32_t a, uint32_t b, enum loads_compare how)
{
	return how == LOADS_STRINGS_NO_CASE ? folded(a) == folded(b) : a == b;
}

bool loads_differ(struct loads *l, uint64_t a, uint64_t b, uint64_t most, unsigned width, enum loads_compare how,
		  uint64_t *bytes)
{
	uint64_t k;

	for (k = 0; k < most; k++) {
		uint32_t x, y;

		if (!character_at(l, a + k * width, width, &x) || !character_at(l, b + k * width, width, &y))
			return false;
		if (!same(x, y, how) || (how != LOADS_MEMORY && !x)) {
			k++;
			break;
		}
	}
	*bytes = k * width;
	return true;
}
