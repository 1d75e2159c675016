/* SPDX-License-Identifier: MIT */
/* tsc_clock.h: rdtsc faults, and the recorder's stamps come from the clock. */
#ifndef FRED_RECORD_TSC_CLOCK_H
#define FRED_RECORD_TSC_CLOCK_H

#include "record/core/state.h"

/* PR_SET_TSC */
#define TSC_READABLE 1
#define TSC_FAULTS 2
void tsc_begin(struct thr *t); /* the calling thread's rdtsc is an event from here on */
void tsc_arm(void); /* in the calling thread, again */
void tsc_release(void); /* before an exec */
uint64_t tsc_by_clock(void);

#endif
