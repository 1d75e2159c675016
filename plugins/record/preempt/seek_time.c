/* SPDX-License-Identifier: MIT */
/*
 * seek_time.c: the thread goes to the place of a PREEMPT record (seek.h) by itself: where a debugger holds it, which is
 * to see the program's own code run, and where that cannot be translated.
 *
 * A timer stops the thread again and again and looks at the words of the record. Those that have changed must be as
 * recorded at the place. A word that moves evenly in one direction is a clock: the time until it reaches its recorded
 * value is a lower bound of the time to the place, even if it changes direction before that; so the thread may safely
 * run for the longest of these times. When no clock has time left, a hardware breakpoint at the place's address stops
 * the thread each time it comes by, until all words that change are as recorded. If that does not come soon, as where
 * there is no clock, or other words are not as recorded, a copy of the process finds out how often the address is still
 * passed (lookahead.h).
 */
#include "record/core/regs.h"
#include "record/core/state.h"
#include "record/core/task.h"
#include "record/preempt/lookahead.h"
#include "record/preempt/point.h"
#include "record/preempt/seek.h"

#define NEAR_NS 3000u /* no timer is more exact */
#define LEAD_STEP_NS 700
#define QUIET 6u /* short looks in succession without a clock ahead */
#define QUIET_NS 2000u
#define FAR_NS 400000u /* a clock that is this far ahead: stopping each time is of no use */
#define HITS_LOOK 256u
#define LOOKS_ASK 8u /* without a clock ahead: then a lookahead copy is asked, too */
#define HITS_ASK 64u /* hits in vain, after which a lookahead copy is asked */
#define GUARD_NS 20000000u
#define ASK_NS 100000000u /* time at the breakpoint, after which a lookahead copy is asked */
#define GIVE_UP_NS 5000000000ull /* at the breakpoint, where no lookahead copy knows */
#define FEW_HITS 15000u /* so few passes that the breakpoint can count them */
#define MANY_HITS 60000u /* the same where the way is also short for the lookahead copy */
#define SHORT_NS 400000u
/* this part of the copy's time is spent on pages that it writes first, and code that it runs first */
#define LOOKAHEAD_NS 150000u
#define SURE_NS 100000u /* shorter measurements are not exact */
#define SLACK_HITS 16u
#define EARLY_HITS 8u /* where the kernel counts hits, it stops this many before the place */

enum here { NOT_HERE, HERE, PERHAPS };

static enum here is_here(struct seek *s, const ucontext_t *uc)
{
	uint64_t regs[POINT_REGS];
	uint32_t doubts;

	point_regs(uc, regs);
	if (!seek_matches(s, regs))
		return NOT_HERE;
	if (s->exact) /* a lookahead copy has seen it */
		return s->hits + 1 >= s->exact ? HERE : NOT_HERE;
	doubts = seek_doubts(s, regs, s->no_lookahead ? 1 : SEEK_WRONG);
	if (doubts == SEEK_WRONG)
		return NOT_HERE;
	return !doubts || s->no_lookahead ? HERE : PERHAPS;
}

static void watch(struct seek *s, ucontext_t *uc)
{
	s->hits = 0;
	s->at_place_ns = task_cpu_ns();
	seek_watch(s, uc, s->exact > 2 * EARLY_HITS ? s->exact - EARLY_HITS : 1);
	seek_arm(s, GUARD_NS);
}

static void look(struct seek *s, const ucontext_t *uc, int clocks)
{
	uint64_t regs[POINT_REGS];

	point_regs(uc, regs);
	seek_look(s, regs, clocks);
}

/* The time below which no clock is trusted: it may change direction. */
static uint64_t floor_ns(const struct seek *s)
{
	uint64_t ns = seek_has_clock(s) ? s->head.least_ns / 2 : (s->head.least_ns + s->head.run_ns) / 4;

	return ns >> (G.ctl->variant < 8 ? G.ctl->variant : 8);
}

/* Lets the program run for about ns. The last time shows how much of the timer's time passes before it runs. */
static void go_on(struct seek *s, uint64_t ns)
{
	uint64_t now = seek_left(s), done = s->was_left > now ? s->was_left - now : 0;

	if (s->wanted && done * 2 < s->wanted && s->lead_ns < 50000)
		s->lead_ns += LEAD_STEP_NS;
	else if (s->wanted && done > s->wanted && s->lead_ns > 0)
		s->lead_ns -= LEAD_STEP_NS;
	s->was_left = now;
	s->wanted = ns;
	seek_arm(s, ns + (uint64_t)s->lead_ns);
}

/*
 * After a lookahead copy's answer: the program's time for a part of the way. Translated code takes longer by an unknown
 * factor; once the thread has gone some way, its time for that and the passes that it made tell more.
 */
static uint64_t next_step(struct seek *s, const struct lookahead_answer *a)
{
	double hits, way, ran;

	if (!s->first_far) {
		s->first_far = a->hits;
		s->first_way = a->way_ns;
		s->first_ns = s->ran_ns;
	} else if (s->far == a->hits) { /* it may not have moved, if the timer was too early */
		s->lead_ns += LEAD_STEP_NS;
	}
	s->far = a->hits;
	ran = (double)(s->ran_ns - s->first_ns);
	hits = (double)s->first_far - (double)a->hits;
	way = (double)s->first_way - (double)a->way_ns;
	if (ran < SURE_NS || hits < (double)s->first_far / 16 || way < (double)s->first_way / 16)
		return (a->way_ns > 2 * LOOKAHEAD_NS ? a->way_ns - LOOKAHEAD_NS : LOOKAHEAD_NS) /
		       (8u << G.ctl->variant);
	hits = ran / hits * (double)a->hits;
	way = ran / way * (double)a->way_ns;
	return (uint64_t)((hits < way ? hits : way) * (G.ctl->variant ? 0.25 : 0.5));
}

/* Asks a lookahead copy how far it is, and goes nearer or sets the breakpoint. */
static void ask(struct thr *t, struct seek *s, ucontext_t *uc)
{
	int at_place = (uint64_t)uc->uc_mcontext.gregs[REG_RIP] == s->want[REG_RIP];
	struct lookahead_answer a;
	uint64_t ns;

	if (lookahead_ask(s, uc, &a))
		return;
	s->ask = a.state != LOOKAHEAD_UNKNOWN;
	s->exact = 0;
	if (a.state == LOOKAHEAD_NEVER)
		seek_lost(t, "the place where a computation was interrupted is not met");
	if (a.state == LOOKAHEAD_UNKNOWN) {
		s->no_lookahead = 1;
		watch(s, uc);
		return;
	}
	if (at_place && a.hits == 1 && !a.stops) {
		seek_found(t, s, uc);
		return;
	}
	if (a.stops) {
		seek_arm(s, QUIET_NS);
		return;
	}
	ns = next_step(s, &a);
	if (a.hits <= (a.way_ns < SHORT_NS ? MANY_HITS : FEW_HITS) || ns < NEAR_NS) {
		s->exact = a.hits;
		watch(s, uc);
	} else {
		seek_arm(s, ns + (uint64_t)s->lead_ns);
	}
}

/* In less than the recorded time, no clock is trusted; but that time may have been too long. */
static int in_doubt(const struct seek *s, uint64_t left_ns)
{
	return !s->no_lookahead && s->looks >= LOOKS_ASK && left_ns <= NEAR_NS;
}

/* Have the clocks been wrong? */
static int asks_first(const struct seek *s)
{
	return G.ctl->variant && !s->no_lookahead;
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
		seek_arm(s, (ns > NEAR_NS ? ns : part) + QUIET_NS);
	} else if (ns > NEAR_NS) {
		s->quiet = 0;
		go_on(s, ns);
	} else if (s->quiet++ < QUIET) {
		s->wanted = 0;
		seek_arm(s, QUIET_NS);
	} else {
		watch(s, uc);
	}
}

/* Clocks say that the place is still far. */
static void go_nearer(struct seek *s, ucontext_t *uc)
{
	seek_unwatch(s, uc);
	s->quiet = 0;
	seek_arm(s, seek_left(s) / 2);
}

static void change_to_lookahead(struct thr *t, struct seek *s, ucontext_t *uc)
{
	seek_unwatch(s, uc);
	ask(t, s, uc);
}

/* The thread is at the breakpoint, or does not come there. */
static void guard(struct thr *t, struct seek *s, ucontext_t *uc)
{
	uint64_t ns = (task_cpu_ns() - s->at_place_ns) / (s->stepping ? STEPS_SLOWER : 1);

	look(s, uc, 0);
	if (!s->ask && seek_left(s) > FAR_NS)
		go_nearer(s, uc);
	else if (ns > GIVE_UP_NS)
		seek_lost(t, "the place where a computation was interrupted does not come");
	else if (ns > ASK_NS && !s->ask && !s->no_lookahead)
		change_to_lookahead(t, s, uc);
	else
		seek_arm(s, GUARD_NS);
}

/* The program has run for a while: finds out where it is. */
static void look_and_go(struct thr *t, struct seek *s, ucontext_t *uc)
{
	uint64_t ns = task_cpu_ns() - s->begin_ns;
	enum here here;

	if (ns < s->least_ns)
		s->least_ns = ns;
	s->ran_ns += ns - s->least_ns;
	look(s, uc, 1);
	here = is_here(s, uc);
	if (here == HERE)
		seek_found(t, s, uc);
	else if (here == PERHAPS || s->ask || (asks_first(s) && s->ran_ns >= s->head.least_ns >> (G.ctl->variant + 1)))
		ask(t, s, uc);
	else
		approach(t, s, uc);
	s->begin_ns = task_cpu_ns();
}

void time_tick(struct thr *t, struct seek *s, ucontext_t *uc)
{
	if (s->fd >= 0 || s->stepping)
		guard(t, s, uc);
	else
		look_and_go(t, s, uc);
}

void time_trap(struct thr *t, struct seek *s, ucontext_t *uc)
{
	enum here here;
	int looks;

	s->hits += s->stepping ? 1 : s->period;
	if (s->period > 1 && !s->stepping)
		seek_watch(s, uc, 1);
	looks = s->hits % HITS_LOOK == 0;
	if (looks)
		look(s, uc, 0);
	here = is_here(s, uc);
	if (here == HERE) {
		seek_found(t, s, uc);
	} else if (s->exact) {
		if (s->hits > s->exact + SLACK_HITS)
			seek_lost(t, "the place where a computation was interrupted is not where it was");
	} else if (looks && seek_left(s) > FAR_NS) {
		go_nearer(s, uc);
		s->begin_ns = task_cpu_ns();
	} else if (here == PERHAPS || (s->hits >= HITS_ASK && !s->no_lookahead)) {
		change_to_lookahead(t, s, uc);
		s->begin_ns = task_cpu_ns();
	}
}
