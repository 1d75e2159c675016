/* SPDX-License-Identifier: MIT */
/*
 * op_slice.c: the operation: an instrumented replay of a window, then the slice of the statement at its end (slice.h),
 * listed as lines of source or as instructions.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "executed/collect.h"
#include "executed/ops.h"
#include "executed/rows.h"
#include "executed/slice.h"
#include "executed/window.h"
#include "reclog/reading.h"
#include "replay/pick.h"
#include "replay/show.h"
#include "replay/whole.h"

#define INSNS_MAX 100000000u /* of a window: 3 GB */
#define STATEMENT_MAX 64u /* instructions of the statement at the end */

struct slicing {
	struct rec *rec;
	uint32_t process;
	struct op_ctx *ctx;
	struct nav nav;
	bool have_nav, insn;
	struct instrument i;
	struct exec_window window;
	struct places places;
	struct rows rows;
	struct collect c;
	bool keeps; /* what is reported now belongs to the window, or to the statement at its end */
	size_t criterion; /* instructions of that statement */
	uint64_t unknown; /* events that may have written memory in a way that is not known */
	bool too_many;
};

/* ---- what is told ---- */

static bool is_same_line(struct slicing *s, uint64_t a, uint64_t b)
{
	const struct code_place *p = places_at(&s->places, a), *q = places_at(&s->places, b);

	return p->line && p->line == q->line && str_eq(p->file, q->file) && str_eq(p->function, q->function);
}

/*
 * Is this instruction, after the window, part of the statement that begins there? The statement ends at a call or at
 * another line.
 */
static bool is_of_criterion(struct slicing *s, const struct instrument_insn *x)
{
	if (!s->criterion)
		return true;
	return !s->insn && s->criterion < STATEMENT_MAX && !x->shape.call && s->window.to.event == s->i.event &&
	       is_same_line(s, s->window.to.pc, x->pc);
}

static void insn(void *ctx, struct instrument *i, struct instrument_insn *x, uint64_t sp)
{
	struct slicing *s = ctx;
	enum window_side side = window_side(&s->window, i, x);

	collect_before(&s->c, sp);
	s->keeps = side == WINDOW_IN || (side == WINDOW_AFTER && is_of_criterion(s, x));
	s->too_many |= s->c.slice.n >= INSNS_MAX;
	i->enough |= s->too_many || (side == WINDOW_AFTER && !s->keeps);
	if (!s->keeps || s->too_many)
		return;
	s->criterion += side == WINDOW_AFTER;
	collect_insn(&s->c, x, sp);
}

static void access_(void *ctx, struct instrument *i, const struct instrument_access *a)
{
	struct slicing *s = ctx;

	(void)i;
	if (s->keeps)
		collect_access(&s->c, a);
}

static void heap(void *ctx, struct instrument *i, enum replay_report_kind kind, uint64_t a, uint64_t b)
{
	struct slicing *s = ctx;

	(void)i;
	if (kind == REPORT_ALLOC && a && s->keeps)
		collect_outside(&s->c, a, b);
}

/* Notes what event n has brought into the program. */
static int see_event(struct slicing *s, uint64_t n, struct err *e)
{
	struct timeline_event ev;
	struct input_read c;

	if (n <= s->window.from.event)
		return 0;
	if (timeline_read(s->nav.t.tl, n, &ev, e))
		return -1;
	if (reading_of(&ev.ev, &c))
		collect_outside(&s->c, c.buffer, c.got);
	else if (ev.ev.has_result && ev.ev.result.payload_len)
		s->unknown++;
	return 0;
}

static int begun(void *ctx, struct instrument *i, struct trace *copy, struct err *e)
{
	struct slicing *s = ctx;

	return places_see(&s->places, i->in, copy, e);
}

static int segment(void *ctx, struct instrument *i, struct err *e)
{
	struct slicing *s = ctx;

	op_progress(s->ctx,
		    (double)(i->event - s->window.from.event) / (double)(s->window.end - s->window.from.event + 1),
		    "going through what was executed");
	s->c.first_event = s->window.from.event;
	return window_begun(&s->window, i, e) || see_event(s, i->event, e) ? -1 : 0;
}

/* ---- the result ---- */

/* A line of source, by file and number; code without lines, by its function. */
struct line {
	const struct code_place *place;
	uint64_t n, in; /* instructions that were executed, and those of the slice */
	size_t last; /* index in slice.done of the last of those of the slice */
};

static int by_place(const void *a, const void *b)
{
	const struct code_place *p = ((const struct line *)a)->place, *q = ((const struct line *)b)->place;
	int r = strcmp(p->file ? p->file : "\x7f", q->file ? q->file : "\x7f");

	if (!r)
		r = (p->line > q->line) - (p->line < q->line);
	return r ? r : strcmp(p->function ? p->function : "", q->function ? q->function : "");
}

static struct timeline_point point_of(const struct slicing *s, const struct slice_done *d)
{
	return collect_point(&s->c, d);
}

/* Makes an entry for each instruction, then joins those of one line. *out: malloc'd. Returns how many there are. */
static size_t lines_of(struct slicing *s, struct line **out)
{
	struct line *v = xcalloc(s->c.slice.ninsns + 1, sizeof(*v));
	size_t n = 0;

	for (size_t k = 0; k < s->c.slice.ninsns; k++)
		v[k].place = places_at(&s->places, s->c.pcs[k]);
	for (size_t k = 0; k < s->c.slice.n; k++) {
		const struct slice_done *d = &s->c.slice.done[k];

		if (!slice_is_insn(d))
			continue;
		v[d->insn].n++;
		v[d->insn].in += d->in;
		if (d->in)
			v[d->insn].last = k;
	}
	qsort(v, s->c.slice.ninsns, sizeof(*v), by_place);
	for (size_t k = 0; k < s->c.slice.ninsns; k++) {
		if (!n || by_place(&v[n - 1], &v[k])) {
			v[n++] = v[k];
			continue;
		}
		v[n - 1].n += v[k].n;
		v[n - 1].in += v[k].in;
		if (v[k].last > v[n - 1].last)
			v[n - 1].last = v[k].last;
	}
	*out = v;
	return n;
}

static json_t *text_of(const char *t)
{
	return t ? json_text(t, strlen(t)) : json_null();
}

static json_t *line_json(struct slicing *s, const struct line *l)
{
	const struct timeline_point at = point_of(s, &s->c.slice.done[l->last]);
	json_t *row = json_object();

	rows_place(row, l->place);
	json_object_set_new(row, "text", text_of(l->place->text));
	json_object_set_new(row, "at", rows_point(&at));
	json_object_set_new(row, "instructions", json_integer((json_int_t)l->in));
	return row;
}

static void tell_insns(struct slicing *s)
{
	for (size_t k = 0; k < s->c.slice.n; k++) {
		const struct slice_done *d = &s->c.slice.done[k];
		struct timeline_point at;
		const struct code_place *p;
		json_t *row;

		if (!d->in)
			continue;
		at = point_of(s, d);
		p = places_at(&s->places, s->c.pcs[d->insn]);
		row = json_pack("{s:s, s:o, s:i, s:o, s:o}", "kind", "insn", "at", rows_point(&at), "thread",
				(int)d->thread, "pc", json_sprintf("0x%llx", (unsigned long long)p->pc), "code",
				text_of(places_code(&s->places, p)));
		rows_place(row, p);
		rows_add(&s->rows, row);
	}
	rows_flush(&s->rows);
}

static void add_notes(struct slicing *s, json_t *r)
{
	const struct segcur_report *c = &s->i.report;
	struct strv notes = {0};

	if (c->unseen || c->lost)
		strv_take(&notes,
			  str_fmt("%llu segments were not examined completely: the slice may be incomplete there",
				  (unsigned long long)(c->unseen + c->lost)));
	if (s->unknown)
		strv_take(&notes, str_fmt("%llu system calls of the window may have written to memory that fred does "
					  "not know of: the slice may contain earlier writes to it instead",
					  (unsigned long long)s->unknown));
	if (s->c.control && control_indirect(s->c.control))
		strv_take(&notes, str_fmt("control dependences: of %zu indirect jumps only the targets that they had "
					  "in the window are known",
					  control_indirect(s->c.control)));
	if (s->c.control && control_large(s->c.control))
		strv_take(&notes, str_fmt("control dependences: %zu functions are too large: what follows one of their "
					  "branches counts as dependent on it",
					  control_large(s->c.control)));
	sources_notes(&s->places.sources, &notes);
	for (size_t k = 0; k < notes.n; k++)
		show_note(r, notes.s[k]);
	strv_fini(&notes);
}

static json_t *counts(uint64_t instructions, uint64_t lines, uint64_t words)
{
	return json_pack("{s:I, s:I, s:I}", "instructions", (json_int_t)instructions, "lines", (json_int_t)lines,
			 "bytes", (json_int_t)(words * 8));
}

static json_t *result_of(struct slicing *s, double since)
{
	uint64_t all = 0, in = 0, executed = 0;
	json_t *list = json_array(), *r;
	struct line *v;
	size_t n = lines_of(s, &v);

	for (size_t k = 0; k < n; k++) {
		executed += v[k].n;
		all += v[k].place->line != 0;
		in += v[k].place->line && v[k].in;
		if (v[k].in)
			json_array_append_new(list, line_json(s, &v[k]));
	}
	free(v);
	r = json_pack("{s:s, s:o, s:o, s:o, s:o}", "kind", "end", "at", rows_point(&s->window.to), "lines", list,
		      "window", counts(executed, all, s->c.slice.words), "slice",
		      counts(s->c.slice.in, in, s->c.slice.words_in));
	if (s->c.control)
		json_object_set_new(r, "control",
				    json_pack("{s:I, s:I}", "instructions", (json_int_t)s->c.slice.by_control,
					      "indirect", (json_int_t)control_indirect(s->c.control)));
	show_process(r, s->rec, s->process);
	add_notes(s, r);
	json_object_set_new(r, "stats", json_pack("{s:f}", "total_s", clock_s() - since));
	return r;
}

/* ---- the operation ---- */

static int run(struct slicing *s, const json_t *params, struct err *e)
{
	const char *from = json_string_value(json_object_get(params, "from")),
		   *to = json_string_value(json_object_get(params, "to"));

	if (nav_init_whole(&s->nav, s->rec, s->process, s->ctx, e))
		return -1;
	s->have_nav = true;
	if (window_init(&s->window, &s->nav, from, to, e))
		return -1;
	if (!s->window.to.pc)
		return err_set(e, ERR_USAGE,
			       "slice --to %s: a slice belongs to a statement: give the position of an instruction, "
			       "N/0xPC#HITS",
			       to);
	if (instrument_run(&s->i, &s->nav, s->window.from.event, s->window.end, e))
		return -1;
	if (s->too_many)
		return err_set(e, ERR_USAGE, "the window has more than %u instructions: begin it later (--from)",
			       INSNS_MAX);
	if (window_over(&s->window, e))
		return -1;
	slice_compute(&s->c.slice, s->criterion);
	if (s->insn)
		tell_insns(s);
	return 0;
}

int op_slice(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e)
{
	static const struct instrument_ops ops = {
		.begun = begun, .segment = segment, .access = access_, .heap = heap, .insn = insn};
	struct slicing s = {.ctx = ctx, .insn = json_is_true(json_object_get(params, "insn"))};
	double since = clock_s();
	int r = -1;

	if (pick_rec(params, &s.rec, e))
		return -1;
	s.rows.ctx = ctx;
	instrument_init(&s.i, &ops, &s);
	collect_init(&s.c, &s.i, json_is_true(json_object_get(params, "control")));
	places_init(&s.places, s.rec);
	s.process = pick_process(params, s.rec, e);
	if (s.process)
		r = run(&s, params, e);
	if (!r)
		*result = result_of(&s, since);
	collect_fini(&s.c);
	places_fini(&s.places);
	instrument_fini(&s.i);
	rows_fini(&s.rows);
	if (s.have_nav)
		nav_fini(&s.nav);
	rec_free(s.rec);
	return r;
}
