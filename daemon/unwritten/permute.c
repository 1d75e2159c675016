/* SPDX-License-Identifier: MIT */
/* permute.c: elements of vectors that a constant in the instruction puts elsewhere. See bits.h. */
#include "unwritten/bits.h"

#include <string.h>

static unsigned bits_of(const struct bits_state *s, unsigned from, unsigned mask)
{
	return (unsigned)(bits_constant(s) >> from) & mask;
}

/* Which element of src[0], or behind those of src[1], becomes element k; n: elements of one source; -1: zeros. */
static int source_of(const struct bits_state *s, unsigned k, unsigned n)
{
	unsigned per_lane = s->f->element > 16 ? 1 : 16u / s->f->element, lane = k - k % per_lane, in = k % per_lane;
	unsigned half;

	switch ((enum flow_permute)s->f->wide) {
	case FLOW_WORDS_LOW:
		return (int)(in < 4 ? lane + bits_of(s, in * 2, 3) : k);
	case FLOW_WORDS_HIGH:
		return (int)(in < 4 ? k : lane + 4 + bits_of(s, (in - 4) * 2, 3));
	case FLOW_TWO_AND_TWO:
		half = in < per_lane / 2 ? 0 : n;
		return (int)(half + lane + (per_lane == 4 ? bits_of(s, in * 2, 3) : bits_of(s, k, 1)));
	case FLOW_EVEN:
		return (int)(k & ~1u);
	case FLOW_ODD:
		return (int)(k | 1);
	case FLOW_BLEND:
		return (int)(bits_of(s, k & 7, 1) ? n + k : k);
	case FLOW_IN_LANE:
		return (int)(lane + bits_of(s, k, 1));
	case FLOW_OF_FOUR:
		return (int)((k & ~3u) + bits_of(s, k % 4 * 2, 3));
	case FLOW_HALVES:
		half = bits_of(s, k * 4, 15);
		return half & 8 ? -1 : (int)((half & 2 ? n : 0) + (half & 1));
	}
	return -1;
}

void bits_permute(const struct bits_state *s, const uint8_t *a, const uint8_t *b, uint8_t *out)
{
	unsigned e = s->f->element, n = s->f->dst.len / e;

	for (unsigned k = 0; k < n; k++) {
		int from = source_of(s, k, n);

		if (from < 0)
			memset(out + k * e, 0, e);
		else
			memcpy(out + k * e, (unsigned)from < n ? a + (unsigned)from * e : b + ((unsigned)from - n) * e,
			       e);
	}
}
