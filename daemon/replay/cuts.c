/* SPDX-License-Identifier: MIT */
/* cuts.c: at which events a replay makes checkpoints on its way (nav_cuts, nav_checkpoints_wanted in navigate.h). */
#include "replay/navigate.h"

#define LONG_SEGMENT_S 0.2

/* The event at which the part `part` (0 to 1) of the recorded time between a and b has passed. */
static uint64_t at_time(struct nav *n, uint64_t a, uint64_t b, double part)
{
	struct timeline_event ea, eb, em;
	struct err ignored;
	uint64_t lo = a, hi = b;
	double want;

	if (!a)
		a = 1;
	if (timeline_read(n->t.tl, a, &ea, &ignored) || timeline_read(n->t.tl, b, &eb, &ignored) || ea.seconds < 0)
		return a + (uint64_t)(part * (double)(b - a));
	want = ea.seconds + part * (eb.seconds - ea.seconds);
	while (lo + 1 < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (timeline_read(n->t.tl, mid, &em, &ignored))
			break;
		if (em.seconds <= want)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* Is the segment between this event and the next one long? */
static bool is_long(struct nav *n, uint64_t at)
{
	struct timeline_event a, b;
	struct err ignored;

	return !timeline_read(n->t.tl, at, &a, &ignored) && !timeline_read(n->t.tl, at + 1, &b, &ignored) &&
	       b.seconds - a.seconds > LONG_SEGMENT_S;
}

static unsigned add_cut(uint64_t at, uint64_t from, uint64_t to, uint64_t *cuts, unsigned k)
{
	if (at <= (k ? cuts[k - 1] : from) || at >= to)
		return k;
	cuts[k] = at;
	return k + 1;
}

/*
 * A point in the middle of a long segment gives a checkpoint on each side of it, so that no probe has to
 * run through it.
 */
unsigned nav_cuts(struct nav *n, uint64_t from, uint64_t to, unsigned count, uint64_t *cuts)
{
	unsigned k = 0;

	for (unsigned i = 1; i <= count && from < to; i++) {
		uint64_t at = at_time(n, from, to, (double)i / (count + 1));

		k = add_cut(at, from, to, cuts, k);
		if (is_long(n, at))
			k = add_cut(at + 1, from, to, cuts, k);
	}
	return k;
}

#define CKPT_EVERY_S 0.5 /* of recorded time */
#define CKPT_MAX 12u

unsigned nav_checkpoints_wanted(struct nav *n, uint64_t from, uint64_t to)
{
	struct timeline_event a, b;
	struct err ignored;
	double s;

	if (!from || timeline_read(n->t.tl, from, &a, &ignored) || timeline_read(n->t.tl, to, &b, &ignored))
		return 0;
	s = (b.seconds - a.seconds) / CKPT_EVERY_S;
	return s < 1 ? 0 : s > CKPT_MAX ? CKPT_MAX : (unsigned)s;
}
