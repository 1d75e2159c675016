/* SPDX-License-Identifier: MIT */
/* hits.c: see hits.h. */
#define LOG_DOMAIN "hits"
#include "watch/hits.h"

#include "base/log.h"
#include "replay/segment.h"
#include "trace/budget.h"

#define AGAIN_S 0.5 /* seconds of recorded time: at most this much is replayed again */
#define COUNT_NS 500000000u /* limit for running through the segment */
#define ASK_HITS 256 /* cancellation is checked after this many passes */

/* The recorded time from the nearest checkpoint to the end of the segment. */
static double way_s(struct nav *n, uint64_t event)
{
	struct timeline_event from, to;
	struct err ignored;
	uint64_t at = 0;

	if (timeline_read(n->t.tl, event + 1, &to, &ignored))
		return 0;
	if (!nav_ckpt_before(n, event, &at) || !at)
		at = 1;
	return timeline_read(n->t.tl, at, &from, &ignored) ? to.seconds : to.seconds - from.seconds;
}

/*
 * Compares the registers that a function keeps for its caller. The others, after a call, depend on how the recorder
 * waited, and differ from replay to replay. So do the flags, in which a trap's own bits come and go.
 */
static bool state_equal_frame(const struct user_regs_struct *a, const struct user_regs_struct *b)
{
	return a->rip == b->rip && a->rsp == b->rsp && a->rbp == b->rbp && a->rbx == b->rbx && a->r12 == b->r12 &&
	       a->r13 == b->r13 && a->r14 == b->r14 && a->r15 == b->r15;
}

static bool same_regs(const struct user_regs_struct *a, const struct user_regs_struct *b)
{
	return state_equal_frame(a, b) && a->rax == b->rax && a->rcx == b->rcx && a->rdx == b->rdx &&
	       a->rsi == b->rsi && a->rdi == b->rdi && a->r8 == b->r8 && a->r9 == b->r9 && a->r10 == b->r10 &&
	       a->r11 == b->r11;
}

enum likeness { NO = 0, LIKELY = 1, CERTAIN = 2 };

static bool has_truth(const struct segment *s, const struct expr *x, const struct expr_value *want)
{
	struct expr_value v;

	if (!x->compiled) /* an expression with a call: only registers can be compared */
		return true;
	expr_eval_memory(x, s->held.pid, &v);
	return v.truth == want->truth;
}

/* Compares a state with the first bad one. */
static enum likeness compare(struct segment *s, const struct segment_search *d, const struct expr *x,
			     const struct user_regs_struct *regs)
{
	if (!state_equal_frame(regs, &d->r.after) || !has_truth(s, x, &d->after))
		return NO;
	if (!same_regs(regs, &d->r.after))
		return x->compiled ? LIKELY : NO;
	return x->compiled ? CERTAIN : LIKELY;
}

#define REP_SLOT 2 /* segment.h uses those before */
#define REP_SLICE_NS 100000000u /* after this time, checks whether the thread is still in the instruction */

/*
 * For a `rep` instruction that begins with *regs and has come to *now: the address of the last byte that it has
 * written. 0: it writes nothing.
 */
static uint64_t last_written(const struct user_regs_struct *regs, const struct user_regs_struct *now)
{
	struct user_regs_struct r = *regs;
	int64_t done = (int64_t)(regs->rcx - now->rcx), di = (int64_t)(now->rdi - regs->rdi),
		si = (int64_t)(now->rsi - regs->rsi);
	int64_t step = done > 0 ? di / done : 0;

	if (done <= 0 || (uint64_t)done > regs->rcx || !step || di != step * done || (si && si != di))
		return 0;
	r.rcx = now->rcx;
	r.rdi = now->rdi;
	r.rsi = now->rsi;
	return same_regs(&r, now) ? now->rdi - (step > 0 ? 1 : (uint64_t)step) : 0;
}

/*
 * The bad state is in the middle of a `rep` instruction, which begins with *regs and is at the PC. Goes there and
 * compares. Returns as is_it.
 */
static int is_in_rep(struct segment *s, const struct segment_search *d, const struct expr *x,
		     struct user_regs_struct *regs, struct err *e)
{
	static const struct trace_limit limit = {.wall_ns = REP_SLICE_NS};
	uint64_t at = last_written(regs, &d->r.after), pc = regs->rip;
	struct trace_stop stop;

	if (!at || !has_truth(s, x, &d->before))
		return NO;
	if (trace_set_watch(&s->held, REP_SLOT, at, 1, e))
		return -1;
	do {
		if (trace_cont(&s->held, s->sig, &limit, &stop, e))
			return -1;
		s->sig = stop.why == TRACE_SIGNAL ? stop.info.si_signo : 0;
		if (!s->held.alive)
			return NO;
		if (trace_get_regs(&s->held, regs, e))
			return -1;
		/* the instruction writes there for certain, unless a signal interrupts it */
		if (regs->rip != pc && !s->sig && !(stop.slots & 1u << REP_SLOT))
			return err_set(e, ERR_INTERNAL,
				       "the debug registers of this processor have missed what a string instruction "
				       "writes: try again");
	} while (stop.why == TRACE_TIMEOUT);
	if (trace_clear(&s->held, REP_SLOT, e))
		return -1;
	return stop.slots & 1u << REP_SLOT ? (int)compare(s, d, x, regs) : NO;
}

/*
 * The thread has stopped at the PC. 1: it is the pass that is wanted; 0: not; -1: error. Steps over the instruction to
 * find out.
 */
static int is_it(struct segment *s, uint64_t pc, const struct segment_search *d, const struct expr *x, struct err *e)
{
	struct user_regs_struct regs;
	struct trace_stop stop;

	if (trace_get_regs(&s->held, &regs, e))
		return -1;
	if (pc == d->r.pc_after && pc != d->r.pc_insn)
		return (int)compare(s, d, x, &regs);
	if (pc == d->r.after.rip)
		return is_in_rep(s, d, x, &regs, e);
	if ((d->r.before_known && !state_equal_frame(&regs, &d->r.before)) || !has_truth(s, x, &d->before))
		return NO;
	if (trace_step(&s->held, s->sig, &stop, e))
		return -1;
	s->sig = stop.why == TRACE_SIGNAL ? stop.info.si_signo : 0;
	if (stop.why != TRACE_STEPPED)
		return NO;
	return trace_get_regs(&s->held, &regs, e) ? -1 : (int)compare(s, d, x, &regs);
}

/*
 * Counts the passes up to the only one that is like the bad state. A loop may come back to the very same registers and
 * words, and longjmp to some of them, so the whole segment is examined. 1, 0 or -1. ctx: of the operation, for
 * cancellation; NULL: counting is to be quick.
 */
static int count(struct segment *s, uint64_t pc, const struct segment_search *d, const struct expr *x,
		 const struct op_ctx *ctx, uint64_t *hits, struct err *e)
{
	struct trace_budget quick;
	uint64_t alike[CERTAIN + 1] = {0}, first[CERTAIN + 1] = {0}, i;

	trace_budget_begin(&quick, COUNT_NS, s->held.pid);
	for (i = 1; ctx || !trace_budget_is_over(&quick, s->held.pid); i++) {
		int r = segment_next(s, pc, e);

		if (ctx && i % ASK_HITS == 0 && op_cancelled(ctx))
			return err_set(e, ERR_CANCELLED, "cancelled");
		if (r == SEGMENT_OVER) {
			log_info("0x%llx: of %llu hits, %llu are like it, and %llu more may be it",
				 (unsigned long long)pc, (unsigned long long)i - 1, (unsigned long long)alike[CERTAIN],
				 (unsigned long long)alike[LIKELY]);
			*hits = first[alike[CERTAIN] ? CERTAIN : LIKELY];
			return alike[CERTAIN] + alike[LIKELY] == 1;
		}
		r = r < 0 ? -1 : is_it(s, pc, d, x, e);
		if (r < 0)
			return -1;
		if (!alike[r]++)
			first[r] = i;
	}
	log_info("0x%llx: given up after %llu hits", (unsigned long long)pc, (unsigned long long)i - 1);
	return 0;
}

static int go_there(struct nav *n, uint64_t event, struct err *e)
{
	uint64_t at;

	return nav_restart(n, event, &at, e) || target_run_to(&n->t, event, NULL, e) ? -1 : 0;
}

int hits_of_segment(struct nav *n, uint64_t event, const struct segment_search *d, uint64_t pc, uint64_t *hits,
		    struct err *e)
{
	struct segment s = {0};
	struct err why;
	uint64_t passed;
	int r;

	if (!d->begin_pc)
		return 0;
	if (go_there(n, event, e))
		return -1;
	r = segment_begin(&s, &n->t, event, e) || segment_run_counting(&s, d->begin_pc, d->begin_hits, pc, &passed, e)
		    ? -1
		    : 0;
	if (segment_end(&s, r ? &why : e) || r)
		return -1;
	*hits += passed - (pc == d->begin_pc); /* that pass was counted as well */
	return 0;
}

int hits_count(struct nav *n, uint64_t event, uint64_t pc, const struct segment_search *d, const struct expr *x,
	       bool patient, uint64_t *hits, struct err *e)
{
	struct segment s = {0};
	struct err why;
	int r;

	if (d->r.outcome != TRACE_LOCAL_FOUND)
		return 0;
	if (d->r.turn_hits && d->r.turn_pc == pc) {
		*hits = d->r.turn_hits;
		return hits_of_segment(n, event, d, pc, hits, e) ? -1 : 1;
	}
	if (!patient && way_s(n, event) > AGAIN_S)
		return 0;
	if (go_there(n, event, e))
		return -1;
	r = segment_search_passes(&n->t, event, d, pc, hits, e);
	if (r <= 0 || (!patient && !x->compiled))
		return r < 0 ? -1 : !r;
	if (go_there(n, event, e))
		return -1;
	r = segment_begin(&s, &n->t, event, e) ? -1 : count(&s, pc, d, x, patient ? n->ctx : NULL, hits, e);
	return segment_end(&s, r < 0 ? &why : e) ? -1 : r;
}
