/* SPDX-License-Identifier: MIT */
/*
 * follow.c: from values to the statements that made them, the nearest first, so that a limit cuts off what is farthest
 * away: see why.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/maps.h"
#include "timetravel/cursor_int.h"
#include "why/why.h"

#define INNER_MAX 200 /* copies inside libc or the loader that lead from one statement of the program to another */

enum found { FOUND_STEP = 0, FOUND_END = 1 };

/* ---- steps ---- */

/* A step where the cursor stands; p is open there, and stays so. */
static struct why_step *step_here(struct why *w, struct inspect *p, struct why_operand *o)
{
	struct why_step *s = why_step_new();
	uint8_t was[8];
	struct err ignored;
	struct user_regs_struct r;
	bool exact = false;

	s->l = o->l;
	s->at = p->at;
	s->tid = w->x.t.in.seg.tid;
	s->thread = json_incref(p->thread);
	s->location = json_incref(p->location);
	s->backtrace = json_incref(p->backtrace);
	s->in_library = !p->at.pc || !visibility_is_certain(&w->x.t.visibility, p->at.pc);
	if (o->l.where == INSN_IN_MEM)
		s->name = inspect_name(p, o->l.addr, o->l.len, &exact);
	if (!exact && o->name) { /* where it was used, it has one */
		free(s->name);
		s->name = xstrdup(o->name);
		exact = o->exact && why_means(p, s->name, &o->l);
	}
	s->exact = exact;
	s->after = why_text(p, exact ? s->name : NULL, o->value, o->l.len, o->pointer);
	if (explain_regs(&w->x, s->tid, &r, &ignored) || o->l.where != INSN_IN_MEM)
		return s;
	s->before = flow_read(&w->x, &r, &o->l, was) ? why_text(p, exact ? s->name : NULL, was, o->l.len, o->pointer)
						     : xstrdup("not there");
	return s;
}

static void step_end(struct why_step *s, enum chain_end end, const char *text)
{
	why_set_end(&s->end, &s->end_text, end, "%s", text);
}

/* The recorder made the value, in its function `who`: input from outside the program, or the heap. p is closed. */
static int by_recorder(struct why *w, struct why_operand *o, struct why_step *s, const char *who, struct err *e)
{
	bool reg = o->l.where == INSN_IN_REG;
	char *input;

	if (flow_is_one_of(who, flow_freeing)) {
		s->words = str_fmt("%s freed the block: what was in it is gone since", who);
		step_end(s, END_FREED, "the memory was used after it was freed");
		return 0;
	}
	if (flow_is_one_of(who, flow_allocating)) {
		s->words = str_fmt(reg ? "%s returned it" : "%s made the block", who);
		step_end(s, reg ? END_INPUT : END_NEVER_WRITTEN,
			 reg			 ? "it is the address of a new block"
			 : str_eq(who, "calloc") ? "calloc filled the block with 0, and nothing was written since"
						 : "nothing was written to it since it was allocated");
		return 0;
	}
	s->words = str_fmt(reg ? "%s returned it" : "%s wrote it", who);
	input = why_input(w, who, s->at.event + 1, reg ? NULL : &o->l, e);
	if (!input)
		return -1;
	step_end(s, END_INPUT, input);
	free(input);
	return 0;
}

/* Adds the other bytes of a value of which the instruction made only `part`; the cursor stands in front of it. */
static void add_rest(struct why_step *s, struct inspect *p, const struct why_operand *o, const struct insn_loc *part)
{
	bool mem = o->l.where == INSN_IN_MEM;
	unsigned before = mem ? (unsigned)(part->addr - o->l.addr) : part->off - o->l.off,
		 after = o->l.len - before - part->len;

	for (unsigned k = 0; k < 2; k++) {
		unsigned at = k ? before + part->len : 0, len = k ? after : before;
		struct why_operand *rest;

		if (!len)
			continue;
		rest = why_operand_new(&o->l, s->tid);
		rest->at = s->at;
		rest->l.len = len;
		if (mem)
			rest->l.addr += at;
		else
			rest->l.off += at;
		memcpy(rest->value, o->value + at, len);
		rest->name = str_fmt("byte%s %u to %u of %s", len == 1 ? "" : "s", at, at + len - 1,
				     s->name ? s->name : "it");
		why_name(p, rest);
		why_step_add(s, rest);
	}
}

/* A function of libc has copied the value: goes on at the same place of its source. */
static int by_copy(struct why *w, struct why_operand *o, struct why_step *s, struct inspect *p, struct err *e)
{
	const char *who = inspect_function(p, 0);
	struct why_operand *from;
	struct flow_copy c;

	if (strstr(who, "memset") || strstr(who, "bzero")) {
		s->words = str_fmt("%s filled it", who);
		step_end(s, END_COMPUTED, "the statement fills memory with one value");
		return 0;
	}
	s->words = str_fmt("%s copied it", who);
	if (flow_copy_at(&w->x, &p->at, &c, e))
		return -1;
	from = why_operand_new(&o->l, s->tid);
	from->at = s->at;
	from->l.addr = c.source + (o->l.addr - c.dest);
	if (!c.dest || !c.source || o->l.addr < c.dest || !flow_read(&w->x, NULL, &from->l, from->value) ||
	    memcmp(from->value, o->value, o->l.len)) {
		step_end(s, END_UNKNOWN, "the function that copied it does not say from where");
		why_operand_fini(from);
		free(from);
		return 0;
	}
	why_name(p, from);
	why_step_add(s, from);
	return 0;
}

static const char *words_of(const struct insn_origin *o, const struct why_step *s)
{
	switch (o->effect) {
	case INSN_COPIES:
		return s->l.where == INSN_IN_MEM ? "set" : "taken";
	case INSN_SETS:
		return "set to a constant";
	case INSN_KEEPS:
		return "made in a way that is not understood";
	default:
		return "computed";
	}
}

static void tell_constant(struct why_step *s, const struct insn_origin *o)
{
	if (s->n || s->end)
		return;
	if (o->effect == INSN_COMPUTES && !o->n)
		step_end(s, END_UNKNOWN, "what the instruction made it of is not understood");
	else
		why_set_end(&s->end, &s->end_text, END_CONSTANT, "%s is a constant of the program", s->after);
}

/* The cursor stands where the recorder made o. */
static int recorded_here(struct why *w, struct why_operand *o, struct why_step **step, struct err *e)
{
	cleanup_free char *who = NULL;
	struct inspect p = {0};

	if (!inspect_open(&p, &w->x, e)) {
		*step = step_here(w, &p, o);
		who = xstrdup(inspect_function(&p, 0));
	}
	inspect_close(&p);
	return *step ? by_recorder(w, o, *step, who, e) : -1;
}

/* The cursor is in libc, in front of the instruction that wrote o. FOUND_END: no copying function wrote it. */
static int copied_here(struct why *w, struct why_operand *o, struct why_step **step, struct err *e)
{
	struct inspect p = {0};
	int got = -1;

	if (!inspect_open(&p, &w->x, e)) {
		got = FOUND_END;
		if (p.to_copy) {
			*step = step_here(w, &p, o);
			got = by_copy(w, o, *step, &p, e);
		}
	}
	inspect_close(&p);
	return got;
}

/* Fills in a step whose operands are known: the cursor goes back to it. */
static int tell_step(struct why *w, struct why_operand *o, struct why_step *s, const struct insn_origin *origin,
		     struct err *e)
{
	struct why_step *told = NULL;
	struct inspect p = {0};

	if (!cursor_goto_point(&w->x.t, &s->at, e) && !inspect_open(&p, &w->x, e)) {
		told = step_here(w, &p, o);
		told->v = s->v;
		told->n = s->n;
		told->cap = s->cap;
		*s = *told;
		free(told);
		s->words = xstrdup(words_of(origin, s));
		s->passes = s->l.where == INSN_IN_REG && origin->effect == INSN_COPIES;
		if (origin->what.len < o->l.len)
			add_rest(s, &p, o, &origin->what);
		for (size_t k = 0; k < s->n; k++)
			why_name(&p, s->v[k]);
		tell_constant(s, origin);
	}
	inspect_close(&p);
	return told ? 0 : -1;
}

/* The cursor stands in front of the instruction that made o. *step: the caller's. */
static int made_here(struct why *w, struct why_operand *o, struct why_step **step, struct err *e)
{
	struct explain *x = &w->x;
	uint8_t code[INSN_BYTES];
	struct user_regs_struct r;
	struct insn_origin origin;
	struct insn i;
	int got;

	if (explain_regs(x, x->t.in.seg.tid, &r, e))
		return -1;
	if (visibility_is_shim(&x->t.visibility, r.rip))
		return recorded_here(w, o, step, e);
	if (o->l.where == INSN_IN_MEM && !visibility_is_certain(&x->t.visibility, r.rip)) {
		got = copied_here(w, o, step, e);
		if (got != FOUND_END)
			return got;
	}
	*step = why_step_new();
	(*step)->tid = x->t.in.seg.tid;
	if (explain_insn(x, &r, code, &i, e) || cursor_where(&x->t, &(*step)->at, e))
		return -1;
	insn_origin(&i, &o->l, &origin);
	return why_statement(w, *step, &origin, e) || tell_step(w, o, *step, &origin, e) ? -1 : 0;
}

/* ---- going back to where it was made ---- */

static void never_written(struct why *w, struct why_operand *o)
{
	struct mapping m;

	if (!maps_find(cursor_memory(&w->x.t), o->l.addr, &m))
		m.path[0] = '\0';
	why_set_end(&o->end, &o->end_text, END_INITIAL, "%s",
		    str_eq(m.path, "[stack]") ? "it has had this value since the program was started"
		    : m.path[0] == '/'	      ? "it has had this value since its file was mapped: nothing wrote to it"
					      : "it has had this value from the beginning: nothing wrote to it");
}

/* Nothing was written since the memory's life began, or ended. */
static int at_birth(struct why *w, struct why_operand *o, struct why_step **step, struct err *e)
{
	if (o->function) {
		why_set_end(&o->end, &o->end_text, END_NEVER_WRITTEN,
			    "it was not set in this call of %s: it still has what lay there before", o->function);
		return FOUND_END;
	}
	return recorded_here(w, o, step, e);
}

static int of_memory(struct why *w, struct why_operand *o, struct why_step **step, struct err *e)
{
	bool is_birth;
	int r = flow_last_write(&w->x, o->l.addr, o->l.len, o->birth, &is_birth, e);

	if (r < 0)
		return -1;
	if (r == 1) {
		never_written(w, o);
		return FOUND_END;
	}
	if (r) {
		why_take_end(w, &o->end, &o->end_text);
		return FOUND_END;
	}
	return is_birth ? at_birth(w, o, step, e) : made_here(w, o, step, e);
}

/* The value existed when the thread, or what the recorder called, began. */
static int of_beginning(struct why *w, struct why_operand *o, struct why_step **step, struct err *e)
{
	struct flow f = {.x = &w->x, .tid = o->tid, .l = o->l, .pointer = o->pointer};
	struct why_operand *passed;
	struct inspect p = {0};
	int r;

	memcpy(f.value, o->value, sizeof(f.value));
	r = flow_to_creator(&f, e);
	if (r < 0)
		return -1;
	if (r) {
		why_set_end(&o->end, &o->end_text, END_INITIAL, "the function that was called here began with it");
		w->x.end = END_OPEN;
		return FOUND_END;
	}
	if (!inspect_open(&p, &w->x, e)) {
		*step = step_here(w, &p, o);
		(*step)->words = xstrdup("passed to the thread that is created here");
		passed = why_operand_new(&f.l, f.tid);
		passed->at = p.at;
		memcpy(passed->value, f.value, sizeof(f.value));
		why_name(&p, passed);
		why_step_add(*step, passed);
	}
	inspect_close(&p);
	return *step ? FOUND_STEP : -1;
}

static int of_register(struct why *w, struct why_operand *o, struct why_step **step, struct err *e)
{
	struct flow f = {.x = &w->x, .tid = o->tid, .l = o->l, .pointer = o->pointer};
	struct flow_setter s;
	int r;

	if (o->set)
		return made_here(w, o, step, e);
	if (o->begins)
		return of_beginning(w, o, step, e);
	memcpy(f.value, o->value, sizeof(f.value));
	flow_setter_begin(&s);
	do
		r = flow_to_setter(&f, &s, e);
	while (r == SETTER_CALL);
	if (r == SETTER_LOST)
		why_take_end(w, &o->end, &o->end_text);
	if (r < 0 || r == SETTER_LOST)
		return r < 0 ? -1 : FOUND_END;
	return r == SETTER_BEGIN ? of_beginning(w, o, step, e) : made_here(w, o, step, e);
}

static int go_and_find(struct why *w, struct why_operand *o, struct why_step **step, struct err *e)
{
	if (cursor_goto_point(&w->x.t, o->set ? &o->setter : &o->at, e))
		return -1;
	return o->l.where == INSN_IN_MEM ? of_memory(w, o, step, e) : of_register(w, o, step, e);
}

/* ---- the tree ---- */

/* The replay has failed, or took too long: what is known so far is shown. */
static int given_up(struct why *w, struct why_operand *o, struct err *e)
{
	if (!explain_may_go_on(&w->x, e))
		return -1;
	w->x.end = END_OPEN;
	why_set_end(&o->end, &o->end_text, e->kind == ERR_CANCELLED ? END_LIMIT : END_UNKNOWN, "%s",
		    e->kind == ERR_CANCELLED ? "the search has taken too long to go on" : e->text);
	return 0;
}

static void drop_step(struct why_step *s)
{
	struct why_operand o = {.from = s};

	if (s)
		why_operand_fini(&o);
}

static bool is_same_statement(const struct why_step *a, const struct why_step *b)
{
	return chain_same_place(a->location, b->location, true);
}

/*
 * Is the step inside libc or the loader, and does it only copy, for one statement of the program? Then it is left out:
 * the operand becomes the one that it copied.
 */
static bool is_inner(const struct why_operand *o, const struct why_step *above, const struct why_step *s)
{
	return above && s->in_library && above->in_library && s->n == 1 && !s->v[0]->end &&
	       is_same_statement(above, s) && !memcmp(s->v[0]->value, o->value, s->v[0]->l.len);
}

static void become(struct why_operand *o, struct why_step *s)
{
	struct why_operand *inner = s->v[0];
	unsigned depth = o->depth;

	s->n = 0;
	why_operand_fini(o);
	*o = *inner;
	o->depth = depth;
	free(inner);
	drop_step(s);
}

/* The step that made o; above: the one that used it, or NULL. */
static int find(struct why *w, struct why_operand *o, const struct why_step *above, struct err *e)
{
	for (unsigned n = 0; n < INNER_MAX; n++) {
		struct why_step *s = NULL;
		int r = go_and_find(w, o, &s, e);

		if (r < 0) {
			drop_step(s);
			return given_up(w, o, e);
		}
		if (r == FOUND_END)
			return 0;
		if (is_inner(o, above, s)) {
			become(o, s);
			continue;
		}
		o->again = why_know(w, &s);
		o->from = s;
		return 0;
	}
	why_set_end(&o->end, &o->end_text, END_LIMIT, "it was copied too often inside of a library");
	return 0;
}

static const struct why_step *step_above(const struct why *w, const struct why_operand *o)
{
	for (size_t k = 0; k < w->n; k++)
		for (size_t i = 0; i < w->steps[k]->n; i++)
			if (w->steps[k]->v[i] == o)
				return w->steps[k];
	return NULL;
}

static void queue_operands(struct why *w, const struct why_operand *o)
{
	if (!o->from || o->again)
		return;
	for (size_t k = 0; k < o->from->n; k++) {
		struct why_operand *next = o->from->v[k];

		next->depth = o->depth + !o->from->passes;
		if (!next->end)
			why_queue(w, next);
	}
}

int why_follow(struct why *w, struct err *e)
{
	struct why_operand *o;

	if (w->root.from) /* of what it reads */
		queue_operands(w, &w->root);
	else
		why_queue(w, &w->root);
	for (w->first = 0; w->first < w->queued; w->first++) {
		o = w->queue[w->first];
		if (o->depth >= w->depth)
			why_set_end(&o->end, &o->end_text, END_LIMIT, "it is not followed any further (--depth)");
		else if (w->n >= w->steps_max)
			why_set_end(&o->end, &o->end_text, END_LIMIT, "it is not followed: there are %u steps already",
				    w->steps_max);
		else if (explain_is_over(&w->x))
			why_set_end(&o->end, &o->end_text, END_LIMIT, "the search has taken too long to go on");
		else if (find(w, o, step_above(w, o), e))
			return -1;
		else
			queue_operands(w, o);
		op_progress(w->x.ctx, 0.35 + 0.6 * (double)(w->first + 1) / (double)(w->queued + 1),
			    "following the value back");
	}
	return 0;
}
