/* SPDX-License-Identifier: MIT */
/* tsc.h: may time stamps come from rdtsc, and how fast does it tick? */
#ifndef FRED_SUPERVISOR_TSC_H
#define FRED_SUPERVISOR_TSC_H

#include <stdbool.h>
#include <stdint.h>

/* Invariant by CPUID and one of the kernel's clock sources, which it is only while synchronised. */
bool tsc_is_invariant(void);
bool tsc_is_clocksource(void);
bool tsc_is_reliable(void);
/* Ticks a second, as CPUID or the hypervisor says; 0: they do not say. */
uint64_t tsc_known_hz(void);

/* A moment on both clocks, to measure by: the longer ago, the better. */
struct tsc_moment {
	uint64_t ns, ticks;
};
struct tsc_moment tsc_moment(void);
/* Waits until it is 1 ms ago. */
uint64_t tsc_hz_since(const struct tsc_moment *m);
/* Either of them. */
uint64_t tsc_hz(void);

#endif
