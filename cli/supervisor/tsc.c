/* SPDX-License-Identifier: MIT */
/* tsc.c: see tsc.h. CPUID leaves: Intel SDM vol. 2A; 0x40000010: VMware and KVM's timing leaf. */
#include "supervisor/tsc.h"

#include <cpuid.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#include "base/fdio.h"
#include "base/str.h"

#define CLOCKSOURCES "/sys/devices/system/clocksource/clocksource0/available_clocksource"
#define MEASURE_NS 1000000ull

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

struct tsc_moment tsc_moment(void)
{
	struct tsc_moment m = {raw_ns(), __rdtsc()};

	return m;
}

uint64_t tsc_hz_since(const struct tsc_moment *m)
{
	struct tsc_moment now;

	do
		now = tsc_moment();
	while (now.ns - m->ns < MEASURE_NS);
	return (uint64_t)((double)(now.ticks - m->ticks) * 1e9 / (double)(now.ns - m->ns));
}

uint64_t tsc_known_hz(void)
{
	unsigned a, b, c, d;

	if (__get_cpuid(0x15, &a, &b, &c, &d) && a && b && c)
		return (uint64_t)c * b / a;
	__cpuid(1, a, b, c, d);
	if (!(c & (1u << 31))) /* no hypervisor */
		return 0;
	__cpuid(0x40000000, a, b, c, d);
	if (a < 0x40000010)
		return 0;
	__cpuid(0x40000010, a, b, c, d);
	return (uint64_t)a * 1000;
}

uint64_t tsc_hz(void)
{
	uint64_t hz = tsc_known_hz();
	struct tsc_moment now = tsc_moment();

	return hz ? hz : tsc_hz_since(&now);
}
