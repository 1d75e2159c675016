/* SPDX-License-Identifier: MIT */
/*
 * op_cause.c: the operation explain. To the chain of daemon/explain it adds two things: a memory error that came before
 * the failure becomes the end of the chain (memory_cause.h); and where an assertion or abort of the program's own has
 * failed, the statements that may be wrong are listed, the most suspicious first (suspect.h). That list is a guess, and
 * no part of the chain.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "base/str.h"
#include "executed/collect.h"
#include "executed/memory_cause.h"
#include "executed/ops.h"
#include "executed/rows.h"
#include "executed/suspect.h"
#include "explain/ops.h"
#include "reclog/reading.h"
#include "replay/pick.h"
#include "replay/show.h"

#define INSNS_MAX 6000000u /* instructions that are examined, at most */
#define LISTED 5u

struct cause {
	struct rec *rec;
	uint32_t process;
	struct op_ctx *ctx;
	struct nav nav;
	bool have_nav;
	struct instrument i;
	struct places places;
	struct collect c;
	uint64_t back; /* where the call that ended the program would return to */
	size_t check; /* that call: its index in slice.done, from 1; 0: not met */
	bool too_many;
};

/* ---- what is told ---- */

static void insn(void *ctx, struct instrument *i, struct instrument_insn *x, uint64_t sp)
{
	struct cause *c = ctx;

	collect_before(&c->c, sp);
	c->too_many |= c->c.slice.n >= INSNS_MAX;
	i->enough |= c->too_many;
	if (c->too_many)
		return;
	collect_insn(&c->c, x, sp);
	if (x->shape.call && x->pc + x->shape.len == c->back)
		c->check = c->c.slice.n;
}

static void access_(void *ctx, struct instrument *i, const struct instrument_access *a)
{
	struct cause *c = ctx;

	(void)i;
	collect_access(&c->c, a);
}

static void heap(void *ctx, struct instrument *i, enum replay_report_kind kind, uint64_t a, uint64_t b)
{
	struct cause *c = ctx;

	(void)i;
	if (kind == REPORT_ALLOC && a)
		collect_outside(&c->c, a, b);
}

static int begun(void *ctx, struct instrument *i, struct trace *copy, struct err *e)
{
	struct cause *c = ctx;

	return places_see(&c->places, i->in, copy, e);
}

static int segment(void *ctx, struct instrument *i, struct err *e)
{
	struct cause *c = ctx;
	struct timeline_event ev;
	struct input_read in;

	if (i->event <= nav_first(&c->nav))
		return 0;
	if (timeline_read(c->nav.t.tl, i->event, &ev, e))
		return -1;
	if (reading_of(&ev.ev, &in))
		collect_outside(&c->c, in.buffer, in.got);
	return 0;
}

/* ---- statements ---- */

/* A line of source. */
struct candidate {
	const struct code_place *place;
	uint64_t executed; /* how often its most frequent instruction was executed */
	uint32_t passed, decisions, distance, last;
	bool fresh;
	double score;
};

static bool is_same_line(const struct code_place *a, const struct code_place *b)
{
	return a->line == b->line && str_eq(a->file, b->file);
}

/* "{" and "}" only set up frames; and in a loop's own line, the mistake is seldom in how it counts. */
static bool is_frame(const char *text)
{
	return !text[strspn(text, " \t{}")];
}

static bool is_loop(const char *text)
{
	text += strspn(text, " \t");
	return str_starts(text, "for") && strchr(" (", text[3]);
}

/* The weights are rounded; they come from some programs whose causes are known. */
static double score(const struct candidate *c, const struct code_place *check, unsigned passed)
{
	double s = passed ? 2 / sqrt(1.0 + c->passed) : 1.4;

	s += 1 / sqrt((double)c->executed) + c->fresh - 0.05 * log2(1.0 + c->distance) - 0.1 * c->decisions;
	if (c->place->text && is_loop(c->place->text))
		s -= 4;
	if (str_eq(c->place->function, check->function)) /* this is the check itself */
		s -= 2;
	return s;
}

static void join(struct candidate *c, const struct suspect_insn *v)
{
	if (v->decisions < c->decisions || (v->decisions == c->decisions && v->distance < c->distance)) {
		c->decisions = v->decisions;
		c->distance = v->distance;
	}
	c->executed = v->executed > c->executed ? v->executed : c->executed;
	c->passed = v->passed < c->passed ? v->passed : c->passed;
	c->last = v->last > c->last ? v->last : c->last;
	c->fresh |= v->fresh && !v->counts;
}

static int by_score(const void *a, const void *b)
{
	const struct candidate *p = a, *q = b;

	if (p->score != q->score)
		return p->score < q->score ? 1 : -1;
	return p->last < q->last ? 1 : -1;
}

/* *out: malloc'd. Returns how many there are. */
static size_t candidates_of(struct cause *c, const struct suspects *s, struct candidate **out)
{
	const struct code_place *check = places_at(&c->places, c->c.pcs[c->c.slice.done[c->check - 1].insn]);
	struct candidate *v = xcalloc(s->n + 1, sizeof(*v));
	size_t n = 0;

	for (size_t k = 0; k < s->n; k++) {
		const struct code_place *p = s->v[k].in ? places_at(&c->places, c->c.pcs[k]) : NULL;
		size_t i = 0;

		if (!p || !p->line || !p->file || path_is_system(p->file) || is_same_line(p, check) ||
		    (p->text && is_frame(p->text)))
			continue;
		while (i < n && !is_same_line(v[i].place, p))
			i++;
		if (i == n)
			v[n++] = (struct candidate){
				.place = p, .passed = UINT32_MAX, .decisions = UINT32_MAX, .distance = UINT32_MAX};
		join(&v[i], &s->v[k]);
	}
	for (size_t i = 0; i < n; i++)
		v[i].score = score(&v[i], check, s->passed);
	if (n)
		qsort(v, n, sizeof(*v), by_score);
	*out = v;
	return n;
}

static json_t *candidate_json(struct cause *c, const struct candidate *v, unsigned passed)
{
	const struct slice_done *d = &c->c.slice.done[v->last];
	const struct timeline_point at = collect_point(&c->c, d);
	json_t *row = json_pack("{s:o, s:I, s:b, s:I}", "at", rows_point(&at), "executed", (json_int_t)v->executed,
				"fresh", v->fresh, "passed", (json_int_t)(passed ? v->passed : 0)),
	       *location = json_object();

	rows_place(location, v->place);
	json_object_set_new(location, "text",
			    v->place->text ? json_text(v->place->text, strlen(v->place->text)) : json_null());
	json_object_set_new(row, "location", location);
	return row;
}

static json_t *list_of(struct cause *c, const struct suspects *s)
{
	json_t *list = json_array();
	struct candidate *v;
	size_t n = candidates_of(c, s, &v);

	for (size_t i = 0; i < n && i < LISTED; i++)
		json_array_append_new(list, candidate_json(c, &v[i], s->passed));
	free(v);
	return list;
}

static int look(struct cause *c, json_t **list, struct err *e)
{
	struct suspects s;

	if (nav_init(&c->nav, c->rec, c->process, 0, c->ctx, e))
		return -1;
	c->have_nav = true;
	if (instrument_run(&c->i, &c->nav, nav_first(&c->nav), nav_total(&c->nav), e))
		return -1;
	if (c->too_many)
		return err_set(e, ERR_USAGE, "more than %u instructions were executed", INSNS_MAX);
	if (!c->check)
		return err_set(e, ERR_NOT_FOUND, "the call that ended the program is not met");
	if (suspects_find(&c->c.slice, c->check - 1, &s))
		*list = list_of(c, &s);
	suspects_fini(&s);
	return 0;
}

/* ---- the operation ---- */

/* Where the call in the failing statement would return to; 0: no check of the program's has failed. */
static uint64_t return_of_check(const json_t *result)
{
	const char *kind = json_string_value(json_object_get(json_object_get(result, "failure"), "kind"));
	json_t *failure = json_array_get(json_object_get(result, "chain"), 0), *frame;
	size_t k;

	if (!str_eq(kind, "assertion") && !str_eq(kind, "abort"))
		return 0;
	json_array_foreach(json_object_get(failure, "backtrace"), k, frame)
	{
		const char *pc = json_string_value(json_object_get(frame, "pc"));

		if (k && pc && json_is_string(json_object_get(frame, "file")))
			return strtoull(pc, NULL, 16);
	}
	return 0;
}

static void add_candidates(struct cause *c, json_t *result)
{
	static const struct instrument_ops ops = {
		.begun = begun, .segment = segment, .access = access_, .heap = heap, .insn = insn};
	json_t *list = NULL;
	struct err e;

	c->process = (uint32_t)json_integer_value(json_object_get(result, "process"));
	instrument_init(&c->i, &ops, c);
	collect_init(&c->c, &c->i, true);
	places_init(&c->places, c->rec);
	if (look(c, &list, &e)) {
		cleanup_free char *note = str_fmt("no candidates for what is wrong: %s", e.text);

		show_note(result, note);
	} else if (list) {
		json_object_set_new(result, "candidates", list);
	}
	collect_fini(&c->c);
	places_fini(&c->places);
	instrument_fini(&c->i);
	if (c->have_nav)
		nav_fini(&c->nav);
}

int op_cause(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e)
{
	struct cause c = {.ctx = ctx};

	if (op_explain(params, ctx, result, e))
		return -1;
	if (pick_rec(params, &c.rec, e))
		return -1;
	c.back = return_of_check(*result);
	memory_cause_add(c.rec, ctx, *result);
	if (c.back)
		add_candidates(&c, *result);
	rec_free(c.rec);
	if (!op_cancelled(ctx))
		return 0;
	json_decref(*result); /* what was looked for last is not in it */
	*result = NULL;
	return err_set(e, ERR_CANCELLED, "cancelled");
}
