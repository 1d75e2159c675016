/* SPDX-License-Identifier: MIT */
/* op_look.c: eval and backtrace: what the program looks like at a position. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "session/nav.h"
#include "session/ops_list.h"
#include "session/pick.h"
#include "session/show.h"

struct look {
	struct rec *rec;
	struct nav nav;
	struct gdb *g;
	uint32_t thread;
	pid_t tid;
};

static void look_fini(struct look *l)
{
	gdb_free(l->g);
	if (l->rec)
		nav_fini(&l->nav);
	rec_free(l->rec);
}

/* Goes to params' `at` and attaches GDB there. */
static int look_at(struct look *l, const json_t *params, struct op_ctx *ctx, struct err *e)
{
	const char *at = json_string_value(json_object_get(params, "at"));
	struct timeline_point p;
	uint32_t process;

	memset(l, 0, sizeof(*l));
	if (pick_rec(params, &l->rec, e))
		return -1;
	process = pick_process(params, l->rec, e);
	if (!process || nav_init(&l->nav, l->rec, process, 0, ctx, e))
		return -1;
	if (nav_resolve(&l->nav, at ? at : "end", &p, e) || nav_goto(&l->nav, p.event, e))
		return -1;
	if (p.pc)
		return err_set(e, ERR_USAGE, "%s: positions inside a segment are not supported yet", at);
	l->thread = l->nav.t.ctl->parked;
	l->tid = target_tid(&l->nav.t, l->thread);
	l->g = gdb_new(NULL, e);
	if (!l->g || gdb_attach(l->g, l->nav.t.pid, e))
		return -1;
	return 0;
}

static json_t *position(const struct look *l)
{
	return json_pack("{s:I, s:I, s:o}", "event", (json_int_t)nav_at((struct nav *)&l->nav),
			 "events_total", (json_int_t)nav_total(&l->nav), "thread",
			 show_thread(&l->nav.t, l->nav.t.pid, l->thread, l->tid));
}

/* A call must not change the target that other expressions are about: it runs in a copy. */
static int eval_one(struct look *l, const char *text, int frame, json_t **out, struct err *e)
{
	cleanup_free char *value = NULL;
	struct err why = {0};
	int r = gdb_eval(l->g, text, l->tid, frame, 0, &value, &why);

	if (r < 0) {
		*e = why;
		return -1;
	}
	*out = json_pack("{s:o, s:o, s:o}", "expr", json_text(text, strlen(text)), "value",
			 value ? json_text(value, strlen(value)) : json_null(), "error",
			 r ? json_text(why.text, strlen(why.text)) : json_null());
	return 0;
}

static int user_frame(struct look *l, int *frame, struct err *e)
{
	struct gdb_frame *frames;
	size_t n;

	if (gdb_backtrace(l->g, l->tid, 64, &frames, &n, e))
		return -1;
	*frame = gdb_frames_user(frames, n, SHOW_SHIM);
	gdb_frames_free(frames, n);
	return 0;
}

int op_eval(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e)
{
	json_t *values = json_array(), *text, *one;
	struct look l;
	size_t i;
	int frame, r = -1;

	if (look_at(&l, params, ctx, e) || user_frame(&l, &frame, e))
		goto out;
	json_array_foreach(json_object_get(params, "exprs"), i, text) {
		if (eval_one(&l, json_string_value(text), frame, &one, e))
			goto out;
		json_array_append_new(values, one);
	}
	*result = json_pack("{s:o, s:O}", "position", position(&l), "values", values);
	r = 0;
out:
	json_decref(values);
	look_fini(&l);
	return r;
}

int op_backtrace(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e)
{
	struct gdb_thread *threads = NULL;
	json_t *list = json_array();
	size_t nthreads = 0;
	struct look l;
	int r = -1;

	if (look_at(&l, params, ctx, e) || gdb_threads(l.g, &threads, &nthreads, e))
		goto out;
	for (size_t i = 0; i < nthreads; i++) {
		struct gdb_frame *frames;
		uint32_t ordinal = 0;
		json_t *thread;
		size_t n;

		for (uint32_t o = 1; o < RLOG_MAX_THREADS && !ordinal; o++)
			if (target_tid(&l.nav.t, o) == threads[i].tid)
				ordinal = o;
		if (gdb_backtrace(l.g, threads[i].tid, 0, &frames, &n, e))
			goto out;
		thread = json_pack("{s:o, s:b, s:o}", "thread",
				   show_thread(&l.nav.t, l.nav.t.pid, ordinal, threads[i].tid), "current",
				   threads[i].tid == l.tid, "backtrace", show_backtrace(frames, n));
		if (threads[i].tid == l.tid)
			json_array_insert_new(list, 0, thread);
		else
			json_array_append_new(list, thread);
		gdb_frames_free(frames, n);
	}
	*result = json_pack("{s:o, s:O, s:O}", "position", position(&l), "backtrace",
			    json_object_get(json_array_get(list, 0), "backtrace"), "threads", list);
	r = 0;
out:
	gdb_threads_free(threads, nthreads);
	json_decref(list);
	look_fini(&l);
	return r;
}
