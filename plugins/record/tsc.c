/* SPDX-License-Identifier: MIT */
/*
 * tsc.c: the program's own rdtsc and rdtscp, in serial recordings: each is an event.
 *
 * The kernel makes the instruction a SIGSEGV, for a thread (PR_SET_TSC). The recorder's stamps cannot use it then
 * either: they come from the clock, in the unit of the TSC. In a parallel recording that would be too slow, so the
 * counter is not recorded there.
 *
 * The setting goes along to new threads and processes and through an exec, and is lost in a checkpoint.
 */
#include "record/own_stack.h"

#include <time.h>
#include <ucontext.h>

#define PR_SET_TSC_ 26
#define READABLE 1
#define FAULTS 2

/* Without floating point: that leaves marks (inexact) in the thread's registers. */
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
		raw2(SYS_prctl, PR_SET_TSC_, FAULTS);
}

void tsc_release(void)
{
	if (G.no_tsc)
		raw2(SYS_prctl, PR_SET_TSC_, READABLE);
}

long tsc_set(struct thr *t, long how)
{
	if (how != READABLE && how != FAULTS)
		return -22; /* EINVAL */
	/* the recorder's own stamps must do without it */
	if (how == FAULTS && G.mode == SHIM_REPLAY)
		gil_start_replay(t);
	else if (how == FAULTS)
		gil_start_now(t);
	t->tsc_faults = how == FAULTS;
	return 0;
}

static uint64_t value_of(struct thr *t, uint32_t *cpu)
{
	int64_t ret = 0;
	uint64_t len = sizeof(*cpu);
	const uint8_t *p;

	ev(t, RLOG_CALL, 0, RLOG_CALL_TSC, 0);
	ev_done(t);
	if (G.mode == SHIM_RECORD) {
		ret = (int64_t)tsc_by_clock();
		raw3(SYS_getcpu, cpu, 0, 0);
		ev_callret(t, &ret, cpu, &len);
	} else if (G.mode == SHIM_REPLAY) {
		p = ev_callret(t, &ret, 0, &len);
		if (p && len == sizeof(*cpu))
			__builtin_memcpy(cpu, p, sizeof(*cpu));
	}
	return (uint64_t)ret;
}

int tsc_fault(void *ucv)
{
	greg_t *g = ((ucontext_t *)ucv)->uc_mcontext.gregs;
	const uint8_t *pc = (const uint8_t *)g[REG_RIP];
	int with_cpu = pc[0] == 0x0f && pc[1] == 0x01 && pc[2] == 0xf9; /* rdtscp */
	uint32_t cpu = 0;
	uint64_t value;
	struct thr *t;

	if (self && self->tsc_faults && !self->depth)
		return 0;
	if (!G.no_tsc || (!with_cpu && !(pc[0] == 0x0f && pc[1] == 0x31)))
		return 0;
	t = shim_enter();
	if (!t && G.mode == SHIM_OFF) {
		tsc_release();
		return 1;
	}
	if (t)
		own_stack_enter(t, ucv);
	value = t ? value_of(t, &cpu) : tsc_by_clock();
	g[REG_RAX] = (greg_t)(value & 0xffffffffu);
	g[REG_RDX] = (greg_t)(value >> 32);
	if (with_cpu)
		g[REG_RCX] = cpu;
	g[REG_RIP] += with_cpu ? 3 : 2;
	if (t)
		shim_leave(t);
	return 1;
}
