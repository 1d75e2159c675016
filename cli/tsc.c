/* SPDX-License-Identifier: MIT */
/* tsc.c: see tsc.h. CPUID leaves: Intel SDM vol. 2A; 0x40000010: VMware and KVM's timing leaf. */
#include "cli/tsc.h"

#include <cpuid.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#include "base/fdio.h"
#include "base/str.h"

#define CLOCKSOURCES "/sys/devices/system/clocksource/clocksource0/available_clocksource"
#define MEASURE_NS 5000000ull

bool tsc_is_invariant(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
}

bool tsc_is_clocksource(void)
{
	cleanup_buf struct buf b = {0};
	cleanup_strv struct strv names = {0};
	struct err ignored;

	if (read_file(CLOCKSOURCES, &b, &ignored))
		return false;
	strv_split(&names, buf_str(&b), " \n");
	return strv_has(&names, "tsc");
}

bool tsc_is_reliable(void)
{
	return tsc_is_invariant() && tsc_is_clocksource();
}

static uint64_t raw_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t measure(void)
{
	uint64_t t0 = raw_ns(), c0 = __rdtsc(), t1, c1;

	do {
		t1 = raw_ns();
		c1 = __rdtsc();
	} while (t1 - t0 < MEASURE_NS);
	return (uint64_t)((double)(c1 - c0) * 1e9 / (double)(t1 - t0));
}

uint64_t tsc_hz(void)
{
	unsigned a, b, c, d;

	if (__get_cpuid(0x15, &a, &b, &c, &d) && a && b && c)
		return (uint64_t)c * b / a;
	__cpuid(1, a, b, c, d);
	if (c & (1u << 31)) { /* under a hypervisor */
		__cpuid(0x40000000, a, b, c, d);
		if (a >= 0x40000010) {
			__cpuid(0x40000010, a, b, c, d);
			if (a)
				return (uint64_t)a * 1000;
		}
	}
	return measure();
}
