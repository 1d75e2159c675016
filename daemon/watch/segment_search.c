/* SPDX-License-Identifier: MIT */
/* segment_search.c: see segment_search.h; the search itself is localsearch/local.h. */
#define LOG_DOMAIN "segment_search"
#include "watch/segment_search.h"

#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "expr/cost.h"
#include "replay/segment.h"
#include "trace/alias.h"
#include "visibility/shim_frames.h"

/*
 * Time limit of a call in a mixture of two states, in which the program never was: a multiple of the longest call so
 * far.
 */
#define MIXTURE_TIMES 10
#define MIXTURE_MIN_MS 20
#define MIXTURE_MAX_MS 200
#define REAL_TIMES 200
#define REAL_MIN_MS 500
#define REAL_MAX_MS 10000

struct ctx {
	struct segment seg;
	struct gdb *g;
	const struct expr *x;
	const struct pred *pred;
	struct segment_search *out;
	struct visibility visibility;
	struct shim_frames shim_frames;
	bool begun; /* the expression was evaluated at least once */
	uint64_t call_ns; /* the longest evaluation by a call in a state in which the program was */
};

static int mixture_timeout_ms(const struct ctx *c)
{
	uint64_t ms = MIXTURE_TIMES * c->call_ns / 1000000u;

	return ms < MIXTURE_MIN_MS ? MIXTURE_MIN_MS : ms > MIXTURE_MAX_MS ? MIXTURE_MAX_MS : (int)ms;
}

/*
 * The time limit of a call in a state of the program. Such a state may be in the middle of a change, so that the called
 * function loops for ever. A call that takes much longer than all calls before it has no value. 0: there was no call
 * yet; the default limit holds.
 */
static int real_timeout_ms(const struct ctx *c)
{
	uint64_t ms = REAL_TIMES * c->call_ns / 1000000u;

	return !ms || ms > REAL_MAX_MS ? 0 : ms < REAL_MIN_MS ? REAL_MIN_MS : (int)ms;
}

/* An expression with calls is evaluated in a copy of the stopped thread's process, off the timeline. */
static int eval_by_gdb(struct ctx *c, struct trace *t, struct expr_value *v, struct err *e)
{
	uint64_t start = clock_ns();
	pid_t copy;
	int r;

	if (segment_copy(&c->seg, t, &copy, e))
		return -1;
	r = expr_eval_copy(c->x, c->g, copy, t->mixture ? mixture_timeout_ms(c) : real_timeout_ms(c), v, e) ||
			    (!t->mixture && expr_check_alive(v, copy, e))
		    ? -1
		    : 0;
	target_snap_kill(copy);
	if (!t->mixture && !r && v->truth != SEARCH_ERROR && clock_ns() - start > c->call_ns)
		c->call_ns = clock_ns() - start;
	return r;
}

static int eval(void *arg, struct trace *t, enum trace_side *side, struct trace_words *words, struct err *e)
{
	static const enum trace_side sides[] = {
		[PRED_GOOD] = TRACE_GOOD, [PRED_BAD] = TRACE_BAD, [PRED_NONE] = TRACE_NONE};
	struct ctx *c = arg;
	struct expr_value v;
	bool known = !c->begun && c->out->at_begin && !c->out->begin_pc;

	c->begun = true;
	if (known)
		v = *c->out->at_begin;
	else if (expr_eval_still(c->x, t->pid, &v) && eval_by_gdb(c, t, &v, e))
		return -1;
	if (expr_check_alive(&v, t->pid, e))
		return -1;
	*side = sides[pred_side(c->pred, v.truth)];
	if (t->mixture) /* the value is only a guess, and is not shown to the user */
		return 0;
	if (!t->aside)
		*(*side == TRACE_BAD ? &c->out->after : &c->out->before) = v;
	if (!v.told)
		return known;
	words->complete = true;
	for (size_t i = 0; i < v.words.ranges_n && i < TRACE_WORDS_MAX; i++)
		words->w[words->n++] = (struct trace_word){v.words.range[i].addr, v.words.range[i].len};
	return c->seg.t->ctl->aliases && alias_add_words(t->pid, words, e) ? -1 : known;
}

static uint64_t cost_ns(void *arg)
{
	return expr_cost_ns(((struct ctx *)arg)->x);
}

/* Has the segment ended? It ends when its event is counted, also in a copy with a control page of its own. */
static int ended(void *arg, struct trace *t, bool *end, struct err *e)
{
	return segment_is_over(&((struct ctx *)arg)->seg, t->pid, end, e);
}

static int forked(void *arg, struct trace *copy, struct err *e)
{
	(void)arg;
	return segment_unshare(copy, e);
}

static bool cancelled(void *arg)
{
	return op_cancelled(((struct ctx *)arg)->out->op);
}

static enum trace_recorder leave(void *arg, struct trace *t, uint64_t *pc, uint64_t *sp)
{
	struct ctx *c = arg;
	struct user_regs_struct r;
	struct err ignored;

	if (trace_get_regs(t, &r, &ignored))
		return TRACE_LOST_IN_RECORDER;
	if (!visibility_is_shim(&c->visibility, r.rip))
		return TRACE_NOT_IN_RECORDER;
	if (!shim_frames_caller(&c->shim_frames, &c->visibility, t->pid, &r))
		return TRACE_LOST_IN_RECORDER;
	*pc = r.rip;
	*sp = r.rsp;
	return TRACE_LEAVES_RECORDER;
}

static uint64_t line(void *arg, struct trace *t, uint64_t pc, bool *begins)
{
	return statements_at(((struct ctx *)arg)->out->statements, t->pid, pc, begins);
}

static const struct trace_local_ops by_statements = {
	.eval = eval,
	.cost_ns = cost_ns,
	.ended = ended,
	.forked = forked,
	.cancelled = cancelled,
	.line = line,
	.leave = leave,
};

static const struct trace_local_ops ops = {
	.eval = eval,
	.cost_ns = cost_ns,
	.ended = ended,
	.forked = forked,
	.cancelled = cancelled,
	.leave = leave,
};

/*
 * Goes to where the search begins. *end_hits becomes the number of passes of the end address that are left from there.
 */
static int go_to_begin(struct ctx *c, uint64_t *end_hits, struct err *e)
{
	const struct segment_search *d = c->out;
	uint64_t passed;

	if (!d->begin_pc)
		return 0;
	if (segment_run_counting(&c->seg, d->begin_pc, d->begin_hits, d->end_pc ? d->end_pc : d->begin_pc, &passed, e))
		return -1;
	*end_hits -= d->end_pc ? passed : 0;
	return 0;
}

static int search(struct ctx *c, struct err *e)
{
	struct trace_local_params p = {
		.gadget = c->seg.gadget,
		.end_watch = SEGMENT_TURN_ADDR,
		.end_break = c->out->end_pc,
		.end_hits = c->out->end_hits,
		.nth = c->out->nth,
		.lasting = !c->out->nth,
		.lasting_ns = c->out->lasting_ns,
		.walk = c->seg.t->ctl->walk_addr,
	};
	struct trace *held = &c->seg.held;
	struct segment_search *out = c->out;

	/* in a mixture of two memory states, registers have no meaning */
	if (go_to_begin(c, &p.end_hits, e))
		return -1;
	p.no_guess = c->x->locals.any && !c->x->compiled && !c->x->direct && !c->x->absolute;
	if (trace_local_search(held, &p, out->statements ? &by_statements : &ops, c, &out->r, e)) {
		trace_kill(held);
		c->seg.t->pid = 0;
		return -1;
	}
	if (out->r.is_copy) {
		struct err ignored;

		if (out->r.t.alive && trace_end_with_parent(&out->r.t, c->seg.gadget, e))
			return -1;
		trace_detach(held, true, &ignored);
		target_kill(c->seg.t);
	}
	log_info("event %llu: outcome %d, %llu hits, %llu steps, %llu evaluations, %llu copies",
		 (unsigned long long)c->seg.n, (int)out->r.outcome, (unsigned long long)out->r.hits,
		 (unsigned long long)out->r.steps, (unsigned long long)out->r.evaluations,
		 (unsigned long long)out->r.forks);
	return 0;
}

/*
 * *own: the expression, in which the registers of a thread that does not move in this segment are replaced by numbers.
 * 1: it uses no such registers.
 */
static int in_segment(struct target *t, struct gdb *g, const struct expr *x, uint64_t n, struct expr *own,
		      struct err *e)
{
	struct timeline_where w;

	if (n >= target_total(t) || timeline_find(t->tl, n + 1, &w, e) ||
	    !expr_needs_thread(x, t, target_tid(t, w.thread)))
		return 1;
	return expr_freeze(x, g, t, own, e);
}

int segment_search_run(struct target *t, struct gdb *g, const struct expr *x, uint64_t n, const struct pred *pred,
		       struct segment_search *out, struct err *e)
{
	struct ctx c = {.g = g, .x = x, .pred = pred, .out = out};
	struct expr own = {0};
	struct err why;
	int r = in_segment(t, g, x, n, &own, e);

	*out = (struct segment_search){
		.nth = out->nth,
		.lasting_ns = out->lasting_ns,
		.end_pc = out->end_pc,
		.end_hits = out->end_hits,
		.begin_pc = out->begin_pc,
		.begin_hits = out->begin_hits,
		.statements = out->statements,
		.at_begin = r == 1 ? out->at_begin : NULL,
		.op = out->op,
	};
	if (r < 0)
		return -1;
	if (!r)
		c.x = &own;
	r = segment_begin(&c.seg, t, n, e);
	out->thread = c.seg.thread;
	out->tid = c.seg.tid;
	if (!r)
		r = visibility_find(c.seg.held.pid, &c.visibility, e) || search(&c, e) ? -1 : 0;
	shim_frames_fini(&c.shim_frames);
	if (segment_end_tracing(r ? &why : e))
		r = -1;
	expr_fini(&own);
	return r;
}

pid_t segment_search_release(struct segment_search *d, struct err *e)
{
	pid_t pid = d->r.t.pid;

	return trace_detach(&d->r.t, true, e) ? -1 : pid;
}

int segment_search_passes(struct target *t, uint64_t n, const struct segment_search *d, uint64_t pc, uint64_t *passes,
			  struct err *e)
{
	struct segment_search unused = {.op = d->op};
	struct ctx c = {.out = &unused};
	struct trace_local_params p = {.end_watch = SEGMENT_TURN_ADDR};
	struct err why;
	int r;

	if (!d->r.place.known || d->begin_pc)
		return 1;
	r = segment_begin(&c.seg, t, n, e) || visibility_find(c.seg.held.pid, &c.visibility, e) ? -1 : 0;
	p.gadget = c.seg.gadget;
	p.walk = t->ctl->walk_addr;
	if (!r)
		r = visibility_is_shim(&c.visibility, pc)
			    ? 1
			    : trace_local_passes(&c.seg.held, &p, &ops, &c, &d->r.place, pc, passes, e);
	shim_frames_fini(&c.shim_frames);
	return segment_end(&c.seg, r < 0 ? &why : e) ? -1 : r;
}
