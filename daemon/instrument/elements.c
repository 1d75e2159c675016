/* SPDX-License-Identifier: MIT */
/* elements.c: see elements.h. */
#include "instrument/elements.h"

#include <string.h>

void elements_put(struct elements *v, enum replay_report_vector which, const void *bytes)
{
	memcpy(v->bytes[which], bytes, ELEMENTS_BYTES);
	v->known[which] = true;
}

/* Is the element accessed? An opmask or the sign of an element in a vector says so. */
static bool is_selected(const struct elements *v, const struct insn_shape *s, uint64_t opmask, unsigned k)
{
	if (s->masked)
		return opmask >> k & 1;
	return v->bytes[REPORT_VECTOR_MASK][(k + 1) * s->element - 1] >> 7;
}

static uint64_t index_of(const struct elements *v, const struct insn_shape *s, unsigned k)
{
	int64_t wide;
	int32_t narrow;

	if (s->index == sizeof(narrow)) {
		memcpy(&narrow, v->bytes[REPORT_VECTOR_INDEX] + k * sizeof(narrow), sizeof(narrow));
		return (uint64_t)narrow * s->scale;
	}
	memcpy(&wide, v->bytes[REPORT_VECTOR_INDEX] + k * sizeof(wide), sizeof(wide));
	return (uint64_t)wide * s->scale;
}

int elements_of(struct elements *v, const struct insn_shape *s, uint64_t opmask, uint64_t base,
		uint64_t at[ELEMENTS_MAX])
{
	unsigned n = s->index ? s->count : s->element ? s->bytes / s->element : 0;
	bool known = n && n <= ELEMENTS_MAX && (s->masked || v->known[REPORT_VECTOR_MASK]) &&
		     (!s->index || v->known[REPORT_VECTOR_INDEX]);
	int found = 0;

	memset(v->known, 0, sizeof(v->known));
	if (!known)
		return -1;
	for (unsigned k = 0; k < n; k++)
		if (is_selected(v, s, opmask, k))
			at[found++] = base + (s->index ? index_of(v, s, k) : k * (uint64_t)s->element);
	return found;
}

uint64_t elements_masked(const struct insn_shape *s, uint64_t opmask, uint64_t *addr)
{
	unsigned n = s->element ? s->bytes / s->element : 0, first, last;
	uint64_t mask = n >= 64 ? opmask : opmask & ((1ull << n) - 1);

	if (!mask)
		return 0;
	first = s->packed ? 0 : (unsigned)__builtin_ctzll(mask);
	last = s->packed ? (unsigned)__builtin_popcountll(mask) : 64 - (unsigned)__builtin_clzll(mask);
	*addr += first * s->element;
	return (last - first) * (uint64_t)s->element;
}
