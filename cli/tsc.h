/* SPDX-License-Identifier: MIT */
/* tsc.h: may time stamps come from rdtsc, and how fast does it tick? */
#ifndef FRED_CLI_TSC_H
#define FRED_CLI_TSC_H

#include <stdbool.h>
#include <stdint.h>

/* Invariant by CPUID and one of the kernel's clock sources, which it is only while synchronised. */
bool tsc_is_invariant(void);
bool tsc_is_clocksource(void);
bool tsc_is_reliable(void);
/* Ticks a second: by CPUID or the hypervisor, else measured against CLOCK_MONOTONIC_RAW. */
uint64_t tsc_hz(void);

#endif
