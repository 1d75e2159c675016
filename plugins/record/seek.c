/* SPDX-License-Identifier: MIT */
/*
 * seek.c: replay: finds the place in a computation where a PREEMPT record interrupted it (point.h).
 *
 * A timer stops the thread again and again and looks at the words of the record. Those that have changed must be
 * as recorded at the place. A word that moves evenly in one direction is a clock: the time until it reaches
 * its recorded value is a lower bound of how far it still is, also when it turns round before that; so the
 * longest of these times is safe to go by. When no clock is ahead any more, a hardware breakpoint at the place's
 * address stops the thread each time it comes by, until all words that change are as recorded. If that does not come
 * soon, as where there is no clock, a copy of the process finds out how often the address is still passed (scout.h).
 *
 * Nothing of this is open when the thread stands at an event: CRIU can dump no breakpoint.
 */
#include "record/scout.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <time.h>

#define TRAP_PERF_ 6
#define FLAG_TRACE 0x100
#define FIRST_NS 300000u
#define NEAR_NS 3000u /* no timer is more exact */
#define LEAD_STEP_NS 700
#define QUIET 6u /* so many short looks without a clock ahead */
#define QUIET_NS 2000u
#define FAR_NS 400000u /* so far ahead that it is no use to stop each time */
#define HITS_LOOK 256u
#define LOOKS_ASK 8u /* without a clock ahead: then too */
#define HITS_ASK 64u /* so many in vain: then a scout is asked */
#define GUARD_NS 20000000u
#define ASK_NS 100000000u /* so long at the breakpoint: the same */
#define GIVE_UP_NS 5000000000ull /* at the breakpoint, where no scout knows */
#define FEW_HITS 15000u /* so near that the breakpoint can count them */
#define MANY_HITS 60000u /* the same where the way is short for the scout too */
#define SHORT_NS 400000u
#define SCOUT_NS 150000u /* of its time goes into pages that it writes first, and code that it runs first */
#define SURE_NS 100000u /* what is measured in less is not exact */
#define SLACK_HITS 16u
#define EARLY_HITS 8u /* of those that are counted by the kernel, so many before the place */

extern const struct rlog_kind_info *shim_kinds(void);

static uint64_t bit(int sig)
{
	return 1ull << (sig - 1);
}

static struct seek *of(const struct thr *t)
{
	return (struct seek *)(SHIM_POINT_ADDR + (uint64_t)t->ordinal * POINT_AREA_BYTES);
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

/* ---- stopping ---- */

static void arm(const struct seek *s, uint64_t ns)
{
	struct itimerspec when = {{0, 0}, {(long)(ns / 1000000000u), (long)(ns % 1000000000u)}};

	raw4(SYS_timer_settime, s->timer, 0, &when, 0);
}

/* A signal at each hit number `period`: those in between cost much less. */
static int open_breakpoint(uint64_t pc, uint64_t period)
{
	struct perf_event_attr a;

	__builtin_memset(&a, 0, sizeof(a));
	a.size = sizeof(a);
	a.type = PERF_TYPE_BREAKPOINT;
	a.bp_type = HW_BREAKPOINT_X;
	a.bp_addr = pc;
	a.bp_len = sizeof(long);
	a.sample_period = period;
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
	s->period = s->exact > 2 * EARLY_HITS ? s->exact - EARLY_HITS : 1;
	s->fd = open_breakpoint(s->want[REG_RIP], s->period);
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

static int matches(struct seek *s, const ucontext_t *uc)
{
	uint64_t regs[POINT_REGS];

	point_regs(uc, regs);
	return seek_matches(s, regs);
}

static void look(struct seek *s, const ucontext_t *uc, int clocks)
{
	uint64_t regs[POINT_REGS];

	point_regs(uc, regs);
	seek_look(s, regs, clocks);
}

/* The time below which no clock is trusted: it may turn round. */
static uint64_t floor_ns(const struct seek *s)
{
	uint64_t ns = seek_has_clock(s) ? s->head.least_ns / 2 : (s->head.least_ns + s->head.run_ns) / 4;

	return ns >> (G.ctl->rung < 8 ? G.ctl->rung : 8);
}

/* For about ns of the program's time. The last time shows how much goes by before it runs. */
static void go_on(struct seek *s, uint64_t ns)
{
	uint64_t now = seek_left(s), done = s->was_left > now ? s->was_left - now : 0;

	if (s->wanted && done * 2 < s->wanted && s->lead_ns < 50000)
		s->lead_ns += LEAD_STEP_NS;
	else if (s->wanted && done > s->wanted && s->lead_ns > 0)
		s->lead_ns -= LEAD_STEP_NS;
	s->was_left = now;
	s->wanted = ns;
	arm(s, ns + (uint64_t)s->lead_ns);
}

/*
 * After a scout's answer: the program's time for a part of the way. Translated code takes longer, by a factor that is not
 * known; when the thread has gone some way, its time for that and what it has passed tell more.
 */
static uint64_t next_step(struct seek *s, const struct scout_answer *a)
{
	double hits, way, ran;

	if (!s->first_far) {
		s->first_far = a->hits;
		s->first_way = a->way_ns;
		s->first_ns = s->ran_ns;
	} else if (s->far == a->hits) { /* perhaps it did not move: the timer was too early */
		s->lead_ns += LEAD_STEP_NS;
	}
	s->far = a->hits;
	ran = (double)(s->ran_ns - s->first_ns);
	hits = (double)s->first_far - (double)a->hits;
	way = (double)s->first_way - (double)a->way_ns;
	if (ran < SURE_NS || hits < (double)s->first_far / 16 || way < (double)s->first_way / 16)
		return (a->way_ns > 2 * SCOUT_NS ? a->way_ns - SCOUT_NS : SCOUT_NS) / (8u << G.ctl->rung);
	hits = ran / hits * (double)a->hits;
	way = ran / way * (double)a->way_ns;
	return (uint64_t)((hits < way ? hits : way) * (G.ctl->rung ? 0.25 : 0.5));
}

/* Asks how far it is, and goes nearer or sets the breakpoint. */
static void ask(struct thr *t, struct seek *s, ucontext_t *uc)
{
	uint64_t least = s->ask ? 0 : floor_ns(s), ns;
	struct scout_answer a;

	if (scout_ask(s, uc, least > s->ran_ns ? least - s->ran_ns : 0, &a))
		return;
	s->ask = a.state != SCOUT_UNKNOWN;
	s->exact = 0;
	if (a.state == SCOUT_NEVER)
		lost(t, "the place where a computation was interrupted is not met");
	if (a.state == SCOUT_UNKNOWN) {
		s->no_scout = 1;
		watch_place(s, uc);
		return;
	}
	ns = next_step(s, &a);
	if (a.hits <= (a.way_ns < SHORT_NS ? MANY_HITS : FEW_HITS) || ns < NEAR_NS) {
		s->exact = a.hits;
		watch_place(s, uc);
	} else {
		arm(s, ns + (uint64_t)s->lead_ns);
	}
}

/* In less than the recorded time no clock is trusted; that time may have been too long, though. */
static int in_doubt(const struct seek *s, uint64_t left_ns)
{
	return !s->no_scout && s->looks >= LOOKS_ASK && left_ns <= NEAR_NS;
}

/* The clocks have been wrong. */
static int asks_first(const struct seek *s)
{
	return G.ctl->rung && !s->no_scout;
}

/* Goes on for a part of what is left, sets the breakpoint, or asks. */
static void approach(struct thr *t, struct seek *s, ucontext_t *uc)
{
	uint64_t least = floor_ns(s), ns = asks_first(s) ? 0 : seek_left(s) * 6 / 10, part = s->head.run_ns / 32;

	if (s->ran_ns < least && !asks_first(s) && in_doubt(s, ns)) {
		ask(t, s, uc);
	} else if (s->ran_ns < least) {
		s->wanted = 0;
		if (part > least - s->ran_ns)
			part = least - s->ran_ns;
		arm(s, (ns > NEAR_NS ? ns : part) + QUIET_NS);
	} else if (ns > NEAR_NS) {
		s->quiet = 0;
		go_on(s, ns);
	} else if (s->quiet++ < QUIET) {
		s->wanted = 0;
		arm(s, QUIET_NS);
	} else {
		watch_place(s, uc);
	}
}

/* Clocks say that it is still far. */
static void go_nearer(struct seek *s, ucontext_t *uc)
{
	leave_place(s, uc);
	s->quiet = 0;
	arm(s, seek_left(s) / 2);
}

static void change_to_scouts(struct thr *t, struct seek *s, ucontext_t *uc)
{
	leave_place(s, uc);
	ask(t, s, uc);
}

/* It stands at the breakpoint, or does not come there. */
static void guard(struct thr *t, struct seek *s, ucontext_t *uc)
{
	uint64_t ns = point_cpu_ns() - s->at_place_ns;

	look(s, uc, 0);
	if (!s->ask && seek_left(s) > FAR_NS)
		go_nearer(s, uc);
	else if (ns > GIVE_UP_NS)
		lost(t, "the place where a computation was interrupted does not come");
	else if (ns > ASK_NS && !s->ask && !s->no_scout)
		change_to_scouts(t, s, uc);
	else
		arm(s, GUARD_NS);
}

/* The program has run a while: looks where it is. */
static void look_and_go(struct thr *t, struct seek *s, ucontext_t *uc)
{
	uint64_t ns = point_cpu_ns() - s->begin_ns;

	if (ns < s->least_ns)
		s->least_ns = ns;
	s->ran_ns += ns - s->least_ns;
	look(s, uc, 1);
	if (s->ran_ns >= floor_ns(s) && matches(s, uc))
		found(t, s, uc);
	else if (s->ask || (asks_first(s) && s->ran_ns >= s->head.least_ns >> (G.ctl->rung + 1)))
		ask(t, s, uc);
	else
		approach(t, s, uc);
	s->begin_ns = point_cpu_ns();
}

void seek_tick(struct thr *t, ucontext_t *uc)
{
	struct seek *s = of(t);

	if (!t->seeking || G.scout)
		return;
	if (t->depth || (!t->away && G.ctl->owner != t->ordinal) || interrupt_in_shim(uc)) {
		arm(s, QUIET_NS);
		return;
	}
	if (s->done) {
		if (!interrupt_move(t, uc))
			arrive(t, s);
	} else if (s->fd >= 0 || s->stepping) {
		guard(t, s, uc);
	} else {
		look_and_go(t, s, uc);
	}
}

static void at_breakpoint(struct thr *t, struct seek *s, ucontext_t *uc)
{
	int looks;

	s->hits += s->stepping ? 1 : s->period;
	if (s->period > 1 && !s->stepping) {
		raw_close(s->fd);
		s->period = 1;
		s->fd = open_breakpoint(s->want[REG_RIP], 1);
		if (s->fd < 0)
			shim_fail("cannot set a breakpoint");
	}
	looks = s->hits % HITS_LOOK == 0;
	if (looks)
		look(s, uc, 0);
	if (s->hits + 1 >= s->exact && matches(s, uc)) {
		found(t, s, uc);
	} else if (s->exact) {
		if (s->hits > s->exact + SLACK_HITS)
			lost(t, "the place where a computation was interrupted is not where it was");
	} else if (looks && seek_left(s) > FAR_NS) {
		go_nearer(s, uc);
		s->begin_ns = point_cpu_ns();
	} else if (s->hits >= HITS_ASK && !s->no_scout) {
		change_to_scouts(t, s, uc);
		s->begin_ns = point_cpu_ns();
	}
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
	if ((uint64_t)uc->uc_mcontext.gregs[REG_RIP] == s->want[REG_RIP])
		at_breakpoint(t, s, uc);
	return 1;
}

void seek_begin(struct thr *t)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIG_PREEMPT};
	struct seek *s = point_area(t);
	const uint8_t *at = t->log.rd;
	struct rlog_rec r;
	uint64_t first;

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
	first = s->head.run_ns / (32u << (G.ctl->rung < 8 ? G.ctl->rung : 8));
	arm(s, first < FIRST_NS ? first + QUIET_NS : FIRST_NS);
}
