/* SPDX-License-Identifier: MIT */
/* tsc.h: the time stamp counter: can time stamps come from it, and what is its frequency? */
#ifndef FRED_SUPERVISOR_TSC_H
#define FRED_SUPERVISOR_TSC_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Is the TSC invariant, by CPUID? Is it one of the kernel's clock sources (then the TSCs of all processors are
 * synchronised)? Are both the case?
 */
bool tsc_is_invariant(void);
bool tsc_is_clocksource(void);
bool tsc_is_reliable(void);
/* Its frequency in Hz, from CPUID or the hypervisor; 0: not known. */
uint64_t tsc_known_hz(void);

/* A moment on both clocks, from which to measure. */
struct tsc_moment {
	uint64_t ns, ticks;
};
struct tsc_moment tsc_moment(void);
/* The frequency measured since then; waits until that is 1 ms ago. */
uint64_t tsc_hz_since(const struct tsc_moment *m);
/* The known frequency, else the measured one. */
uint64_t tsc_hz(void);

#endif
