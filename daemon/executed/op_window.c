/* SPDX-License-Identifier: MIT */
/*
 * op_window.c: the operation: the replay window of a failing run (BugNet 3.4, 6.1): what it executed from where it
 * first did something else than a run that did not fail, up to its end. The events tell in which segment that was
 * (diff/parting.h); inside, the instructions that the thread executed in both runs are compared, if both had the
 * same code at the same addresses. An instrumented replay then counts instructions and memory up to the end.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "diff/parting.h"
#include "executed/footprint.h"
#include "executed/ops.h"
#include "executed/rows.h"
#include "instrument/instrument.h"
#include "reclog/files.h"
#include "replay/show.h"
#include "replay/whole.h"

#define PATH_MAX_INSNS (64u << 20) /* 256 MB */

enum parting_kind { BY_EVENT, BY_INSTRUCTION, BY_ORDER, BY_OUTPUT };

/* Which instructions the thread of the good run executed in the segment where the runs part: 32 bits of each PC. */
struct good_path {
	uint32_t *v;
	size_t n, cap;
	bool too_long;
};

struct finding {
	struct parting_side good, bad;
	struct parting parting;
	enum parting_kind kind;
	bool compares; /* both have the same code at the same addresses */
	uint64_t good_from, bad_from; /* the events before the segment in which they part */
	struct op_ctx *ctx;
	uint64_t last; /* the event at which the run that is replayed ends */
	struct good_path path;
	struct places places;
	/* what is counted */
	bool counting;
	size_t same; /* leading instructions of the bad run that are the same as in path */
	struct timeline_point at; /* where the window begins */
	uint32_t thread; /* that moves there */
	uint64_t pc; /* 0: no instruction was executed after it */
	const struct code_place *place; /* of that */
	uint64_t insns;
	struct footprint footprint;
	struct insn_regs *regs; /* by mark - 1 */
	size_t nregs, regs_cap;
};

static uint32_t short_pc(uint64_t pc)
{
	return (uint32_t)(pc ^ pc >> 32);
}

/* ---- the good run ---- */

static void good_insn(void *ctx, struct instrument *i, struct instrument_insn *x, uint64_t sp)
{
	struct finding *f = ctx;
	struct good_path *p = &f->path;

	(void)sp;
	if (i->thread != f->parting.thread)
		return;
	if (p->n == PATH_MAX_INSNS) {
		p->too_long = i->enough = true;
		return;
	}
	if (p->n == p->cap) {
		p->cap = p->cap ? p->cap * 2 : 4096;
		p->v = xreallocarray(p->v, p->cap, sizeof(*p->v));
	}
	p->v[p->n++] = short_pc(x->pc);
}

static int replay(struct finding *f, const struct instrument_ops *ops, const struct parting_side *s, uint64_t from,
		  uint64_t to, struct instrument *i, struct err *e)
{
	struct nav nav;
	int r;

	instrument_init(i, ops, f);
	if (nav_init_whole(&nav, s->rec, s->process, f->ctx, e))
		return -1;
	f->last = to;
	r = instrument_run(i, &nav, from, to, e);
	nav_fini(&nav);
	return r;
}

static int follow_good(struct finding *f, struct err *e)
{
	static const struct instrument_ops ops = {.insn = good_insn};
	struct instrument i;
	int r;

	op_progress(f->ctx, 0.1, "replaying the run that did not fail");
	r = replay(f, &ops, &f->good, f->good_from, f->parting.good ? f->parting.good : f->good.total, &i, e);
	instrument_fini(&i);
	return r;
}

/* ---- the bad run ---- */

static const struct insn_regs *regs_of(struct finding *f, struct instrument *i, struct instrument_insn *x)
{
	uint8_t code[INSN_BYTES];
	size_t n;

	if (x->mark)
		return &f->regs[x->mark - 1];
	n = trace_read_some(i->t->pid, x->pc, code, sizeof(code));
	if (f->nregs == f->regs_cap) {
		f->regs_cap = f->regs_cap ? f->regs_cap * 2 : 1024;
		f->regs = xreallocarray(f->regs, f->regs_cap, sizeof(*f->regs));
	}
	insn_regs(code, n, &f->regs[f->nregs++]);
	x->mark = (uint32_t)f->nregs;
	return &f->regs[x->mark - 1];
}

static void begin(struct finding *f, struct instrument *i, struct instrument_insn *x, enum parting_kind kind)
{
	f->counting = true;
	f->kind = kind;
	f->pc = x->pc;
	f->place = places_at(&f->places, x->pc);
	f->thread = i->thread;
	instrument_here(i, x, &f->at);
}

/* Has the window begun, or does it begin with this instruction? */
static bool is_in(struct finding *f, struct instrument *i, struct instrument_insn *x)
{
	if (f->counting)
		return true;
	if (f->parting.bad && i->event >= f->parting.bad)
		begin(f, i, x, f->kind);
	else if (f->compares && i->thread == f->parting.other) {
		if (f->same == f->path.n || f->path.v[f->same] != short_pc(x->pc))
			begin(f, i, x, BY_INSTRUCTION);
		else
			f->same++;
	}
	return f->counting;
}

static void bad_insn(void *ctx, struct instrument *i, struct instrument_insn *x, uint64_t sp)
{
	struct finding *f = ctx;
	const struct insn_regs *r;

	if (!is_in(f, i, x))
		return;
	f->insns++;
	r = regs_of(f, i, x);
	if (r->pop)
		footprint_add(&f->footprint, sp, 8, FOOTPRINT_LOAD);
	if (r->push)
		footprint_add(&f->footprint, sp - 8, 8, FOOTPRINT_STORE);
}

static void bad_access(void *ctx, struct instrument *i, const struct instrument_access *a)
{
	struct finding *f = ctx;

	(void)i;
	if (!f->counting)
		return;
	if (a->reads)
		footprint_add(&f->footprint, a->addr, a->len, FOOTPRINT_LOAD);
	if (a->writes)
		footprint_add(&f->footprint, a->addr, a->len, FOOTPRINT_STORE);
}

static void bad_written(void *ctx, struct instrument *i, uint64_t addr, uint64_t len)
{
	struct finding *f = ctx;

	(void)i;
	if (f->counting)
		footprint_add(&f->footprint, addr, len, FOOTPRINT_STORE);
}

static int bad_begun(void *ctx, struct instrument *i, struct trace *copy, struct err *e)
{
	struct finding *f = ctx;

	/* the source is needed at the beginning only */
	return f->pc ? 0 : places_see(&f->places, i->in, copy, e);
}

static int bad_segment(void *ctx, struct instrument *i, struct err *e)
{
	struct finding *f = ctx;

	(void)e;
	op_progress(f->ctx, 0.3 + 0.7 * (double)(i->event - f->bad_from) / (double)(f->last - f->bad_from + 1),
		    "counting what the failing run executed");
	return 0;
}

static int count_bad(struct finding *f, struct instrument *i, struct err *e)
{
	static const struct instrument_ops ops = {.begun = bad_begun,
						  .segment = bad_segment,
						  .insn = bad_insn,
						  .access = bad_access,
						  .written = bad_written};

	return replay(f, &ops, &f->bad, f->bad_from, f->bad.total, i, e);
}

/* ---- what is compared ---- */

static int has_same_code(const struct finding *f, bool *same, struct err *e)
{
	struct rec_files g, b;

	*same = false;
	if (rec_files_read(f->good.rec, f->good.process, &g, e))
		return -1;
	if (rec_files_read(f->bad.rec, f->bad.process, &b, e)) {
		rec_files_fini(&g);
		return -1;
	}
	*same = g.n == b.n;
	for (size_t k = 0; k < g.n && *same; k++)
		*same = str_eq(g.f[k].copy, b.f[k].copy) && g.f[k].base == b.f[k].base;
	rec_files_fini(&g);
	rec_files_fini(&b);
	return 0;
}

/* 0: the runs part; 1: they do not. */
static int find(struct finding *f, struct err *e)
{
	struct parting order = parting_of_order(&f->good, &f->bad), output;

	f->parting = parting_first(&f->good, &f->bad);
	if (!f->parting.found) {
		output = parting_of_output(&f->good, &f->bad);
		if (!output.found || (order.found && order.bad < output.bad)) {
			f->parting = order;
			f->kind = BY_ORDER;
			f->bad_from = order.bad;
			return !order.found;
		}
		f->parting = output;
		f->kind = BY_OUTPUT;
	}
	f->good_from = parting_before(&f->good, f->parting.thread, f->parting.index);
	f->bad_from = parting_before(&f->bad, f->parting.other, f->parting.index);
	return has_same_code(f, &f->compares, e);
}

/* ---- the result ---- */

static int add_log(const struct finding *f, json_t *r, struct err *e)
{
	struct rec_start s = {0};
	uint64_t bytes = 0;

	if (f->at.event < f->bad.total && timeline_start_at(f->bad.tl, f->at.event + 1, &s, &bytes, e))
		return -1;
	free(s.threads);
	json_object_set_new(r, "log_bytes", json_integer((json_int_t)bytes));
	return 0;
}

static void add_notes(const struct finding *f, const struct segcur_report *c, json_t *r)
{
	struct strv notes = {0};

	if ((f->kind == BY_EVENT || f->kind == BY_OUTPUT) && !f->compares)
		strv_add(&notes, "the programs or their libraries are not the same: the window begins with the event "
				 "that differs, and not with an instruction before it");
	if (f->path.too_long)
		strv_add(&notes, "the threads executed too many instructions before the event that differs to compare "
				 "them: the window begins with the event");
	if (c->unseen || c->lost)
		strv_take(&notes, str_fmt("%llu segments were not examined completely: the numbers are too low",
					  (unsigned long long)(c->unseen + c->lost)));
	for (size_t k = 0; k < notes.n; k++)
		show_note(r, notes.s[k]);
	strv_fini(&notes);
}

static json_t *result_of(struct finding *f, const struct segcur_report *c, double since, struct err *e)
{
	static const char *const kinds[] = {
		[BY_EVENT] = "event", [BY_INSTRUCTION] = "instruction", [BY_ORDER] = "order", [BY_OUTPUT] = "output"};
	static const struct code_place nowhere;
	const struct code_place *p = f->place ? f->place : &nowhere;
	const struct timeline_point end = {.event = f->bad.total};
	json_t *r =
		json_pack("{s:b, s:s, s:o, s:o, s:i, s:I, s:I, s:I, s:I}", "differ", 1, "by", kinds[f->kind], "from",
			  rows_point(&f->at), "to", rows_point(&end), "thread", (int)f->thread, "instructions",
			  (json_int_t)f->insns, "events", (json_int_t)(f->bad.total - f->at.event), "loaded_bytes",
			  (json_int_t)f->footprint.loaded, "touched_bytes", (json_int_t)f->footprint.touched);

	rows_place(r, p);
	json_object_set_new(r, "text", p->text ? json_text(p->text, strlen(p->text)) : json_null());
	show_process(r, f->bad.rec, f->bad.process);
	add_notes(f, c, r);
	json_object_set_new(r, "stats",
			    json_pack("{s:I, s:I, s:f}", "stepped", (json_int_t)c->stepped, "unseen",
				      (json_int_t)(c->unseen + c->lost), "total_s", clock_s() - since));
	if (!add_log(f, r, e))
		return r;
	json_decref(r);
	return NULL;
}

static int measure(struct finding *f, double since, json_t **result, struct err *e)
{
	struct instrument i;
	int r;

	if (f->compares && follow_good(f, e))
		return -1;
	f->compares &= !f->path.too_long;
	f->at.event = f->parting.bad ? f->parting.bad : f->bad.total; /* if nothing was executed after it */
	f->thread = f->parting.other;
	places_init(&f->places, f->bad.rec);
	r = count_bad(f, &i, e);
	if (!r && !(*result = result_of(f, &i.report, since, e)))
		r = -1;
	instrument_fini(&i);
	places_fini(&f->places);
	return r;
}

int op_window(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e)
{
	struct finding *f = xcalloc(1, sizeof(*f));
	json_t *notes = json_object();
	double since = clock_s();
	int r = -1;

	f->ctx = ctx;
	f->good.name = "good";
	f->bad.name = "bad";
	if (!parting_read(&f->good, params, e) && !parting_read(&f->bad, params, e) &&
	    !parting_check_alike(&f->good, &f->bad, notes, e))
		r = find(f, e);
	if (r > 0) {
		*result = json_pack("{s:b}", "differ", 0);
		r = 0;
	} else if (!r) {
		r = measure(f, since, result, e);
	}
	if (!r)
		json_object_update_missing(*result, notes);
	json_decref(notes);
	footprint_fini(&f->footprint);
	free(f->path.v);
	free(f->regs);
	parting_side_fini(&f->good);
	parting_side_fini(&f->bad);
	free(f);
	return r;
}
