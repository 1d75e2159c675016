/* SPDX-License-Identifier: MIT */
/* op_why.c: the operation, and the object of fredctl why. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/jsonx.h"
#include "replay/pick.h"
#include "replay/show.h"
#include "timetravel/cursor_int.h"
#include "why/ops.h"
#include "why/why.h"

#define DEPTH 5
#define STEPS_MAX 200u
#define U(x) ((unsigned long long)(x))

/* ---- JSON ---- */

static json_t *text_of(const char *s)
{
	return s ? json_text(s, strlen(s)) : json_null();
}

static json_t *point_of(const struct timeline_point *p)
{
	return p->pc ? json_sprintf("%llu/0x%llx#%llu", U(p->event), U(p->pc), U(p->hits))
		     : json_sprintf("%llu", U(p->event));
}

static void add_position(json_t *o, struct why *w, const struct timeline_point *p, json_t *thread)
{
	json_t *position = json_pack("{s:I, s:I, s:O?}", "event", (json_int_t)p->event, "events_total",
				     (json_int_t)nav_total(&w->x.nav), "thread", thread);

	if (p->pc) {
		json_object_set_new(position, "pc", json_sprintf("0x%llx", U(p->pc)));
		json_object_set_new(position, "hits", json_integer((json_int_t)p->hits));
	}
	json_object_set_new(o, "at", point_of(p));
	json_object_set_new(o, "position", position);
}

static json_t *end_of(enum chain_end end, const char *text)
{
	return end ? json_pack("{s:s, s:o}", "kind", chain_end_name(end), "text", text_of(text)) : json_null();
}

/* A register, or an address. */
static json_t *where_of(const struct insn_loc *l)
{
	return l->where == INSN_IN_MEM ? json_sprintf("0x%llx", U(l->addr)) : json_string(insn_reg_name(l->reg));
}

static json_t *step_json(struct why *w, struct why_step *s, unsigned *number);

static json_t *operand_json(struct why *w, const struct why_operand *o, unsigned *number)
{
	json_t *j = json_object();

	json_object_set_new(j, "name", text_of(o->name));
	json_object_set_new(j, "expression", text_of(o->exact ? o->name : NULL));
	json_object_set_new(j, "where", o->l.where ? where_of(&o->l) : json_null());
	json_object_set_new(j, "bytes", json_integer(o->l.len));
	json_object_set_new(j, "value", text_of(o->text));
	json_object_set_new(j, "at", point_of(&o->at));
	json_object_set_new(j, "end", end_of(o->end, o->end_text));
	if (o->again)
		json_object_set_new(j, "from", json_pack("{s:i}", "step", o->from->number));
	else
		json_object_set_new(j, "from", o->from ? step_json(w, o->from, number) : json_null());
	return j;
}

/* Numbers all steps before one is referred to: those of a statement's operands come before it. */
static void number_steps(const struct why_operand *o, unsigned *number)
{
	if (!o->from || o->again)
		return;
	o->from->number = ++*number;
	for (size_t k = 0; k < o->from->n; k++)
		number_steps(o->from->v[k], number);
}

/* Notes belong to the result, each once. */
static void take_notes(struct why *w, json_t *o)
{
	json_t *note;
	size_t k;

	json_array_foreach(json_object_get(o, "notes"), k, note) if (!strv_has(&w->x.notes, json_string_value(note)))
		strv_add(&w->x.notes, json_string_value(note));
	json_object_del(o, "notes");
}

static json_t *step_json(struct why *w, struct why_step *s, unsigned *number)
{
	json_t *j = json_object(), *list = json_array();

	json_object_set_new(j, "step", json_integer(s->number));
	add_position(j, w, &s->at, s->thread);
	json_object_set(j, "location", s->location ? s->location : json_null());
	if (s->backtrace)
		json_object_set(j, "backtrace", s->backtrace);
	json_object_set_new(j, "name", text_of(s->name));
	json_object_set_new(j, "expression", text_of(s->exact ? s->name : NULL));
	json_object_set_new(j, "where", s->l.where ? where_of(&s->l) : json_null());
	json_object_set_new(j, "words", text_of(s->words));
	json_object_set_new(j, "before", text_of(s->before));
	json_object_set_new(j, "after", text_of(s->after));
	json_object_set_new(j, "end", end_of(s->end, s->end_text));
	show_sources(j, w->x.rec);
	take_notes(w, j);
	for (size_t k = 0; k < s->n; k++)
		json_array_append_new(list, operand_json(w, s->v[k], number));
	json_object_set_new(j, "operands", list);
	return j;
}

static json_t *result_of(struct why *w, const char *expr, double since)
{
	unsigned number = 0;
	json_t *r;

	number_steps(&w->root, &number);
	r = operand_json(w, &w->root, &number);
	json_object_set_new(r, "expr", text_of(expr));
	json_object_del(r, "expression");
	json_object_del(r, "name");
	json_object_set_new(r, "found", json_boolean(w->root.from || (w->root.end && !chain_led_nowhere(w->root.end))));
	show_process(r, w->x.rec, w->x.process);
	for (size_t k = 0; k < w->x.notes.n; k++)
		show_note(r, w->x.notes.s[k]);
	json_object_set_new(r, "stats", json_pack("{s:i, s:f}", "steps", (int)number, "total_s", clock_s() - since));
	return r;
}

/* ---- the operation ---- */

static int run(struct why *w, const json_t *params, struct err *e)
{
	const char *expr = json_string_value(json_object_get(params, "expr")),
		   *at = json_string_value(json_object_get(params, "at"));
	struct explain *x = &w->x;

	if (explain_begin(x, e) || explain_first_way(x, "replaying", e) < 0)
		return -1;
	x->g = gdb_new(&gdb_with_scripts, e);
	if (!x->g || why_target(w, expr, at, e))
		return -1;
	return why_follow(w, e);
}

int op_why(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e)
{
	json_int_t depth = json_integer_value(json_object_get(params, "depth"));
	struct why w = {.depth = depth > 0 ? (unsigned)depth : DEPTH, .steps_max = STEPS_MAX};
	struct explain *x = &w.x;
	double since = clock_s();
	int r = -1;

	x->ctx = ctx;
	x->depth = 1; /* of a chain, which stays empty */
	x->until = EXPLAIN_MOST;
	if (pick_rec(params, &x->rec, e))
		return -1;
	x->process = pick_process(params, x->rec, e);
	if (x->process)
		r = run(&w, params, e);
	if (!r)
		*result = result_of(&w, json_string_value(json_object_get(params, "expr")), since);
	why_operand_fini(&w.root);
	free(w.steps);
	free(w.queue);
	explain_fini(x);
	return r;
}
