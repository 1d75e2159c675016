/* SPDX-License-Identifier: MIT */
/*
 * op_look.c: eval and backtrace: what the program looks like at a position. Only an expression that GDB can
 * compile has no side effects for certain; every other one (calls, assignments, registers, whole
 * structures) is evaluated in a throw-away copy of its own, so that none sees what another did.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "describe/waits.h"
#include "expr/altered.h"
#include "expr/call.h"
#include "expr/casts.h"
#include "expr/compile.h"
#include "expr/containers.h"
#include "expr/expr.h"
#include "expr/libc_calls.h"
#include "expr/patience.h"
#include "expr/rewrite.h"
#include "expr/statics.h"
#include "ops/operations.h"
#include "replay/show.h"
#include "timetravel/look.h"
#include "watch/exit_call.h"

#define CALL_TIMEOUT_MS 20000

/* One expression of `eval`. */
struct question {
	const char *expr; /* as the user wrote it */
	char *instead; /* rewritten for GDB, which refused the original; NULL: the original is used */
	bool spelled; /* statics and libstdc++'s methods have been spelled out, if there are any */
	bool plain; /* the rewritten form was refused, so the original is tried, too */
	bool in_copy; /* it has to be evaluated in a copy of its own */
	char *value; /* NULL: there is none */
	struct err why;
};

static const char *text_of(const struct question *q)
{
	return q->instead ? q->instead : q->expr;
}

/* GDB has refused the expression (q->why). Can it be written in another way? Then that is tried, too. */
static bool say_otherwise(struct look *l, struct question *q, pid_t tid, int frame)
{
	char *text = NULL;
	struct err ignored;

	if (q->why.kind != ERR_USAGE || gdb_dead(l->g))
		return false;
	text = expr_libc_supply(text_of(q), &q->why);
	if (!text && !q->spelled) {
		q->spelled = true;
		if (expr_name_statics(l->g, text_of(q), &text, &ignored))
			expr_without_containers(l->g, text_of(q), tid, frame, &text, &ignored);
	}
	if (!text)
		return false;
	free(q->instead);
	q->instead = text;
	return true;
}

/*
 * Methods of containers are spelled out before GDB is asked, as reverse-watch does: GDB may compute something else in
 * the middle of a change (libstdc++'s GDB scripts count the nodes of a list).
 */
static int spell_out(struct look *l, struct question *q, pid_t tid, int frame, struct err *e)
{
	int r = expr_without_containers(l->g, q->expr, tid, frame, &q->instead, e);

	q->spelled = r == 0;
	return r < 0 ? -1 : 0;
}

/* The spelled-out form means nothing here; true: the original is tried. */
static bool as_it_stands(struct look *l, struct question *q)
{
	if (!q->spelled || q->plain || q->why.kind != ERR_USAGE || gdb_dead(l->g))
		return false;
	free(q->instead);
	q->instead = NULL;
	return q->plain = true;
}

/*
 * Decides what a refusal of GDB's means. 0: q->why is the answer to the expression. -1: GDB cannot be used any more, or
 * fred itself has failed, whatever the expression.
 */
static int refuse(struct look *l, struct question *q, pid_t tid, int frame, struct err *e)
{
	expr_tell_inlined(l->g, tid, frame, &q->why);
	if (!gdb_dead(l->g) && q->why.kind != ERR_INTERNAL && q->why.kind != ERR_HOST)
		return 0;
	*e = q->why;
	return err_wrap(e, "%s", q->expr);
}

static int evaluate(struct look *l, struct question *q, pid_t tid, int frame, struct err *e)
{
	while (gdb_eval(l->g, text_of(q), tid, frame, CALL_TIMEOUT_MS, &q->value, &q->why))
		if (!say_otherwise(l, q, tid, frame)) {
			if (gdb_reason_of(&q->why) == GDB_OPTIMIZED_OUT)
				expr_check_optimized(l->g, text_of(q), tid, frame, &q->why);
			return refuse(l, q, tid, frame, e);
		}
	return 0;
}

/* Prepares the expression for GDB, which is to evaluate it in a copy. If that is not possible, the answer is why. */
static int prepare_for_gdb(struct look *l, struct question *q, const struct expr_place *at, struct err *e)
{
	char *text;
	int r;

	if (expr_check_casts(text_of(q), &q->why) || calls_check(l->g, text_of(q), at, &q->why)) {
		q->in_copy = false;
		return refuse(l, q, at->tid, at->frame, e);
	}
	r = expr_copy_split(l->g, text_of(q), at->tid, at->frame, &text, e);
	if (r)
		return r < 0 ? -1 : 0;
	free(q->instead);
	q->instead = text;
	return 0;
}

/*
 * GDB does not compute with this kind of numbers (q->why), so fred does. pid: the process that GDB looks at. 1: fred
 * cannot either.
 */
static int evaluate_wide(struct look *l, struct question *q, const struct expr_place *at, pid_t pid, struct err *e)
{
	struct expr_value v;
	struct err why;
	struct expr x;
	int r = expr_init_wide(&x, l->g, text_of(q), at, &why);

	if (r) {
		if (r < 0)
			*e = why;
		return r;
	}
	expr_eval_memory(&x, pid, &v);
	if (v.truth == SEARCH_ERROR)
		err_set(&q->why, ERR_NOT_FOUND, "%s", v.text);
	else
		q->value = expr_value_text(&v);
	expr_fini(&x);
	return 0;
}

/*
 * Evaluates an expression that has no side effects, in this process. One that may have some is left to a copy
 * (q->in_copy).
 */
static int evaluate_pure(struct look *l, struct question *q, const struct expr_place *at, pid_t pid, struct err *e)
{
	struct expr_code x;
	int r;

	if (spell_out(l, q, at->tid, at->frame, e))
		return -1;
	do
		r = expr_compile(l->g, text_of(q), at, &x, &q->why);
	while (r < 0 && (say_otherwise(l, q, at->tid, at->frame) || as_it_stands(l, q)));
	if (!r) {
		expr_code_fini(&x);
		return evaluate(l, q, at->tid, at->frame, e);
	}
	if (gdb_reason_of(&q->why) == GDB_TOO_WIDE) {
		r = evaluate_wide(l, q, at, pid, e);
		return r > 0 ? refuse(l, q, at->tid, at->frame, e) : r;
	}
	/* GDB 13 evaluates virtual functions, but does not tell their types */
	q->in_copy = r == EXPR_NOT_COMPILABLE || (q->why.kind == ERR_USAGE && strchr(text_of(q), '('));
	return q->in_copy ? prepare_for_gdb(l, q, at, e) : refuse(l, q, at->tid, at->frame, e);
}

static int evaluate_all_pure(struct look *l, struct question *q, size_t n, pid_t pid, pid_t tid, struct err *e)
{
	cleanup_place struct expr_place at = {0};
	int frame;

	if (look_user_frame(l, tid, &frame, e) || gdb_keep_language(l->g, tid, frame, e) ||
	    expr_place_init(&at, l->g, tid, frame, e))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (evaluate_pure(l, &q[i], &at, pid, e))
			return -1;
	return 0;
}

/*
 * Inside a segment this process holds the thread, so GDB cannot trace it: then all expressions are evaluated in
 * copies.
 */
static int first_round(struct look *l, struct question *q, size_t n, struct err *e)
{
	struct err why = {0};
	pid_t copy;
	int r;

	if (l->at.pc) {
		if (look_attach_copy(l, &copy, e))
			return -1;
		r = evaluate_all_pure(l, q, n, copy, 0, e);
		return look_drop(l, copy, r ? &why : e) || r ? -1 : 0;
	}
	if (look_attach(l, e) || evaluate_all_pure(l, q, n, l->nav.t.pid, l->tid, e))
		return -1;
	return gdb_detach(l->g, e);
}

/* Evaluates the expression in a copy, where it may make calls. */
static int evaluate_in_copy(struct look *l, struct question *q, pid_t copy, struct expr_patience *p, struct err *e)
{
	int limit_ms = patience_limit_ms(p, 0), frame, r;
	struct call_guard guard;
	struct err why, ignored;
	bool ended, called;

	if (look_user_frame(l, 0, &frame, e))
		return -1;
	call_guard_begin(&guard, l->g, copy, limit_ms, call_guard_count(q->expr));
	r = evaluate(l, q, 0, frame, e);
	ended = call_guard_end(&guard, l->g, &why);
	if (guard.overran)
		/* so that the next ones are given less time */
		patience_overrun(p, limit_ms, q->expr, why.text, &ignored);
	called = expr_altered_called(l->g, ended ? &ignored : &why);
	if ((!ended && !called) || gdb_dead(l->g))
		return r;
	free(q->value);
	q->value = NULL;
	q->why = why;
	return 0;
}

static int second_round(struct look *l, struct question *q, size_t n, struct err *e)
{
	cleanup_patience struct expr_patience *patience = patience_new();
	struct err why = {0};

	for (size_t i = 0; i < n; i++) {
		pid_t copy;
		int r;

		if (!q[i].in_copy)
			continue;
		if (look_attach_copy(l, &copy, e))
			return err_wrap(e, "%s", q[i].expr);
		r = evaluate_in_copy(l, &q[i], copy, patience, e);
		if (look_drop(l, copy, r ? &why : e) || r)
			return -1;
	}
	return 0;
}

static json_t *question_json(const struct question *q)
{
	const struct err *why = &q->why;

	if (q->value)
		return json_pack("{s:s, s:o, s:n}", "expr", q->expr, "value", json_text(q->value, strlen(q->value)),
				 "error");
	return json_pack("{s:s, s:n, s:o, s:s}", "expr", q->expr, "value", "error",
			 json_text(why->text, strlen(why->text)), "kind", err_kind_name(why->kind));
}

/* Finds the call of exit during which the process ended. *at stays NULL if there is none. */
static int find_exit(struct look *l, char **at, struct err *e)
{
	uint64_t total = nav_total(&l->nav);
	struct timeline_point p;
	struct exit_call x;
	int r;

	if (look_attach(l, e))
		return -1;
	exit_call_find(l->g, l->tid, &x);
	if (gdb_detach(l->g, e))
		return -1;
	r = x.frame.any ? exit_call_begin(&x, &l->nav, nav_first(&l->nav), total, &p, e) : 1;
	if (!r)
		*at = str_fmt("%llu/0x%llx#%llu", (unsigned long long)p.event, (unsigned long long)p.pc,
			      (unsigned long long)p.hits);
	return r < 0 ? -1 : 0;
}

/* As look_goto; in addition, the position `exit` is that call of exit, or else the end of the process. */
static int go_to(struct look *l, const json_t *params, struct op_ctx *ctx, struct err *e)
{
	const char *at = json_string_value(json_object_get(params, "at"));
	json_auto_t *there = NULL;
	cleanup_free char *call = NULL;

	if (!str_eq(at, "exit"))
		return look_goto(l, params, ctx, e);
	there = json_copy((json_t *)params);
	json_object_set_new(there, "at", json_string("end"));
	if (look_goto(l, there, ctx, e) || find_exit(l, &call, e))
		return -1;
	look_fini(l);
	json_object_set_new(there, "at", json_string(call ? call : "end"));
	return look_goto(l, there, ctx, e);
}

int op_eval(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e)
{
	const json_t *exprs = json_object_get(params, "exprs");
	size_t n = json_array_size(exprs);
	cleanup_free struct question *q = xcalloc(n + 1, sizeof(*q));
	json_t *values, *position;
	struct look l;
	int r = -1;

	for (size_t i = 0; i < n; i++)
		q[i].expr = json_string_value(json_array_get(exprs, i));
	if (!go_to(&l, params, ctx, e)) {
		position = look_position(&l);
		r = first_round(&l, q, n, e) || second_round(&l, q, n, e) ? -1 : 0;
		values = json_array();
		for (size_t i = 0; i < n && !r; i++)
			json_array_append_new(values, question_json(&q[i]));
		if (!r) {
			*result = json_pack("{s:O, s:O}", "position", position, "values", values);
			show_process(*result, l.rec, l.nav.t.process);
		}
		json_decref(values);
		json_decref(position);
	}
	for (size_t i = 0; i < n; i++) {
		free(q[i].instead);
		free(q[i].value);
	}
	look_fini(&l);
	return r;
}

static uint32_t ordinal_of(const struct look *l, pid_t tid)
{
	if (tid == l->tid)
		return l->thread;
	for (uint32_t o = 1; o < RLOG_MAX_THREADS; o++)
		if (target_tid(&l->nav.t, o) == tid)
			return o;
	return 0;
}

/*
 * Adds a thread. The current thread comes first, the others follow in GDB's order. from: the thread that GDB looks at;
 * 0: the only one of a copy.
 */
static int add_thread(struct look *l, json_t *list, pid_t tid, pid_t from, struct err *e)
{
	json_t *thread, *stack = show_stack(l->g, from, NULL, e);

	if (!stack)
		return -1;
	thread = json_pack("{s:o, s:b, s:o}", "thread", show_thread(&l->nav.t, l->nav.t.pid, ordinal_of(l, tid), tid),
			   "current", tid == l->tid, "backtrace", stack);
	if (tid == l->tid)
		json_array_insert_new(list, 0, thread);
	else
		json_array_append_new(list, thread);
	return 0;
}

/* Inside a segment, the current thread is examined in a copy; the others stand at the event before. */
static int add_copy(struct look *l, json_t *list, struct err *e)
{
	struct err why = {0};
	pid_t copy;
	int r;

	if (look_attach_copy(l, &copy, e))
		return -1;
	r = add_thread(l, list, l->tid, 0, e);
	return look_drop(l, copy, r ? &why : e) || r ? -1 : 0;
}

/* Adds what each thread that stands in a call waits for, and whether threads wait for each other. */
static void add_waits(const struct look *l, json_t *result)
{
	pid_t pid = l->nav.t.pid;
	json_t *threads = json_object_get(result, "threads"), *one;
	cleanup_free char *deadlock = NULL;
	struct waits w;
	size_t i;

	if (waits_read(&w, pid, &l->nav.t.ctl->waits, WAITS_OF_REPLAY)) {
		waits_fini(&w);
		return;
	}
	json_array_foreach(threads, i, one)
	{
		json_int_t id = json_integer_value(json_object_get(json_object_get(one, "thread"), "id"));

		for (size_t k = 0; k < w.n; k++) {
			cleanup_free char *text = NULL;

			if (w.v[k].thread != id || !w.v[k].kind || (l->at.pc && id == l->thread))
				continue;
			text = waits_text(&w, &w.v[k], pid);
			json_object_set_new(one, "waits", json_text(text, strlen(text)));
		}
	}
	deadlock = waits_deadlock_text(&w);
	if (deadlock)
		json_object_set_new(result, "deadlock", json_text(deadlock, strlen(deadlock)));
	waits_fini(&w);
}

int op_backtrace(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e)
{
	struct gdb_thread *threads = NULL;
	json_t *list = json_array(), *position = NULL;
	size_t nthreads = 0;
	struct look l;
	int r = -1;

	if (go_to(&l, params, ctx, e))
		goto out;
	position = look_position(&l);
	if ((l.at.pc && add_copy(&l, list, e)) || look_attach(&l, e) || gdb_threads(l.g, &threads, &nthreads, e))
		goto out;
	/* no number: this is the first thread, which has ended, but whose task remains (plugins/record/proc/leave.c) */
	for (size_t i = 0; i < nthreads; i++) {
		pid_t tid = threads[i].tid;

		if (ordinal_of(&l, tid) && !(l.at.pc && tid == l.tid) && add_thread(&l, list, tid, tid, e))
			goto out;
	}
	*result = json_pack("{s:O, s:O, s:O}", "position", position, "backtrace",
			    json_object_get(json_array_get(list, 0), "backtrace"), "threads", list);
	show_process(*result, l.rec, l.nav.t.process);
	show_sources(*result, l.rec);
	add_waits(&l, *result);
	r = 0;
out:
	gdb_threads_free(threads, nthreads);
	json_decref(position);
	json_decref(list);
	look_fini(&l);
	return r;
}
