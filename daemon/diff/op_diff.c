/* SPDX-License-Identifier: MIT */
/* op_diff.c: where two recordings of one program first differ (parting.h), with the statement and stack of both. */
#define LOG_DOMAIN "diff"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "describe/describe.h"
#include "diff/ops.h"
#include "diff/parting.h"
#include "replay/show.h"
#include "timetravel/look.h"

/* ---- showing ---- */

/* Adds which statement made the event, from a replay up to it. */
static int add_place(json_t *out, const struct parting_side *s, uint64_t number, struct op_ctx *ctx, struct err *e)
{
	cleanup_free char *at = str_fmt("%llu", (unsigned long long)number);
	json_auto_t *p = json_pack("{s:s, s:s, s:i}", "rec", s->rec->dir, "at", at, "process", (int)s->process);
	json_t *location = NULL, *stack = NULL;
	struct timeline_where w;
	struct look l;
	int r = -1;
	pid_t tid;

	if (!look_goto(&l, p, ctx, e) && !timeline_find(l.nav.t.tl, number, &w, e) && !look_attach(&l, e)) {
		tid = target_tid(&l.nav.t, w.thread);
		stack = show_stack(l.g, tid ? tid : l.tid, &location, e);
		if (stack) {
			json_object_set_new(out, "thread",
					    show_thread(&l.nav.t, l.nav.t.pid, w.thread, tid ? tid : l.tid));
			json_object_set_new(out, "location", location);
			json_object_set_new(out, "backtrace", stack);
			show_sources(out, l.rec);
			r = 0;
		}
	}
	look_fini(&l);
	return r;
}

static int side_json(json_t **out, const struct parting_side *s, uint32_t thread, uint64_t number, struct op_ctx *ctx,
		     struct err *e)
{
	cleanup_buf struct buf text = {0};
	struct timeline_event ev;
	struct err why;

	if (!number) {
		*out = json_pack("{s:n, s:i, s:s}", "event", "thread_id", (int)thread, "text",
				 "nothing more: the process had ended");
		return 0;
	}
	if (timeline_read(s->tl, number, &ev, e))
		return -1;
	describe_event_what(&text, &ev.ev);
	*out = json_pack("{s:I, s:I, s:o, s:i, s:o, s:o}", "event", (json_int_t)number, "events_total",
			 (json_int_t)s->total, "at", json_sprintf("%llu", (unsigned long long)number), "thread_id",
			 (int)thread, "time", ev.seconds >= 0 ? json_real(ev.seconds) : json_null(), "text",
			 json_text(buf_str(&text), text.len));
	if (add_place(*out, s, number, ctx, &why)) {
		if (why.kind == ERR_CANCELLED) {
			*e = why;
			return -1;
		}
		show_note(*out, why.text); /* what the event did is known, even if not where it was made */
	}
	return 0;
}

static int parting_json(json_t *result, const char *key, const struct parting_side *g, const struct parting_side *b,
			const struct parting *p, struct op_ctx *ctx, struct err *e)
{
	json_t *good = NULL, *bad = NULL;

	if (!p->found) {
		json_object_set_new(result, key, json_null());
		return 0;
	}
	if (side_json(&good, g, p->thread, p->good, ctx, e) || side_json(&bad, b, p->other, p->bad, ctx, e)) {
		json_decref(good);
		json_decref(bad);
		return -1;
	}
	json_object_set_new(result, key,
			    json_pack("{s:I, s:o, s:o}", "index", (json_int_t)p->index, "good", good, "bad", bad));
	return 0;
}

static json_t *threads_json(const struct parting_side *g, const struct parting_side *b)
{
	uint32_t n = g->count > b->count ? g->count : b->count;
	json_t *list = json_array();

	for (uint32_t t = 1; t < n; t++) {
		struct parting p = parting_of_thread(g, b, t);
		size_t x = parting_log(g, t)->n, y = parting_log(b, t)->n;

		if (x || y)
			json_array_append_new(list, json_pack("{s:i, s:I, s:I, s:I, s:b}", "thread", (int)t, "same",
							      (json_int_t)p.index, "good", (json_int_t)x, "bad",
							      (json_int_t)y, "differs", p.found));
	}
	return list;
}

static int compare(const struct parting_side *g, const struct parting_side *b, json_t *result, struct op_ctx *ctx,
		   struct err *e)
{
	struct parting best = parting_first(g, b), order = parting_of_order(g, b), output = parting_of_output(g, b);

	json_object_set_new(result, "differ", json_boolean(best.found || order.found || output.found));
	json_object_set_new(result, "threads", threads_json(g, b));
	op_progress(ctx, 0.3, "finding out what each thread did");
	return parting_json(result, "parts", g, b, &best, ctx, e) ||
			       parting_json(result, "order", g, b, &order, ctx, e) ||
			       parting_json(result, "output", g, b, &output, ctx, e)
		       ? -1
		       : 0;
}

int op_diff(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e)
{
	struct parting_side good = {.name = "good"}, bad = {.name = "bad"};
	json_t *out = json_object();
	int r = parting_read(&good, params, e) || parting_read(&bad, params, e) ||
				parting_check_alike(&good, &bad, out, e) || compare(&good, &bad, out, ctx, e)
			? -1
			: 0;

	if (r)
		json_decref(out);
	else
		*result = out;
	parting_side_fini(&good);
	parting_side_fini(&bad);
	return r;
}
