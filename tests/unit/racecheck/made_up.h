/* SPDX-License-Identifier: MIT */
/* made_up.h: a detector for tests: sites from ATOMIC on are atomic operations, from RELAXED on relaxed ones, and races
 * are listed. */
#ifndef FRED_TEST_RACECHECK_MADE_UP_H
#define FRED_TEST_RACECHECK_MADE_UP_H

#include "racecheck/detect.h"

#define ATOMIC 100
#define RELAXED 200
#define RACES 64

struct made_up {
	struct detect d;
	unsigned races;
	struct {
		struct detect_access earlier, later;
	} race[RACES];
};

static enum detect_pair made_up_atomic(void *ctx, const struct detect_access *earlier,
				       const struct detect_access *later)
{
	(void)ctx;
	if (earlier->site < ATOMIC || later->site < ATOMIC)
		return DETECT_RACE;
	return later->site >= RELAXED ? DETECT_RELAXED : DETECT_ATOMIC;
}

static void made_up_race(void *ctx, const struct detect_access *earlier, const struct detect_access *later)
{
	struct made_up *m = ctx;

	if (m->races < RACES) {
		m->race[m->races].earlier = *earlier;
		m->race[m->races].later = *later;
	}
	m->races++;
}

static const struct detect_ops made_up_ops = {.atomic = made_up_atomic, .race = made_up_race};

static inline void reads(struct made_up *m, uint32_t thread, uint64_t addr, uint64_t len, uint32_t site)
{
	if (!detect_is_known(&m->d, thread, addr, len, false))
		detect_access(&m->d, thread, addr, len, false, site, 1);
}

static inline void writes(struct made_up *m, uint32_t thread, uint64_t addr, uint64_t len, uint32_t site)
{
	if (!detect_is_known(&m->d, thread, addr, len, true))
		detect_access(&m->d, thread, addr, len, true, site, 1);
	if (site >= ATOMIC)
		detect_tick(&m->d, thread);
}

#endif
