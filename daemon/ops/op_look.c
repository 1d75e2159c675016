/* SPDX-License-Identifier: MIT */
/*
 * op_look.c: eval and backtrace: what the program looks like at a position. Only an expression that GDB can
 * compile has no side effects for certain; every other one (calls, assignments, registers, whole
 * structures) is evaluated in a throw-away copy of its own, so that none sees what another did.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "expr/compile.h"
#include "expr/containers.h"
#include "expr/libc_calls.h"
#include "reclog/waits.h"
#include "expr/statics.h"
#include "expr/call.h"
#include "replay/look.h"
#include "ops/operations.h"
#include "replay/show.h"

#define CALL_TIMEOUT_MS 20000

static void set_value(json_t *one, const char *value)
{
	json_object_set_new(one, "value", json_text(value, strlen(value)));
}

static void set_error(json_t *one, const struct err *why)
{
	json_object_set_new(one, "error", json_text(why->text, strlen(why->text)));
	json_object_set_new(one, "kind", json_string(err_kind_name(why->kind)));
}

static const char *expr_of(const json_t *one)
{
	return json_string_value(json_object_get(one, "expr"));
}

/* As GDB takes it, where it refused what was asked: calls into libc are cast, libstdc++'s methods spelled out. */
static const char *text_of(const json_t *one)
{
	const char *instead = json_string_value(json_object_get(one, "instead"));

	return instead ? instead : expr_of(one);
}

/* Whether there is another way to say what GDB refused; then it is worth another try. */
static bool say_otherwise(struct look *l, json_t *one, pid_t tid, int frame, const struct err *why)
{
	cleanup_free char *cast = NULL, *spelled = NULL;
	struct err ignored;

	if (why->kind != ERR_USAGE || gdb_dead(l->g))
		return false;
	cast = gdb_libc_supply(text_of(one), why);
	if (!cast && !json_object_get(one, "spelled")) {
		json_object_set_new(one, "spelled", json_true());
		if (gdb_name_statics(l->g, text_of(one), &spelled, &ignored))
			gdb_without_containers(l->g, text_of(one), tid, frame, &spelled, &ignored);
	}
	return (cast || spelled) && !json_object_set_new(one, "instead", json_string(cast ? cast : spelled));
}

/* GDB is of no use any more, or fred itself failed: no matter of this expression alone. */
static bool is_fatal(const struct look *l, const struct err *why)
{
	return gdb_dead(l->g) || why->kind == ERR_INTERNAL || why->kind == ERR_HOST;
}

static int eval_into(struct look *l, json_t *one, pid_t tid, int frame, struct err *e)
{
	cleanup_free char *value = NULL;
	struct err why = {0};

	if (!gdb_eval(l->g, text_of(one), tid, frame, CALL_TIMEOUT_MS, &value, &why)) {
		set_value(one, value);
		return 0;
	}
	if (say_otherwise(l, one, tid, frame, &why))
		return eval_into(l, one, tid, frame, e);
	if (gdb_reason_of(&why) == GDB_OPTIMIZED_OUT)
		gdb_check_optimized(l->g, text_of(one), tid, frame, &why);
	if (is_fatal(l, &why)) {
		*e = why;
		return err_wrap(e, "%s", expr_of(one));
	}
	set_error(one, &why);
	return 0;
}

/* Without side effects: done here. 1: it needs a copy. */
static int eval_pure(struct look *l, json_t *one, const struct gdb_place *at, struct err *e)
{
	struct gdb_expr x = {0};
	struct err why = {0};
	int r = gdb_expr_compile(l->g, text_of(one), at, &x, &why);

	if (r == GDB_NOT_COMPILABLE)
		return 1;
	if (r && say_otherwise(l, one, at->tid, at->frame, &why))
		return eval_pure(l, one, at, e);
	/* GDB 13 evaluates virtual functions, but does not tell their types */
	if (r && why.kind == ERR_USAGE && strchr(text_of(one), '('))
		return 1;
	if (!r) {
		gdb_expr_fini(&x);
		return eval_into(l, one, at->tid, at->frame, e);
	}
	if (is_fatal(l, &why)) {
		*e = why;
		return err_wrap(e, "%s", expr_of(one));
	}
	set_error(one, &why);
	return 0;
}

static int eval_all_pure(struct look *l, json_t *values, pid_t tid, struct err *e)
{
	cleanup_place struct gdb_place at = {0};
	json_t *one;
	size_t i;
	int frame;

	if (look_user_frame(l, tid, &frame, e) || gdb_keep_language(l->g, tid, frame, e) ||
	    gdb_place_init(&at, l->g, tid, frame, e))
		return -1;
	json_array_foreach(values, i, one) {
		int r = eval_pure(l, one, &at, e);

		if (r < 0)
			return -1;
		if (r)
			json_object_set_new(one, "copy", json_true());
	}
	return 0;
}

/* Inside a segment the held thread cannot be GDB's too: then all of it is done on copies. */
static int first_round(struct look *l, json_t *values, struct err *e)
{
	struct err why = {0};
	pid_t copy;
	int r;

	if (l->at.pc) {
		if (look_attach_copy(l, &copy, e))
			return -1;
		r = eval_all_pure(l, values, 0, e);
		return look_drop(l, copy, r ? &why : e) || r ? -1 : 0;
	}
	if (look_attach(l, e) || eval_all_pure(l, values, l->tid, e))
		return -1;
	return gdb_detach(l->g, e);
}

/* In a copy, where it may make calls. */
static int eval_in_copy(struct look *l, json_t *one, pid_t copy, struct err *e)
{
	struct call_guard guard;
	struct err why;
	int frame, r;

	if (look_user_frame(l, 0, &frame, e))
		return -1;
	call_guard_begin(&guard, l->g, copy);
	r = eval_into(l, one, 0, frame, e);
	if (!call_guard_end(&guard, l->g, &why) || gdb_dead(l->g))
		return r;
	set_error(one, &why);
	return 0;
}

static int second_round(struct look *l, json_t *values, struct err *e)
{
	struct err why = {0};
	json_t *one;
	size_t i;

	json_array_foreach(values, i, one) {
		pid_t copy;
		int r;

		if (!json_object_get(one, "copy"))
			continue;
		json_object_del(one, "copy");
		if (look_attach_copy(l, &copy, e))
			return err_wrap(e, "%s", expr_of(one));
		r = eval_in_copy(l, one, copy, e);
		if (look_drop(l, copy, r ? &why : e) || r)
			return -1;
	}
	return 0;
}

int op_eval(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e)
{
	json_t *values = json_array(), *text;
	struct look l;
	size_t i;
	int r = -1;

	json_array_foreach(json_object_get(params, "exprs"), i, text)
		json_array_append_new(values, json_pack("{s:O, s:n, s:n}", "expr", text, "value", "error"));
	if (!look_goto(&l, params, ctx, e)) {
		json_t *position = look_position(&l);

		r = first_round(&l, values, e) || second_round(&l, values, e) ? -1 : 0;
		json_array_foreach(values, i, text) {
			json_object_del(text, "instead");
			json_object_del(text, "spelled");
		}
		if (!r)
			*result = json_pack("{s:O, s:O}", "position", position, "values", values);
		if (!r)
			show_process(*result, l.rec, l.nav.t.process);
		json_decref(position);
	}
	json_decref(values);
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

/* The current thread first, the others in GDB's order. */
static int add_thread(struct look *l, json_t *list, pid_t tid, struct err *e)
{
	json_t *thread, *stack = show_stack(l->g, tid, NULL, e);

	if (!stack)
		return -1;
	thread = json_pack("{s:o, s:b, s:o}", "thread",
			   show_thread(&l->nav.t, l->nav.t.pid, ordinal_of(l, tid), tid), "current",
			   tid == l->tid, "backtrace", stack);
	if (tid == l->tid)
		json_array_insert_new(list, 0, thread);
	else
		json_array_append_new(list, thread);
	return 0;
}

/* What the threads that stand in a call wait for, and whether they do so for each other. */
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
	json_array_foreach(threads, i, one) {
		json_int_t id = json_integer_value(json_object_get(json_object_get(one, "thread"), "id"));

		for (size_t k = 0; k < w.n; k++) {
			cleanup_free char *text = NULL;

			if (w.v[k].thread != id || !w.v[k].kind)
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

	if (look_goto(&l, params, ctx, e))
		goto out;
	position = look_position(&l);
	if (look_attach(&l, e) || gdb_threads(l.g, &threads, &nthreads, e))
		goto out;
	/* without a number: the first thread, which has ended, and stays (plugins/record/proc/leave.c) */
	for (size_t i = 0; i < nthreads; i++)
		if (ordinal_of(&l, threads[i].tid) && add_thread(&l, list, threads[i].tid, e))
			goto out;
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
