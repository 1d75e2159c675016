/* SPDX-License-Identifier: MIT */
/* hits.c: see hits.h. */
#define LOG_DOMAIN "hits"
#include "session/hits.h"

#include "base/clock.h"
#include "base/log.h"
#include "session/segment.h"

#define AGAIN_S 0.5 /* of recorded time to be replayed again */
#define COUNT_S 0.5 /* of going through the segment */
#define ASK_HITS 256 /* passes, and it is asked whether the user still wants it */

/* How long it took from the nearest checkpoint to the end of the segment when it was recorded. */
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
 * What a call leaves in the other registers comes from how the shim waited, and is not the same each time.
 * The flags are left out: a trap's own bits come and go in them.
 */
static bool same_frame(const struct user_regs_struct *a, const struct user_regs_struct *b)
{
	return a->rip == b->rip && a->rsp == b->rsp && a->rbp == b->rbp && a->rbx == b->rbx &&
	       a->r12 == b->r12 && a->r13 == b->r13 && a->r14 == b->r14 && a->r15 == b->r15;
}

static bool same_regs(const struct user_regs_struct *a, const struct user_regs_struct *b)
{
	return same_frame(a, b) && a->rax == b->rax && a->rcx == b->rcx && a->rdx == b->rdx &&
	       a->rsi == b->rsi && a->rdi == b->rdi && a->r8 == b->r8 && a->r9 == b->r9 &&
	       a->r10 == b->r10 && a->r11 == b->r11;
}

enum likeness { NO = 0, LIKELY = 1, CERTAIN = 2 };

static bool has_truth(const struct segment *s, const struct expr *x, const struct expr_value *want)
{
	struct expr_value v;

	if (!x->compiled) /* a call: registers have to do */
		return true;
	expr_eval_memory(x, s->held.pid, &v);
	return v.truth == want->truth;
}

/* In a state that may be the first bad one. */
static enum likeness compare(struct segment *s, const struct stage_d *d, const struct expr *x,
			     const struct user_regs_struct *regs)
{
	if (!same_frame(regs, &d->r.after) || !has_truth(s, x, &d->after))
		return NO;
	if (!same_regs(regs, &d->r.after))
		return x->compiled ? LIKELY : NO;
	return x->compiled ? CERTAIN : LIKELY;
}

/* Stopped at the PC: is this the time? -1: error. Steps over the instruction to see. */
static int is_it(struct segment *s, uint64_t pc, const struct stage_d *d, const struct expr *x, struct err *e)
{
	struct user_regs_struct regs;
	struct trace_stop stop;

	if (trace_get_regs(&s->held, &regs, e))
		return -1;
	if (pc == d->r.pc_after && pc != d->r.pc_insn)
		return (int)compare(s, d, x, &regs);
	if ((d->r.before_known && !same_frame(&regs, &d->r.before)) || !has_truth(s, x, &d->before))
		return NO;
	if (trace_step(&s->held, s->sig, &stop, e))
		return -1;
	s->sig = stop.why == TRACE_SIGNAL ? stop.info.si_signo : 0;
	if (stop.why != TRACE_STEPPED)
		return NO;
	return trace_get_regs(&s->held, &regs, e) ? -1 : (int)compare(s, d, x, &regs);
}

/* The certain one, or the only likely one of the whole segment. 1, 0 or -1. ctx: who may cancel it; NULL: it is to be quick. */
static int count(struct segment *s, uint64_t pc, const struct stage_d *d, const struct expr *x, const struct op_ctx *ctx,
		 uint64_t *hits, struct err *e)
{
	double until = clock_s() + COUNT_S;
	uint64_t likely = 0, i;

	for (i = 1; ctx || clock_s() < until; i++) {
		int r = segment_next(s, pc, e);

		if (ctx && i % ASK_HITS == 0 && op_cancelled(ctx))
			return err_set(e, ERR_CANCELLED, "cancelled");
		if (r == SEGMENT_OVER) {
			log_info("0x%llx: %llu of %llu hits are like it", (unsigned long long)pc,
				 (unsigned long long)likely, (unsigned long long)i - 1);
			return likely == 1;
		}
		r = r < 0 ? -1 : is_it(s, pc, d, x, e);
		if (r < 0)
			return -1;
		if (r == CERTAIN || (r == LIKELY && !likely))
			*hits = i;
		if (r == CERTAIN)
			return 1;
		likely += r == LIKELY;
	}
	log_info("0x%llx: given up after %llu hits", (unsigned long long)pc, (unsigned long long)i - 1);
	return 0;
}

int hits_count(struct nav *n, uint64_t event, uint64_t pc, const struct stage_d *d, const struct expr *x, bool patient,
	       uint64_t *hits, struct err *e)
{
	struct segment s = {0};
	struct err why;
	uint64_t at;
	int r;

	if (d->r.outcome != TRACE_LOCAL_FOUND || (!patient && (!x->compiled || way_s(n, event) > AGAIN_S)))
		return 0;
	if (nav_restart(n, event, &at, e) || target_run_to(&n->t, event, NULL, e))
		return -1;
	r = segment_begin(&s, &n->t, event, e) ? -1 : count(&s, pc, d, x, patient ? n->ctx : NULL, hits, e);
	return segment_end(&s, r < 0 ? &why : e) ? -1 : r;
}
