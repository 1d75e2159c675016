/* SPDX-License-Identifier: MIT */
/*
 * seek_walk.c: the thread goes to the place of a PREEMPT record (seek.h) in translated code, which compares each time
 * it comes by the place's address. This does not depend on time.
 *
 * Where all that has changed is as recorded, but something else is not, that may be a dead value, or one that the
 * program has not written yet. A copy of the process goes ahead then, once, and sees whether there is a better place.
 * When this has failed (the next schedule variant), a copy goes first in any case.
 */
#include "record/core/state.h"
#include "record/core/task.h"
#include "record/dbt/xlate.h"
#include "record/preempt/lookahead.h"
#include "record/preempt/seek.h"

#define SOONER 8u /* than the recorded run, at most */
#define SLOWER                                                                                                         \
	12u /* than the recorded run, at most; in the first schedule variants, after which a copy goes first:          \
	     */
#define FIRST_SLOWER 4u
#define MORE_NS 300000000u
#define QUIET_NS 2000u
/* the first hits, at which all words are compared; later, it is at each power of two */
#define LOOKS 64u

static enum xlate_go here(struct seek *s)
{
	seek_watch(s, 0, 1);
	return s->stepping ? XLATE_STEP : XLATE_LEAVE;
}

/* Is everything that must be as recorded? */
static int is_place(struct seek *s, const uint64_t *regs, uint64_t hits)
{
	struct lookahead_answer a;
	uint32_t doubts;

	doubts = seek_doubts(s, regs, SEEK_WRONG);
	if (doubts == SEEK_WRONG)
		return 0;
	if (!doubts)
		return 1;
	/* nothing has changed yet, perhaps */
	if (task_cpu_ns() - s->begin_ns < s->head.least_ns / SOONER)
		return 0;
	if (lookahead_ahead(s, regs, hits, doubts, &a))
		return 0; /* the copy */
	s->until = hits;
	if (a.state == LOOKAHEAD_FOUND)
		s->until = a.stops ? SEEK_LATER : a.hits;
	return s->until == hits;
}

static enum xlate_go hit(void *arg, const uint64_t *regs, uint64_t hits, struct xlate_filter *f)
{
	struct seek *s = arg;

	if (G.lookahead)
		return lookahead_hit(s, regs, hits, f);
	if (hits == s->until)
		return here(s);
	if (!s->until) {
		seek_walk_look(s, regs, hits <= LOOKS || !(hits & (hits - 1)));
		if (seek_matches(s, regs) && is_place(s, regs, hits))
			return here(s);
	}
	/* there may be one now */
	if (s->until)
		*f = (struct xlate_filter){.set = 1, .until = XLATE_FOR_EVER, .reg = XLATE_HITS, .value = s->until};
	else
		seek_filter(s, regs, f);
	return XLATE_ON;
}

/*
 * The thread has left translated code and goes on by itself: walks again after that or, if it cannot, goes on by time.
 */
static void stop(void *arg, uint64_t pc, uint64_t next)
{
	struct seek *s = arg;

	(void)pc;
	if (G.lookahead)
		lookahead_leaves(next != 0);
	s->walking = 0;
	s->until = 0;
	s->walks = next != 0;
	seek_arm(s, QUIET_NS);
}

/* 1: this is the copy. */
static int ask(struct thr *t, struct seek *s, ucontext_t *uc)
{
	struct lookahead_answer a;

	if (lookahead_ask(s, uc, &a))
		return 1;
	if (a.state == LOOKAHEAD_NEVER)
		seek_lost(t, "the place where a computation was interrupted is not met");
	if (a.state == LOOKAHEAD_FOUND)
		s->until = a.stops ? SEEK_LATER : a.hits;
	return 0;
}

int seek_walk_begin(struct thr *t, struct seek *s, ucontext_t *uc)
{
	static const struct xlate_ops ops = {hit, stop};
	greg_t *rip = &uc->uc_mcontext.gregs[REG_RIP];
	uint64_t at;

	if (s->thorough && !G.lookahead && ask(t, s, uc))
		return 0;
	if (s->until && s->until != SEEK_LATER && s->walk)
		s->until += xlate_hits(s->walk);
	if (s->walk && s->traced && s->blind != G.ctl->blind) { /* the code was translated with other int3s in it */
		struct xlate *old = s->walk;

		s->walk = 0; /* a tick may look at it */
		xlate_free(old);
	}
	s->blind = G.ctl->blind;
	if (!s->walk)
		s->walk = xlate_new(s->want[REG_RIP], 0, &ops, s);
	at = s->walk ? xlate_enter(s->walk, (uint64_t)*rip) : 0;
	if (!at) {
		s->walks = 0;
		return -1;
	}
	*rip = (greg_t)at;
	s->walking = 1;
	seek_arm(s, TICK_NS);
	return 0;
}

uint64_t seek_fault(struct thr *t, ucontext_t *uc, void (**fn)(int, siginfo_t *, void *))
{
	greg_t *rip = &uc->uc_mcontext.gregs[REG_RIP];
	struct seek *s;
	uint64_t at;

	if (!t || G.mode != SHIM_REPLAY || !t->preempt.seeking)
		return 0;
	s = seek_of(t);
	at = s->walking ? xlate_original(s->walk, (uint64_t)*rip) : 0;
	if (!at)
		return 0;
	*rip = (greg_t)at;
	s->until_before = s->until;
	at = (uint64_t)*fn > 1 /* SIG_IGN */ ? xlate_enter(s->walk, (uint64_t)*fn) : 0;
	if (at)
		*fn = (void (*)(int, siginfo_t *, void *))at;
	return s->begin_ns;
}

/* The return of the handler to the recorder has ended the walk (stop). */
void seek_fault_done(struct thr *t, ucontext_t *uc, uint64_t fault)
{
	greg_t *rip = &uc->uc_mcontext.gregs[REG_RIP];
	struct seek *s = seek_of(t);
	uint64_t regs[POINT_REGS], at;

	if (!fault || !t->preempt.seeking || s->begin_ns != fault || s->walking || !s->walks || !s->walk)
		return;
	point_regs(uc, regs);
	seek_rebase(s, regs, regs[REG_RSP]);
	at = xlate_enter(s->walk, (uint64_t)*rip);
	if (!at)
		return;
	*rip = (greg_t)at;
	s->walking = 1;
	s->until = s->until_before;
	if (G.lookahead)
		lookahead_is_back();
	seek_arm(s, TICK_NS);
}

void seek_walk_tick(struct thr *t, struct seek *s)
{
	/* measured by both clocks: while a machine stands still, CPU time goes on, but there is only one tick */
	uint64_t ns = ++s->ticks * TICK_NS, cpu_ns = task_cpu_ns() - s->begin_ns;

	if (G.lookahead)
		lookahead_tick();
	else if ((ns < cpu_ns ? ns : cpu_ns) >
		 s->head.run_ns * (s->thorough ? SLOWER : FIRST_SLOWER) + MORE_NS + seek_work_ns(s))
		seek_lost(t, "the place where a computation was interrupted is not met");
	seek_arm(s, TICK_NS);
}
