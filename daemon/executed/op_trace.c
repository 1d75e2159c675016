/* SPDX-License-Identifier: MIT */
/*
 * op_trace.c: the operation: what was executed in a window, as rows: calls, lines of source, instructions, or accesses
 * to memory.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "executed/calls.h"
#include "executed/ops.h"
#include "executed/places.h"
#include "executed/rows.h"
#include "executed/window.h"
#include "replay/pick.h"
#include "replay/show.h"
#include "replay/whole.h"

#define LIMIT 100000 /* rows */

enum what { WHAT_CALLS, WHAT_LINES, WHAT_INSN, WHAT_MEMORY, WHATS };

static const char *const whats[WHATS] = {"calls", "lines", "insn", "memory"};

/* The line that a thread is in. */
struct line_state {
	const struct code_place *place;
	uint64_t first; /* the instruction with which it came there */
};

struct tracing {
	struct rec *rec;
	uint32_t process;
	struct op_ctx *ctx;
	struct nav nav;
	bool have_nav;
	struct instrument i;
	struct exec_window window;
	struct places places;
	struct calls_seen calls;
	struct rows rows;
	struct line_state *lines; /* by thread */
	enum what what;
	bool all; /* also what libc and the loader do */
	uint64_t limit;
	uint64_t segment; /* instructions of the segment so far */
	bool told; /* the segment has rows */
	double *since; /* by thread: when its last event was, seconds; negative: not known */
};

/* ---- rows ---- */

/* {at, thread, n, function, file, line} */
static json_t *row_at(struct tracing *t, const struct timeline_point *at, uint64_t pc)
{
	json_t *row = json_object();

	json_object_set_new(row, "at", rows_point(at));
	json_object_set_new(row, "thread", json_integer(t->i.thread));
	json_object_set_new(row, "n", json_integer((json_int_t)t->segment));
	rows_place(row, places_at(&t->places, pc));
	return row;
}

static void add(struct tracing *t, json_t *row)
{
	t->told = true;
	rows_add(&t->rows, row);
	t->i.enough |= t->rows.n >= t->limit;
}

static json_t *row_of(struct tracing *t, const struct instrument_insn *x)
{
	struct timeline_point at;

	instrument_here(&t->i, x, &at);
	return row_at(t, &at, x->pc);
}

static json_t *address(uint64_t a)
{
	return json_sprintf("0x%llx", (unsigned long long)a);
}

static const char *name_of(struct tracing *t, uint64_t target)
{
	const char *name = target ? places_at(&t->places, target)->function : NULL;

	return name ? name : "??";
}

/* Does the user want to see it? Code of libc and the loader only with --all. */
static bool is_of_program(const struct tracing *t, uint64_t pc)
{
	return t->all || visibility_is_certain(&t->i.visibility, pc);
}

static void call_begins(void *ctx, struct instrument *i, struct call_frame *f)
{
	struct tracing *t = ctx;
	json_t *row;

	(void)i;
	f->shown =
		t->window.side == WINDOW_IN && (is_of_program(t, f->pc) || (f->target && is_of_program(t, f->target)));
	if (!f->shown)
		return;
	row = row_at(t, &f->at, f->pc);
	json_object_set_new(row, "kind", json_string("call"));
	json_object_set_new(row, "depth", json_integer(f->depth));
	json_object_set_new(row, "callee", json_string(name_of(t, f->target)));
	json_object_set_new(row, "callee_pc", f->target ? address(f->target) : json_null());
	add(t, row);
}

static void call_ends(void *ctx, struct instrument *i, const struct call_frame *f, const struct instrument_insn *x)
{
	struct tracing *t = ctx;
	json_t *row;

	(void)i;
	if (t->window.side != WINDOW_IN || !f->shown)
		return;
	row = row_of(t, x);
	json_object_set_new(row, "kind", json_string("return"));
	json_object_set_new(row, "depth", json_integer(f->depth));
	json_object_set_new(row, "callee", json_string(name_of(t, f->target)));
	add(t, row);
}

static json_t *text_of(const char *s)
{
	return s ? json_text(s, strlen(s)) : json_null();
}

/* A row for a line begins again where the thread comes back to the line's first instruction. */
static void see_line(struct tracing *t, const struct instrument_insn *x)
{
	struct line_state *l = &t->lines[t->i.thread];
	const struct code_place *p;
	json_t *row;
	bool same;

	p = places_at(&t->places, x->pc);
	if (!p->line)
		return;
	same = l->place && l->place->line == p->line && str_eq(l->place->file, p->file) &&
	       str_eq(l->place->function, p->function);
	if (same && x->pc != l->first)
		return;
	*l = (struct line_state){p, x->pc};
	row = row_of(t, x);
	json_object_set_new(row, "kind", json_string("line"));
	json_object_set_new(row, "text", text_of(p->text));
	add(t, row);
}

static void see_insn(struct tracing *t, const struct instrument_insn *x)
{
	json_t *row = row_of(t, x);

	json_object_set_new(row, "kind", json_string("insn"));
	json_object_set_new(row, "pc", address(x->pc));
	json_object_set_new(row, "code", text_of(places_code(&t->places, places_at(&t->places, x->pc))));
	add(t, row);
}

/* ---- what is told ---- */

static void insn(void *ctx, struct instrument *i, struct instrument_insn *x, uint64_t sp)
{
	struct tracing *t = ctx;

	t->segment++;
	if (window_side(&t->window, i, x) == WINDOW_AFTER) {
		i->enough = true;
		return;
	}
	if (t->what == WHAT_CALLS)
		calls_seen_insn(&t->calls, i, x, sp);
	if (t->window.side != WINDOW_IN || !is_of_program(t, x->pc))
		return;
	if (t->what == WHAT_LINES)
		see_line(t, x);
	else if (t->what == WHAT_INSN)
		see_insn(t, x);
}

static void access_(void *ctx, struct instrument *i, const struct instrument_access *a)
{
	struct tracing *t = ctx;
	json_t *row;

	if (t->what == WHAT_CALLS)
		calls_seen_access(&t->calls, i, a);
	if (t->what != WHAT_MEMORY || t->window.side != WINDOW_IN || !is_of_program(t, a->insn->pc))
		return;
	row = row_of(t, a->insn);
	json_object_set_new(row, "kind",
			    json_string(a->reads && a->writes ? "load and store"
					: a->writes	      ? "store"
							      : "load"));
	json_object_set_new(row, "pc", address(a->insn->pc));
	json_object_set_new(row, "address", address(a->addr));
	json_object_set_new(row, "bytes", json_integer((json_int_t)a->len));
	add(t, row);
}

static void call(void *ctx, struct instrument *i, const struct instrument_insn *x)
{
	struct tracing *t = ctx;

	if (t->what == WHAT_CALLS)
		calls_seen_call(&t->calls, i, x);
}

static void calls_back(void *ctx, struct instrument *i)
{
	struct tracing *t = ctx;

	if (t->what == WHAT_CALLS)
		calls_seen_calls_back(&t->calls, i);
}

static int begun(void *ctx, struct instrument *i, struct trace *copy, struct err *e)
{
	struct tracing *t = ctx;

	return places_see(&t->places, i->in, copy, e);
}

static int segment(void *ctx, struct instrument *i, struct err *e)
{
	struct tracing *t = ctx;

	t->segment = 0;
	t->told = false;
	op_progress(t->ctx,
		    (double)(i->event - t->window.from.event) / (double)(t->window.end - t->window.from.event + 1),
		    "going through what was executed");
	return window_begun(&t->window, i, e);
}

/* When the segment was executed: from the thread's event before it to the one that ends it. */
static int ended(void *ctx, struct instrument *i, struct err *e)
{
	struct tracing *t = ctx;
	struct timeline_event ev;
	double *since = &t->since[i->thread];

	if (t->what == WHAT_CALLS)
		calls_seen_over(&t->calls, i);
	if (timeline_read(t->nav.t.tl, i->event + 1, &ev, e))
		return -1;
	if (t->told)
		rows_add(&t->rows,
			 json_pack("{s:s, s:I, s:I, s:I, s:f, s:f}", "kind", "segment", "thread", (json_int_t)i->thread,
				   "event", (json_int_t)i->event, "n", (json_int_t)t->segment, "from_s",
				   *since >= 0 ? *since : ev.seconds, "to_s", ev.seconds));
	*since = ev.seconds;
	return 0;
}

/* ---- the operation ---- */

/* When each thread had its last event before the window. */
static int learn_times(struct tracing *t, struct err *e)
{
	struct timeline_walk w;
	struct timeline_event ev;
	int r;

	for (unsigned k = 0; k < RLOG_MAX_THREADS; k++)
		t->since[k] = -1;
	if (timeline_walk_init(&w, t->nav.t.tl, nav_first(&t->nav) + 1, e))
		return -1;
	while ((r = timeline_walk_next(&w, &ev, e)) > 0 && ev.where.number <= t->window.from.event)
		if (ev.where.thread < RLOG_MAX_THREADS)
			t->since[ev.where.thread] = ev.seconds;
	timeline_walk_fini(&w);
	return r < 0 ? -1 : 0;
}

static int run(struct tracing *t, const json_t *params, struct err *e)
{
	const char *from = json_string_value(json_object_get(params, "from")),
		   *to = json_string_value(json_object_get(params, "to"));

	if (nav_init_whole(&t->nav, t->rec, t->process, t->ctx, e))
		return -1;
	t->have_nav = true;
	if (window_init(&t->window, &t->nav, from, to, e) || learn_times(t, e) ||
	    instrument_run(&t->i, &t->nav, t->window.from.event, t->window.end, e))
		return -1;
	rows_flush(&t->rows);
	return t->i.enough ? 0 : window_over(&t->window, e);
}

static void add_notes(struct tracing *t, json_t *r)
{
	const struct segcur_report *s = &t->i.report;
	struct strv notes = {0};
	char *text = NULL;

	if (t->rows.n >= t->limit)
		text = str_fmt("only the first %llu entries are listed (--limit)", (unsigned long long)t->limit);
	else if (s->unseen || s->lost)
		text = str_fmt("%llu segments were not examined completely: what was executed there is not listed",
			       (unsigned long long)(s->unseen + s->lost));
	if (text)
		show_note(r, text);
	free(text);
	sources_notes(&t->places.sources, &notes);
	for (size_t k = 0; k < notes.n; k++)
		show_note(r, notes.s[k]);
	strv_fini(&notes);
}

static json_t *result_of(struct tracing *t, double since)
{
	json_t *r = json_pack("{s:s, s:b, s:s}", "kind", "end", "complete",
			      t->rows.n < t->limit && !t->i.report.unseen && !t->i.report.lost, "what", whats[t->what]);

	show_process(r, t->rec, t->process);
	add_notes(t, r);
	json_object_set_new(r, "stats",
			    json_pack("{s:I, s:I, s:I, s:I, s:I, s:f}", "entries", (json_int_t)t->rows.n,
				      "instructions", (json_int_t)t->window.insns, "stepped",
				      (json_int_t)t->i.report.stepped, "unseen", (json_int_t)t->i.report.unseen, "lost",
				      (json_int_t)t->i.report.lost, "total_s", clock_s() - since));
	return r;
}

static int what_of(const json_t *params, enum what *what, struct err *e)
{
	const char *text = json_string_value(json_object_get(params, "what"));

	for (unsigned k = 0; k < WHATS; k++)
		if (str_eq(text, whats[k])) {
			*what = k;
			return 0;
		}
	return err_set(e, ERR_USAGE, "trace: '%s' is not one of calls, lines, insn, memory", text);
}

int op_trace(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e)
{
	static const struct instrument_ops ops = {.begun = begun,
						  .access = access_,
						  .call = call,
						  .calls_back = calls_back,
						  .insn = insn,
						  .segment = segment,
						  .ended = ended};
	json_int_t limit = json_integer_value(json_object_get(params, "limit"));
	struct tracing t = {.ctx = ctx, .limit = limit > 0 ? (uint64_t)limit : LIMIT};
	double since = clock_s();
	int r = -1;

	t.all = json_is_true(json_object_get(params, "all"));
	if (what_of(params, &t.what, e) || pick_rec(params, &t.rec, e))
		return -1;
	t.rows.ctx = ctx;
	t.lines = xcalloc(RLOG_MAX_THREADS, sizeof(*t.lines));
	t.since = xcalloc(RLOG_MAX_THREADS, sizeof(*t.since));
	instrument_init(&t.i, &ops, &t);
	places_init(&t.places, t.rec);
	calls_seen_init(&t.calls);
	t.calls.begins = call_begins;
	t.calls.ends = call_ends;
	t.calls.ctx = &t;
	t.process = pick_process(params, t.rec, e);
	if (t.process)
		r = run(&t, params, e);
	if (!r)
		*result = result_of(&t, since);
	calls_seen_fini(&t.calls);
	places_fini(&t.places);
	instrument_fini(&t.i);
	rows_fini(&t.rows);
	free(t.lines);
	free(t.since);
	if (t.have_nav)
		nav_fini(&t.nav);
	rec_free(t.rec);
	return r;
}
