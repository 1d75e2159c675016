/* SPDX-License-Identifier: MIT */
/*
 * seek.c: replay: finds the place in a computation where a PREEMPT record interrupted it (point.h).
 *
 * A timer stops the thread again and again and looks at the words of the record. Those that have changed must be
 * as recorded at the place. A word that moves evenly in one direction is a clock: the time until it reaches
 * its recorded value is a lower bound of how far it still is, also when it turns round before that; so the
 * longest of these times is safe to go by. When no clock is ahead any more, a hardware breakpoint at the place's
 * address stops the thread each time it comes by, until all words that change are as recorded.
 *
 * Nothing of this is open when the thread stands at an event: CRIU can dump no breakpoint.
 */
#include "record/point.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <time.h>

#define TRAP_PERF_ 6
#define FLAG_TRACE 0x100
#define FIRST_NS 300000u
#define NEAR_NS 3000u /* no timer is more exact */
#define STOP_NS 15000u /* what a stop takes, at most */
#define LEAD_STEP_NS 700
#define QUIET 6u /* so many short looks without a clock ahead */
#define QUIET_NS 2000u
#define CLOCK_STEPS 5u /* from then on a word that moves is a clock */
#define CLOCK_RANGE (1ull << 56) /* what moves on by more is no clock but data */
#define EVEN 2.5 /* how much faster or slower a clock may go between two looks */
#define FAR_NS 400000u /* so far ahead that it is no use to stop each time */
#define HITS_LOOK 256u
#define GUARD_NS 20000000u
#define GIVE_UP_NS 30000000000ull /* at the breakpoint */
#define PASSED_NS 1000000000ull /* when all clocks say that the place is behind */
#define MAX_WORDS 7168u

struct clock {
	uint64_t last, base;
	uint64_t last_ns, base_ns;
	uint64_t step; /* it moves by multiples of this */
	double fast; /* the fastest pace that was seen, in units per ns */
	int32_t dir;
	uint32_t n;
};

struct seek {
	struct point head;
	const uint8_t *regions; /* struct point_region, not aligned */
	uint64_t begin_ns; /* clock at the last return to the program */
	uint64_t ran_ns; /* CPU time of the program so far */
	uint64_t at_place_ns; /* when the breakpoint was set */
	uint64_t least_ns; /* the shortest time between two looks: what stopping alone takes */
	uint64_t was_left, wanted; /* at the look before; so much of it should be over now */
	int64_t lead_ns; /* how long before the program really goes on the timer has to be set */
	uint32_t looks, quiet, hits, words, nmust;
	int timer, fd, stepping, done, trap_was_blocked;
	int frozen; /* the clocks are not looked at any more */
	uint64_t want[MAX_WORDS], now[MAX_WORDS], addr[MAX_WORDS];
	uint8_t must[MAX_WORDS];
	uint16_t list[MAX_WORDS]; /* those that must */
	struct clock clock[MAX_WORDS];
};
_Static_assert(sizeof(struct seek) <= POINT_AREA_BYTES, "struct seek");

extern const struct rlog_kind_info *shim_kinds(void);

static uint64_t bit(int sig)
{
	return 1ull << (sig - 1);
}

static struct seek *of(const struct thr *t)
{
	return (struct seek *)(SHIM_POINT_ADDR + (uint64_t)t->ordinal * POINT_AREA_BYTES);
}

/* ---- clocks ---- */

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t c = a % b;

		a = b;
		b = c;
	}
	return a;
}

static void clock_restart(struct clock *c, uint64_t v, uint64_t ns)
{
	c->base = c->last = v;
	c->base_ns = c->last_ns = ns;
	c->n = 0;
	c->step = 0;
	c->fast = 0;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return (int64_t)(b - a) < 0 ? a - b : b - a;
}

/* Does this step fit to the pace so far? A slow clock is up to a step early or late. */
static int fits(const struct clock *c, uint64_t d, uint64_t ns)
{
	double pace, expect, slack;

	if (distance(c->base, c->last) + d >= CLOCK_RANGE)
		return 0;
	if (c->last_ns == c->base_ns)
		return 1;
	pace = (double)distance(c->base, c->last) / (double)(c->last_ns - c->base_ns);
	expect = pace * (double)(ns - c->last_ns);
	slack = 2.0 * (double)c->step + pace * STOP_NS;
	return (double)d < EVEN * expect + slack && (double)d > expect / EVEN - slack;
}

static void clock_look(struct clock *c, uint64_t v, uint64_t ns)
{
	uint64_t d = distance(c->last, v);
	int dir = (int64_t)(v - c->last) < 0 ? -1 : 1;

	if (!d)
		return;
	if (c->n && (dir != c->dir || !fits(c, d, ns))) {
		clock_restart(c, v, ns);
		return;
	}
	if (ns > c->last_ns + 4 * STOP_NS && (double)d / (double)(ns - c->last_ns) > c->fast)
		c->fast = (double)d / (double)(ns - c->last_ns);
	c->dir = dir;
	c->n++;
	c->step = gcd(d, c->step);
	c->last = v;
	c->last_ns = ns;
}

/* At least so long until it reaches its recorded value; 0: it is there, or beyond. */
static uint64_t clock_left(const struct clock *c, uint64_t now, uint64_t want)
{
	uint64_t d = distance(now, want);
	double pace;

	if (c->n < CLOCK_STEPS || c->last_ns == c->base_ns)
		return 0;
	if (((int64_t)(want - now) < 0) != (c->dir < 0) || d <= c->step)
		return 0;
	/* the CPU may have been shared with others when it went slower */
	pace = (double)distance(c->base, c->last) / (double)(c->last_ns - c->base_ns);
	return (uint64_t)((double)(d - c->step) / (c->fast > pace ? c->fast : pace));
}

/* ---- looking ---- */

static void read_words(struct seek *s, const ucontext_t *uc)
{
	point_regs(uc, s->now);
	for (uint32_t i = POINT_REGS; i < s->words; i++)
		s->now[i] = *(const volatile uint64_t *)s->addr[i];
}

static void find_words(struct seek *s)
{
	uint64_t *to = s->addr + POINT_REGS;

	for (uint64_t i = 0; i < s->head.regions; i++) {
		struct point_region g;

		__builtin_memcpy(&g, s->regions + i * sizeof(g), sizeof(g));
		for (uint64_t k = 0; k < g.words; k++)
			*to++ = g.addr + k * 8;
	}
}

static void demand(struct seek *s, uint32_t i)
{
	if (s->must[i])
		return;
	s->must[i] = 1;
	s->list[s->nmust++] = (uint16_t)i;
}

/* Compares with the look before. clocks: the time was the program's. */
static void look(struct seek *s, const ucontext_t *uc, int clocks)
{
	read_words(s, uc);
	s->frozen = !clocks;
	for (uint32_t i = 0; i < s->words; i++) {
		struct clock *c = &s->clock[i];

		if (i == REG_RIP)
			continue;
		if (s->looks == 0) {
			clock_restart(c, s->now[i], s->ran_ns);
			continue;
		}
		if (s->now[i] != c->last)
			demand(s, i);
		if (clocks)
			clock_look(c, s->now[i], s->ran_ns);
	}
	s->looks++;
}

/* A clock that is not ahead is a step away at most. */
static uint64_t clock_step_ns(const struct clock *c)
{
	return c->n ? (uint64_t)((double)(c->last_ns - c->base_ns) * (double)c->step /
				 (double)distance(c->base, c->last))
		    : 0;
}

/*
 * The longest time that a clock says. Data that looks like a clock for a while makes no old one, so the young
 * ones are asked only when the old ones have come to their last step, and only about that.
 */
static uint64_t left(const struct seek *s)
{
	uint64_t old = 0, young = 0, step = UINT64_MAX, limit = s->head.run_ns * 16 + 1000000;
	int here = s->now[REG_RIP] == s->want[REG_RIP];
	uint32_t oldest = 0;

	for (uint32_t k = 0; k < s->nmust; k++)
		if (s->clock[s->list[k]].n > oldest)
			oldest = s->clock[s->list[k]].n;
	for (uint32_t k = 0; k < s->nmust; k++) {
		uint32_t i = s->list[k];
		const struct clock *c = &s->clock[i];
		uint64_t ns = clock_left(c, s->now[i], s->want[i]);

		/* a register may be used for something else a few instructions later */
		if (c->n < CLOCK_STEPS || ns > limit || (i < POINT_REGS && s->frozen && !here))
			continue;
		if (c->n < oldest / 4 * 3) {
			young = ns > young ? ns : young;
			continue;
		}
		old = ns > old ? ns : old;
		if (clock_step_ns(c) < step)
			step = clock_step_ns(c);
	}
	if (old)
		return old;
	return young < step ? young : step;
}

/* All old clocks are beyond: the place is behind, if they do not turn round. */
static int passed(const struct seek *s)
{
	uint32_t oldest = CLOCK_STEPS, beyond = 0;

	for (uint32_t k = 0; k < s->nmust; k++)
		if (s->clock[s->list[k]].n > oldest)
			oldest = s->clock[s->list[k]].n;
	for (uint32_t k = 0; k < s->nmust; k++) {
		uint32_t i = s->list[k];
		const struct clock *c = &s->clock[i];
		int ahead = ((int64_t)(s->want[i] - s->now[i]) < 0) == (c->dir < 0);

		if (c->n < oldest / 4 * 3)
			continue;
		if (ahead || distance(s->now[i], s->want[i]) <= c->step)
			return 0;
		beyond++;
	}
	return beyond != 0;
}

static int has_clock(const struct seek *s)
{
	for (uint32_t k = 0; k < s->nmust; k++)
		if (s->clock[s->list[k]].n >= CLOCK_STEPS + 2)
			return 1;
	return 0;
}

/* Is this the place? The word that says no is asked first the next time. */
static int matches(struct seek *s, const ucontext_t *uc)
{
	uint64_t regs[POINT_REGS];

	point_regs(uc, regs);
	if (regs[REG_RIP] != s->want[REG_RIP] || regs[REG_RSP] != s->want[REG_RSP])
		return 0;
	for (uint32_t k = 0; k < s->nmust; k++) {
		uint16_t i = s->list[k];
		uint64_t v = i < POINT_REGS ? regs[i] : *(const volatile uint64_t *)s->addr[i];

		if (v == s->want[i])
			continue;
		s->list[k] = s->list[0];
		s->list[0] = i;
		return 0;
	}
	return 1;
}

/* ---- stopping ---- */

static void arm(const struct seek *s, uint64_t ns)
{
	struct itimerspec when = {{0, 0}, {(long)(ns / 1000000000u), (long)(ns % 1000000000u)}};

	raw4(SYS_timer_settime, s->timer, 0, &when, 0);
}

static int open_breakpoint(uint64_t pc)
{
	struct perf_event_attr a;

	__builtin_memset(&a, 0, sizeof(a));
	a.size = sizeof(a);
	a.type = PERF_TYPE_BREAKPOINT;
	a.bp_type = HW_BREAKPOINT_X;
	a.bp_addr = pc;
	a.bp_len = sizeof(long);
	a.sample_period = 1;
	a.exclude_kernel = 1;
	a.exclude_hv = 1;
	a.sigtrap = 1;
	a.remove_on_exec = 1;
	return (int)raw6(SYS_perf_event_open, (long)&a, 0, -1, -1, 8 /* PERF_FLAG_FD_CLOEXEC */, 0);
}

static void trap_mask(struct seek *s, ucontext_t *uc, int block)
{
	uint64_t mask;

	__builtin_memcpy(&mask, &uc->uc_sigmask, 8);
	if (block && s->trap_was_blocked)
		mask |= bit(SIGTRAP);
	if (!block)
		s->trap_was_blocked = (mask & bit(SIGTRAP)) != 0;
	if (!block)
		mask &= ~bit(SIGTRAP);
	__builtin_memcpy(&uc->uc_sigmask, &mask, 8);
}

static void watch_place(struct seek *s, ucontext_t *uc)
{
	trap_mask(s, uc, 0);
	s->hits = 0;
	s->at_place_ns = point_cpu_ns();
	s->fd = open_breakpoint(s->want[REG_RIP]);
	s->stepping = s->fd < 0;
	if (s->stepping)
		uc->uc_mcontext.gregs[REG_EFL] |= FLAG_TRACE;
	arm(s, GUARD_NS);
}

static void leave_place(struct seek *s, ucontext_t *uc)
{
	if (s->fd < 0 && !s->stepping)
		return;
	if (s->fd >= 0)
		raw_close(s->fd);
	s->fd = -1;
	s->stepping = 0;
	uc->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)FLAG_TRACE;
	trap_mask(s, uc, 1);
}

/* ---- the search ---- */

static void arrive(struct thr *t, struct seek *s)
{
	uint64_t mask = bit(SIG_PREEMPT);
	struct rlog_rec r;

	raw1(SYS_timer_delete, s->timer);
	t->seeking = 0;
	t->depth = 1;
	t->selector = 0;
	raw4(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, 0, 8);
	turn_take(t, &r, RLOG_PREEMPT);
	turn_done(t);
	while (sig_deliver_replay(t))
		;
	t = self;
	t->depth = 0;
	t->selector = 1;
}

static void found(struct thr *t, struct seek *s, ucontext_t *uc)
{
	leave_place(s, uc);
	arm(s, 0);
	s->done = 1;
	if (!interrupt_move(t, uc))
		arrive(t, s);
}

static void lost(struct thr *t, const char *why)
{
	struct rlog_rec r = {.kind = RLOG_PREEMPT};

	t->depth = 1;
	t->seeking = 0;
	t->caller = of(t)->want[REG_RIP];
	turn_diverge(t, &r, RLOG_PREEMPT, 0, 0, why);
}

/* The time below which no clock is trusted: it may turn round. */
static uint64_t floor_ns(const struct seek *s)
{
	uint64_t ns = has_clock(s) ? s->head.least_ns / 2 : (s->head.least_ns + s->head.run_ns) / 4;

	return ns >> (G.ctl->rung < 8 ? G.ctl->rung : 8);
}

/* For about ns of the program's time. The last time shows how much goes by before it runs. */
static void go_on(struct seek *s, uint64_t ns)
{
	uint64_t now = left(s), done = s->was_left > now ? s->was_left - now : 0;

	if (s->wanted && done * 2 < s->wanted && s->lead_ns < 50000)
		s->lead_ns += LEAD_STEP_NS;
	else if (s->wanted && done > s->wanted && s->lead_ns > 0)
		s->lead_ns -= LEAD_STEP_NS;
	s->was_left = now;
	s->wanted = ns;
	arm(s, ns + (uint64_t)s->lead_ns);
}

/* Goes on for a part of what is left, or sets the breakpoint. */
static void approach(struct seek *s, ucontext_t *uc)
{
	uint64_t least = floor_ns(s), ns = left(s) * (G.ctl->rung ? 3 : 6) / 10, part = s->head.run_ns / 32;

	if (s->ran_ns < least) {
		s->wanted = 0;
		if (part > least - s->ran_ns)
			part = least - s->ran_ns;
		arm(s, (ns > NEAR_NS ? ns : part) + QUIET_NS);
		return;
	}
	if (ns > NEAR_NS) {
		s->quiet = 0;
		go_on(s, ns);
	} else if (s->quiet++ < QUIET) {
		s->wanted = 0;
		arm(s, QUIET_NS);
	} else {
		watch_place(s, uc);
	}
}

void seek_tick(struct thr *t, ucontext_t *uc)
{
	struct seek *s = of(t);
	uint64_t ns;

	if (!t->seeking)
		return;
	if (t->depth || (!t->away && G.ctl->owner != t->ordinal) || interrupt_in_shim(uc)) {
		arm(s, QUIET_NS);
		return;
	}
	if (s->done) {
		if (!interrupt_move(t, uc))
			arrive(t, s);
		return;
	}
	if (s->fd >= 0 || s->stepping) { /* the guard */
		look(s, uc, 0);
		if (left(s) > FAR_NS) {
			leave_place(s, uc);
			s->quiet = 0;
			arm(s, left(s) / 2);
		} else if (point_cpu_ns() - s->at_place_ns > (passed(s) ? PASSED_NS : GIVE_UP_NS)) {
			lost(t, "the place where a computation was interrupted does not come");
		} else {
			arm(s, GUARD_NS);
		}
		return;
	}
	ns = point_cpu_ns() - s->begin_ns;
	if (ns < s->least_ns)
		s->least_ns = ns;
	s->ran_ns += ns - s->least_ns;
	look(s, uc, 1);
	if (s->ran_ns >= floor_ns(s) && matches(s, uc))
		found(t, s, uc);
	else
		approach(s, uc);
	s->begin_ns = point_cpu_ns();
}

int seek_trap(siginfo_t *si, ucontext_t *uc)
{
	struct thr *t = self;
	struct seek *s;

	if (!t || !t->seeking || (si->si_code != TRAP_PERF_ && !of(t)->stepping))
		return 0;
	s = of(t);
	if (s->fd < 0 && !s->stepping)
		return 1; /* was on its way when the breakpoint went */
	if (t->depth || (!t->away && G.ctl->owner != t->ordinal))
		return 1;
	if ((uint64_t)uc->uc_mcontext.gregs[REG_RIP] != s->want[REG_RIP])
		return 1;
	if (++s->hits % HITS_LOOK == 0)
		look(s, uc, 0);
	if (matches(s, uc)) {
		found(t, s, uc);
	} else if (s->hits % HITS_LOOK == 0 && left(s) > FAR_NS) {
		leave_place(s, uc);
		s->quiet = 0;
		arm(s, left(s) / 2);
		s->begin_ns = point_cpu_ns();
	}
	return 1;
}

void seek_begin(struct thr *t)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIG_PREEMPT};
	struct seek *s = point_area(t);
	const uint8_t *at = t->log.rd;
	struct rlog_rec r;

	if (!s || rlog_next(shim_kinds(), &at, t->log.rd_end, &r) != RLOG_READ_OK ||
	    r.payload_len < sizeof(s->head))
		shim_fail("the record of an interruption is damaged");
	__builtin_memset(s, 0, offsetof(struct seek, want));
	__builtin_memset(s->must, 0, sizeof(s->must));
	__builtin_memcpy(&s->head, r.payload, sizeof(s->head));
	s->regions = r.payload + sizeof(s->head);
	s->words = (uint32_t)(POINT_REGS + s->head.words);
	if (s->words > MAX_WORDS ||
	    r.payload_len != sizeof(s->head) + s->head.regions * sizeof(struct point_region) + s->head.words * 8)
		shim_fail("the record of an interruption is damaged");
	__builtin_memcpy(s->want, s->head.reg, sizeof(s->head.reg));
	__builtin_memcpy(s->want + POINT_REGS, r.payload + r.payload_len - s->head.words * 8, s->head.words * 8);
	s->least_ns = STOP_NS;
	find_words(s);
	s->fd = -1;
	ev._sigev_un._tid = (int)raw0(SYS_gettid);
	if (raw3(SYS_timer_create, CLOCK_MONOTONIC, &ev, &s->timer))
		shim_fail("cannot make a timer");
	t->seeking = 1;
	s->begin_ns = point_cpu_ns();
	arm(s, s->head.run_ns / 32 < FIRST_NS ? s->head.run_ns / 32 + QUIET_NS : FIRST_NS);
}
