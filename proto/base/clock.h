/* SPDX-License-Identifier: MIT */
/* clock.h: how long things take: CLOCK_MONOTONIC (clock_gettime(2)), from some moment in the past. */
#ifndef FRED_BASE_CLOCK_H
#define FRED_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_ms(void)
{
	return clock_ns() / 1000000;
}

/* Seconds, with their fraction. */
static inline double clock_s(void)
{
	return (double)clock_ns() / 1e9;
}

#endif
