/* SPDX-License-Identifier: MIT */
/* seek_stop.c: the search for the place of a PREEMPT record (seek.h): its timer and breakpoint, and how it ends. */
#include "record/core/own_stack.h"
#include "record/core/sigaction.h"
#include "record/core/state.h"
#include "record/dbt/xlate.h"
#include "record/event/ev.h"
#include "record/event/hooks.h"
#include "record/event/turn.h"
#include "record/preempt/point.h"
#include "record/preempt/seek.h"
#include "record/sched/chaos.h"
#include "record/shm/group.h"

#include <time.h>

#define FLAG_TRACE 0x100
#define FLAG_RESUME 0x10000 /* the processor passes over a breakpoint */

struct seek *seek_of(const struct thr *t)
{
	return (struct seek *)(SHIM_POINT_ADDR + (uint64_t)t->ordinal * POINT_AREA_BYTES);
}

void seek_arm(const struct seek *s, uint64_t ns)
{
	struct itimerspec when = {{0, 0}, {(long)(ns / 1000000000u), (long)(ns % 1000000000u)}};

	raw4(SYS_timer_settime, s->timer, 0, &when, 0);
}

/* Unblocks SIGTRAP; the former mask is put back into the state in which the program goes on. */
static void let_traps_in(struct seek *s, ucontext_t *uc)
{
	uint64_t trap = SIG_BIT(SIGTRAP), mask = 0;

	if (uc) {
		__builtin_memcpy(&mask, &uc->uc_sigmask, 8);
		s->trap_was_blocked = (mask & trap) != 0;
		mask &= ~trap;
		__builtin_memcpy(&uc->uc_sigmask, &mask, 8);
		return;
	}
	raw4(SYS_rt_sigprocmask, SIG_UNBLOCK, &trap, &mask, 8);
	s->trap_was_blocked = (mask & trap) != 0;
}

static void keep_traps_out(const struct seek *s, ucontext_t *uc)
{
	uint64_t mask;

	__builtin_memcpy(&mask, &uc->uc_sigmask, 8);
	if (s->trap_was_blocked)
		mask |= SIG_BIT(SIGTRAP);
	__builtin_memcpy(&uc->uc_sigmask, &mask, 8);
}

void seek_watch(struct seek *s, ucontext_t *uc, uint64_t period)
{
	if (s->fd >= 0)
		raw_close(s->fd);
	else
		let_traps_in(s, uc);
	s->period = period;
	s->fd = point_breakpoint(s->want[REG_RIP], period);
	s->stepping = s->fd < 0;
	if (s->stepping && uc)
		uc->uc_mcontext.gregs[REG_EFL] |= FLAG_TRACE;
}

void seek_step(struct seek *s, ucontext_t *uc)
{
	let_traps_in(s, uc);
	uc->uc_mcontext.gregs[REG_EFL] |= FLAG_TRACE;
}

void seek_unwatch(struct seek *s, ucontext_t *uc)
{
	if (s->fd < 0 && !s->stepping)
		return;
	if (s->fd >= 0)
		raw_close(s->fd);
	s->fd = -1;
	s->stepping = 0;
	uc->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)FLAG_TRACE;
	keep_traps_out(s, uc);
}

/* An instruction was divided there (chaos_split.c): the event after the PREEMPT says so, and what it reads. */
static void take_split(struct thr *t)
{
	const uint8_t *payload;
	struct split s;
	uint64_t len = 0;
	int64_t zero;

	if (!turn_next_call_is(t, RLOG_CALL_SPLIT))
		return;
	ev(t, RLOG_CALL, 0, RLOG_CALL_SPLIT, 0);
	ev_done(t);
	payload = ev_callret(t, &zero, 0, &len);
	if (len != sizeof(s))
		shim_fail("the record of a divided instruction is damaged");
	__builtin_memcpy(&s, payload, sizeof(s));
	if (s.bytes <= sizeof(s.value))
		sys_put((void *)s.at, &s.value, s.bytes);
	turn_seek(t);
}

static void arrive(struct thr *t, struct seek *s, ucontext_t *uc)
{
	uint64_t mask = SIG_OURS;
	struct rlog_rec r;

	own_stack_enter(t, uc);
	raw1(SYS_timer_delete, s->timer);
	t->depth = 1;
	t->selector = 0;
	raw4(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, 0, 8);
	turn_take(t, &r, RLOG_PREEMPT);
	turn_done(t);
	take_split(t);
	while (event_hooks.deliver_replay(t))
		;
	t = self;
	t->depth = 0;
	t->selector = 1;
}

void seek_found(struct thr *t, struct seek *s, ucontext_t *uc)
{
	t->preempt.seeking = 0; /* a tick that comes now finds nothing to do: the handler of a trap lets it in */
	seek_arm(s, 0);
	seek_unwatch(s, uc);
	seek_remember(s);
	xlate_free(s->walk);
	s->walk = 0;
	s->walking = 0;
	/* a breakpoint at the place itself is met when the program goes on */
	uc->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)FLAG_RESUME;
	arrive(t, s, uc);
}

void seek_lost(struct thr *t, const char *why)
{
	struct rlog_rec r = {.kind = RLOG_PREEMPT};

	t->depth = 1;
	t->preempt.seeking = 0;
	t->caller = seek_of(t)->want[REG_RIP];
	turn_diverge(t, &r, RLOG_PREEMPT, 0, 0, why);
}

int seek_make_timer(struct seek *s)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIG_PREEMPT};

	ev._sigev_un._tid = (int)raw0(SYS_gettid);
	return raw3(SYS_timer_create, CLOCK_MONOTONIC, &ev, &s->timer) ? -1 : 0;
}
