/* SPDX-License-Identifier: MIT */
/*
 * tsc_clock.c: rdtsc faults (PR_SET_TSC) in threads whose counter is to be recorded; the recorder's own stamps come
 * from the clock then, in the unit of the TSC. See input/tsc.c.
 *
 * New threads and processes inherit the setting, and it survives an exec; a checkpoint does not keep it.
 */
#include "record/core/tsc_clock.h"
#include "record/core/sigaction.h"
#include "record/core/state.h"

#include <time.h>

#define PR_SET_TSC_ 26

/* Without floating-point instructions, which would set flags (inexact) in the thread's registers. */
#define TICKS_SHIFT 30
static uint64_t base_tsc, base_ns;
static uint64_t ticks = 1ull << TICKS_SHIFT; /* in 2^TICKS_SHIFT ns */

static uint64_t clock_ns(void)
{
	struct timespec ts;

	raw2(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t tsc_by_clock(void)
{
	return base_tsc + (uint64_t)((unsigned __int128)(clock_ns() - base_ns) * ticks >> TICKS_SHIFT);
}

void tsc_begin(struct thr *t)
{
	if (G.mode == SHIM_RECORD && !G.no_tsc) {
		base_tsc = __builtin_ia32_rdtsc();
		base_ns = clock_ns();
		if (G.control->tsc_hz)
			ticks = (G.control->tsc_hz << TICKS_SHIFT) / 1000000000u;
	}
	G.no_tsc = 1;
	t->no_tsc = 1;
	sig_need_segv(t);
	tsc_arm();
}

void tsc_arm(void)
{
	if (G.no_tsc)
		raw2(SYS_prctl, PR_SET_TSC_, TSC_FAULTS);
}

void tsc_release(void)
{
	if (G.no_tsc)
		raw2(SYS_prctl, PR_SET_TSC_, TSC_READABLE);
}
