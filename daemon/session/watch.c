/* SPDX-License-Identifier: MIT */
/* watch.c: see watch.h. */
#define LOG_DOMAIN "watch"
#include "session/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "session/expr.h"
#include "session/hits.h"
#include "session/nav.h"
#include "session/segment.h"
#include "session/show.h"
#include "session/stage_d.h"
#include "session/suggest.h"

#define CKPT_EVERY_S 0.5 /* of recorded time, on the first way to the end */
#define CKPT_MAX 12u

struct watch {
	struct nav nav;
	struct gdb *g;
	struct expr x;
	bool have_expr;
	struct op_ctx *ctx;
	uint64_t good, bad;
	struct timeline_point here; /* with a pc: the bad end lies inside the segment before `bad` */
	struct expr_value at_good, at_bad;
	struct stage_d d;
	bool have_d;
	pid_t good_copy; /* a copy of the process at the good end */
	double replay_s;
};

static uint64_t op_clock(void *arg)
{
	(void)arg;
	return clock_ns();
}

/* ---- the search's view of the world ---- */

static int op_evaluate(void *arg, enum search_value *v, struct err *e)
{
	struct watch *w = arg;
	struct expr_value val;

	if (w->here.pc && nav_at(&w->nav) == w->bad) {
		*v = w->at_bad.truth;
		return 0;
	}
	if (expr_eval(&w->x, w->g, &w->nav.t, &val, e))
		return -1;
	*v = val.truth;
	if (nav_at(&w->nav) == w->good)
		w->at_good = val;
	return 0;
}

static bool op_is_cancelled(void *arg)
{
	return op_cancelled(((struct watch *)arg)->ctx);
}

static int op_restart(void *arg, uint64_t at_most, uint64_t *at, struct err *e)
{
	return nav_restart(&((struct watch *)arg)->nav, at_most, at, e);
}

static int op_run_to(void *arg, uint64_t n, struct err *e)
{
	return nav_goto(&((struct watch *)arg)->nav, n, e);
}

static int op_checkpoint(void *arg, struct err *e)
{
	struct err why;
	int r = nav_checkpoint(&((struct watch *)arg)->nav, &why);

	(void)e;
	if (r < 0)
		log_warn("%s", why.text);
	return r ? 1 : 0; /* the search does without */
}

static int op_drop(void *arg, uint64_t at, struct err *e)
{
	return nav_drop_checkpoint(&((struct watch *)arg)->nav, at, e);
}

static bool op_ckpt_before(void *arg, uint64_t n, uint64_t *at)
{
	return nav_ckpt_before(&((struct watch *)arg)->nav, n, at);
}

static bool op_ckpt_after(void *arg, uint64_t n, uint64_t *at)
{
	return nav_ckpt_after(&((struct watch *)arg)->nav, n, at);
}

static uint64_t op_weight(void *arg, uint64_t n)
{
	struct watch *w = arg;
	struct timeline_event ev;
	struct err ignored;

	if (!n || timeline_read(w->nav.t.tl, n, &ev, &ignored))
		return 0;
	return ev.ev.stamp;
}

static void op_progress_cb(void *arg, const struct search_progress *p)
{
	struct watch *w = arg;
	char text[80];

	snprintf(text, sizeof(text), "searching, stage %s: events %llu to %llu", search_stage_name(p->stage),
		 (unsigned long long)p->left, (unsigned long long)p->right);
	op_progress(w->ctx, 0.5 + 0.5 * (double)p->evaluations / (double)(p->evaluations_max + 1), text);
}

static int op_local(void *arg, uint64_t n, bool (*is_bad)(const void *pred, enum search_value v),
		    const void *pred, struct search_local *out, struct err *e)
{
	struct watch *w = arg;
	const struct trace_local_result *r = &w->d.r;

	w->d.op = w->ctx;
	w->d.first = w->here.pc != 0; /* what comes behind the bad end does not count */
	if (stage_d_run(&w->nav.t, w->g, &w->x, n, is_bad, pred, &w->d, e))
		return -1;
	w->have_d = true;
	*out = (struct search_local){
		.exact = r->outcome == TRACE_LOCAL_FOUND,
		.tid = w->d.tid,
		.pc_before = r->before_known ? r->before.rip : 0,
		.pc_after = r->pc_after,
		.pc_insn = r->pc_insn,
		.steps = r->steps,
		.hits = r->hits,
	};
	out->costs.evaluations = r->evaluations;
	out->costs.evaluate_ns = r->evaluate_ns;
	out->costs.checkpoints = r->forks;
	out->costs.checkpoint_ns = r->fork_ns;
	out->costs.run_ns = r->run_ns;
	return 0;
}

static const struct search_ops search_ops = {
	.evaluate = op_evaluate,
	.restart = op_restart,
	.run_to = op_run_to,
	.checkpoint = op_checkpoint,
	.drop = op_drop,
	.ckpt_before = op_ckpt_before,
	.ckpt_after = op_ckpt_after,
	.weight = op_weight,
	.clock_ns = op_clock,
	.progress = op_progress_cb,
	.cancelled = op_is_cancelled,
	.local = op_local,
};

/* ---- the result ---- */

static json_t *stats_json(const struct watch *w, const struct search_result *r, double total_s)
{
	struct search_costs all = search_total(r);
	json_t *stages = json_object();
	double wall = w->nav.t.rec->wall_s;

	for (int s = 0; s < SEARCH_STAGES; s++) {
		const struct search_costs *c = &r->stage[s];

		json_object_set_new(stages, search_stage_name((enum search_stage)s),
				    json_pack("{s:I, s:I, s:I, s:f}", "checkpoints",
					      (json_int_t)c->checkpoints, "restarts",
					      (json_int_t)c->restarts, "evaluations",
					      (json_int_t)c->evaluations, "total_s",
					      (double)c->total_ns / 1e9));
	}
	return json_pack("{s:f, s:f, s:f, s:I, s:I, s:I, s:f, s:f, s:f, s:o}", "total_s", total_s,
			 "record_s", wall, "replay_s", w->replay_s, "checkpoints",
			 (json_int_t)all.checkpoints, "restarts", (json_int_t)all.restarts, "evaluations",
			 (json_int_t)all.evaluations, "checkpoint_s", (double)all.checkpoint_ns / 1e9,
			 "restart_s", (double)all.restart_ns / 1e9, "evaluate_s",
			 (double)all.evaluate_ns / 1e9, "stages", stages);
}

/*
 * The held thread stands behind the instruction. For the unwinder it is put back on it, with the registers
 * it had there if they are known, so that inlined functions and the line are those of the instruction.
 */
static int stand_on_instruction(struct watch *w, struct err *e)
{
	struct trace_local_result *r = &w->d.r;
	struct user_regs_struct regs;

	if (r->outcome != TRACE_LOCAL_FOUND)
		return 0;
	if (r->before_known) {
		regs = r->before;
	} else {
		regs = r->after;
		regs.rip = r->pc_insn ? r->pc_insn : r->pc_inside;
	}
	return trace_set_regs(&r->t, &regs, e);
}

/* The statement: of the instruction itself, or of the call in the program that led to it. */
static json_t *location_of(const struct gdb_frame *frames, size_t n)
{
	const struct gdb_frame *f = &frames[show_user_frame(frames, n)];

	return show_location(f->func, f->file, f->fullname, f->line);
}

static int check_local(const struct watch *w, struct err *e)
{
	switch (w->d.r.outcome) {
	case TRACE_LOCAL_FOUND:
	case TRACE_LOCAL_AT_END:
		return 0;
	default:
		return err_set(e, ERR_INTERNAL,
			       "event %llu, thread %u: the expression turned in this segment, but not when it "
			       "was gone through again (outcome %d)",
			       (unsigned long long)nav_at(&w->nav), w->d.thread, (int)w->d.r.outcome);
	}
}

static json_t *result_json(struct watch *w, const struct search_result *r, struct err *e)
{
	struct gdb_frame *frames = NULL;
	json_t *loc, *bt, *thread;
	uint64_t insn;
	char pc[24];
	pid_t pid;
	size_t n = 0;

	if (check_local(w, e) || stand_on_instruction(w, e))
		return NULL;
	thread = show_thread(&w->nav.t, w->d.r.t.pid, w->d.thread, w->d.tid);
	snprintf(pc, sizeof(pc), "0x%llx",
		 (unsigned long long)(w->d.r.pc_insn ? w->d.r.pc_insn : w->d.r.pc_after));
	pid = stage_d_release(&w->d, e);
	if (pid < 0 || gdb_attach(w->g, pid, e) ||
	    gdb_backtrace(w->g, w->d.r.is_copy ? 0 : w->d.tid, 0, &frames, &n, e)) {
		json_decref(thread);
		return NULL;
	}
	if (!w->d.r.pc_insn && w->d.r.outcome == TRACE_LOCAL_FOUND &&
	    gdb_prev_insn(w->g, w->d.r.pc_after, &insn, e) == 0)
		snprintf(pc, sizeof(pc), "0x%llx", (unsigned long long)insn);
	loc = location_of(frames, n);
	bt = show_backtrace(frames, n);
	gdb_frames_free(frames, n);
	return json_pack("{s:s, s:b, s:b, s:i, s:{s:I, s:I, s:o, s:s}, s:o, s:s, s:s, s:o}", "expr", w->x.given,
			 "found", 1, "at_end", w->d.r.outcome == TRACE_LOCAL_AT_END, "process", (int)w->nav.t.process, "position", "event",
			 (json_int_t)r->left, "events_total", (json_int_t)nav_total(&w->nav), "thread",
			 thread, "pc", pc, "location", loc, "before", w->d.before.text, "after",
			 w->d.after.text, "backtrace", bt);
}

/* ---- from start to end ---- */

static unsigned checkpoints_wanted(struct nav *n, uint64_t from, uint64_t to)
{
	struct timeline_event a, b;
	struct err ignored;
	double s;

	if (!from || timeline_read(n->t.tl, from, &a, &ignored) || timeline_read(n->t.tl, to, &b, &ignored))
		return 0;
	s = (b.seconds - a.seconds) / CKPT_EVERY_S;
	return s < 1 ? 0 : s > CKPT_MAX ? CKPT_MAX : (unsigned)s;
}

/* Replays to the bad end for the first time, and has GDB compile the expression there. */
static int prepare(struct watch *w, const struct watch_params *p, struct err *e)
{
	struct timeline_point good, bad;
	uint64_t near;
	double t0;
	int r;

	if (nav_resolve(&w->nav, p->good ? p->good : "start", &good, e) ||
	    nav_resolve(&w->nav, p->bad ? p->bad : "end", &bad, e))
		return -1;
	if (good.pc)
		return err_set(e, ERR_USAGE, "reverse-watch takes a good position between events");
	w->here = bad;
	bad.event += bad.pc != 0;
	if (good.event >= bad.event)
		return err_set(e, ERR_USAGE, "the good position (%llu) is not before the bad one (%llu)",
			       (unsigned long long)good.event, (unsigned long long)bad.event);
	w->good = good.event;
	w->bad = bad.event;
	w->nav.what = "replaying to the bad end";
	w->nav.span_hi = 0.5;
	t0 = clock_s();
	if (nav_goto(&w->nav, w->good, e) || target_snap(&w->nav.t, &w->good_copy, e))
		return -1;
	if (nav_ckpt_after(&w->nav, w->good, &near) && near < w->bad)
		r = nav_goto(&w->nav, w->here.event, e);
	else
		r = nav_run_with_checkpoints(&w->nav, w->here.event,
					     checkpoints_wanted(&w->nav, w->good, w->bad), e);
	w->replay_s = clock_s() - t0;
	return r;
}

static int compile_at(struct watch *w, const char *text, pid_t pid, pid_t tid, struct err *e)
{
	if (gdb_attach(w->g, pid, e))
		return -1;
	if (expr_init(&w->x, w->g, text, tid, e)) {
		struct err ignored;

		if (!gdb_dead(w->g))
			gdb_detach(w->g, &ignored);
		return e->kind == ERR_USAGE ? WATCH_NO_SYMBOL : -1;
	}
	w->have_expr = true;
	return gdb_detach(w->g, e);
}

static int compile_inside(struct watch *w, const char *text, struct segment *s, struct err *e)
{
	pid_t copy;
	int r;

	if (segment_begin(s, &w->nav.t, w->here.event, e) || segment_run_to(s, w->here.pc, w->here.hits, e) ||
	    segment_copy(s, &s->held, &copy, e))
		return -1;
	r = compile_at(w, text, copy, 0, e);
	if (!r && w->x.compiled)
		expr_eval_memory(&w->x, copy, &w->at_bad);
	else if (!r)
		r = expr_eval_copy(&w->x, w->g, copy, 0, &w->at_bad, e);
	target_snap_kill(copy);
	return r;
}

/* In the state at the bad end, and its value there. */
static int compile(struct watch *w, const char *text, struct err *e)
{
	struct segment s = {0};
	struct err why;
	int r;

	if (w->here.pc) {
		r = nav_goto(&w->nav, w->here.event, e) ? -1 : compile_inside(w, text, &s, e);
		if (segment_end(&s, r ? &why : e))
			r = -1;
	} else {
		r = compile_at(w, text, w->nav.t.pid, target_tid(&w->nav.t, w->nav.t.ctl->parked), e);
		if (!r)
			r = expr_eval(&w->x, w->g, &w->nav.t, &w->at_bad, e);
	}
	if (r)
		return r;
	if (!w->x.unsure || !w->at_bad.invalid)
		return 0;
	err_set(e, ERR_USAGE, "%.*s", (int)strcspn(w->at_bad.text + 1, ">"), w->at_bad.text + 1);
	return WATCH_NO_SYMBOL;
}

/*
 * Both ends true, or both false, but with different values: then what counts is whether the value is
 * the one at the bad end.
 */
static void choose_predicate(struct watch *w)
{
	struct expr_value good;

	if (!w->x.compiled || !w->at_bad.known)
		return;
	expr_eval_memory(&w->x, w->good_copy, &good);
	if (good.known && good.truth == w->at_bad.truth && good.value != w->at_bad.value) {
		w->x.by_value = true;
		w->x.unequal_to = w->at_bad.value;
	}
}

/* What to type instead: a position at which it differs from the ends. */
static char *advice(const struct watch *w, const struct suggestion *s, bool ends_true)
{
	uint64_t at = ends_true ? s->first : s->last;

	if (!s->found)
		return str_fmt("%s (--good POS names a position where it is still good, --bad POS one where it is not)",
			       s->looked ? ", as at all positions in between that were looked at" : "");
	return str_fmt("; but %s at event %llu. Try: fredctl reverse-watch %s '%s' %s %llu",
		       (ends_true ? &s->at_first : &s->at_last)->text, (unsigned long long)at,
		       w->nav.t.rec->dir, w->x.given, ends_true ? "--bad" : "--good", (unsigned long long)at);
}

/* Both ends count the same. */
static int equal_ends(struct watch *w, const struct watch_params *p, struct err *e)
{
	enum search_value on_error = p->on_error == SEARCH_ON_ERROR_BAD ? SEARCH_FALSE : SEARCH_TRUE;
	enum search_value end = w->at_bad.truth == SEARCH_ERROR ? on_error : w->at_bad.truth;
	cleanup_free char *text = NULL;
	struct suggestion s = {0};
	struct err why;

	if (p->suggest && suggest_look(&w->nav, w->g, &w->x, w->good, w->bad, end, on_error, &s, &why))
		log_warn("no suggestion: %s", why.text);
	text = advice(w, &s, end == SEARCH_TRUE);
	err_set(e, ERR_NOT_FOUND, "%s: the expression is the same at both ends: %s at event %llu, %s at event %llu%s%s",
		w->x.given, w->at_good.text, (unsigned long long)w->good, w->at_bad.text,
		(unsigned long long)w->bad,
		w->good && w->good == nav_first(&w->nav)
			? "; what was before the first of them is gone, since the recording was bounded (--max-log)"
			: "",
		text);
	return WATCH_EQUAL;
}

static int search(struct watch *w, const struct watch_params *p, double t0, json_t **result, struct err *e)
{
	struct search_params sp = {
		.left = w->good,
		.right = w->bad,
		.on_error = p->on_error,
		.slack = 2,
		.checkpoint_cost_ns = 25000000,
	};
	struct search_result r;

	choose_predicate(w);
	target_snap_kill(w->good_copy);
	w->good_copy = 0;
	if (search_run(&search_ops, w, &sp, &r, e))
		return -1;
	if (r.outcome == SEARCH_EQUAL)
		return equal_ends(w, p, e);
	*result = result_json(w, &r, e);
	if (!*result)
		return -1;
	json_object_set_new(*result, "stats", stats_json(w, &r, clock_s() - t0));
	return WATCH_FOUND;
}

/* Which time at its PC it was, where that is cheap to find out, or wanted. The processes of the search are gone. */
static void add_hits(struct watch *w, bool wanted, json_t *result)
{
	json_t *position = json_object_get(result, "position");
	uint64_t event = (uint64_t)json_integer_value(json_object_get(position, "event")), pc, hits;
	struct err why;
	int r = 0;

	if (!str_u64(json_string_value(json_object_get(position, "pc")), 0, 1, UINT64_MAX, &pc))
		r = hits_count(&w->nav, event, pc, &w->d, &w->x, wanted, &hits, &why);
	if (r < 0)
		log_warn("no hits: %s", why.text);
	json_object_set_new(position, "hits", r > 0 ? json_integer((json_int_t)hits) : json_null());
}

int watch_process(const struct rec *rec, uint32_t process, const struct watch_params *p, struct gdb *g,
		  struct op_ctx *ctx, json_t **result, struct err *e)
{
	struct watch w = {.g = g, .ctx = ctx};
	double t0 = clock_s();
	int r;

	if (nav_init(&w.nav, rec, process, 0, ctx, e))
		return -1;
	r = prepare(&w, p, e);
	if (!r)
		r = compile(&w, p->expr, e);
	if (!r)
		r = search(&w, p, t0, result, e);
	if (gdb_target(g) && !gdb_dead(g)) {
		struct err ignored;

		gdb_detach(g, &ignored);
	}
	if (w.have_d && w.d.r.is_copy)
		target_snap_kill(w.d.r.t.pid);
	target_snap_kill(w.good_copy);
	if (r == WATCH_FOUND && *result)
		add_hits(&w, p->exact, *result);
	if (w.have_expr)
		expr_fini(&w.x);
	nav_fini(&w.nav);
	return r;
}
