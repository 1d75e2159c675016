/* SPDX-License-Identifier: MIT */
/*
 * flow_count.c: a block was freed because its reference count became 0. The statement that freed it does what it is
 * for. So the changes of the count are examined, back from there: a call that has dropped more references than it had
 * taken is the mistake, if earlier calls of the same function dropped as many as they took. A function that never did
 * so may be meant to, as one that is given its caller's reference; or the number may be no reference count. If there is
 * no such call, perhaps a reference was never taken, by the code that copied the pointer which was used after the free.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "chain/inspect.h"
#include "flow/flow_int.h"
#include "timetravel/cursor_int.h"

#define BACK_STEPS 100u /* instructions from the free back to the one that made the count 0 */
#define MADE_STEPS 8u /* instructions from a store back to the subtraction */
#define CHANGES 24u
#define SCOPES 3u /* calls around the last change that are examined */

/* A change of the count. */
struct change {
	struct timeline_point at;
	int64_t from, to;
	char function[128]; /* whose statement did it, passing over functions that were given the block for that */
	int line, level;
	uint32_t thread;
	unsigned in; /* a bit for each scope: the change was made in a call of the scope's function */
};

/* A call in which the count became 0. */
struct scope {
	struct flow_call call;
	unsigned n; /* the number of the last changes that were made in it */
	bool begun; /* the change at its beginning was reached */
};

struct counting {
	struct explain *x;
	const struct object *o;
	struct insn_loc l; /* of the count */
	struct change v[CHANGES]; /* the changes, the last one first */
	unsigned n;
	bool all; /* v has all of them; the first one is the initialisation */
	struct scope scopes[SCOPES];
	unsigned nscopes;
	uint64_t held; /* the word that kept the pointer, which is examined instead of the scopes; 0: none */
	struct kept {
		struct timeline_point at; /* in front of what copied it; pc 0: not found */
		struct flow_call call; /* the call that did so */
		uint64_t from; /* the word from which it was copied; 0: not known, or on a stack */
		unsigned n; /* the number of changes that came later */
		bool took; /* a call of the same function changed the count */
	} kept;
};

static bool read_count(struct explain *x, const struct insn_loc *l, int64_t *v)
{
	uint8_t bytes[8] = {0};

	if (!flow_read(x, NULL, l, bytes))
		return false;
	memcpy(v, bytes, sizeof(*v));
	if (l->len == 4)
		*v = (int32_t)*v;
	return true;
}

/* Does the instruction write 1 to 4 or 8 bytes of the block, as a number? */
static bool writes_one(struct explain *x, const struct object *o, const struct insn *i, struct insn_loc *l)
{
	struct insn_access v[INSN_ACCESSES];
	unsigned n = insn_accesses(i, v);
	int64_t now;

	for (unsigned k = 0; k < n; k++) {
		*l = (struct insn_loc){.where = INSN_IN_MEM, .addr = v[k].addr, .len = v[k].len};
		if (v[k].writes && !v[k].stack && (v[k].len == 4 || v[k].len == 8) && v[k].addr >= o->lo &&
		    v[k].addr + v[k].len <= o->lo + o->len && read_count(x, l, &now) && now == 1)
			return true;
	}
	return false;
}

/* Where a value that is written came from. */
struct value_source {
	bool known;
	uint64_t addr; /* address of the word of memory */
	bool derived; /* a constant was added on the way from there */
};

/* The program stands in front of a write of l, and does so again afterwards. */
static int find_source(struct explain *x, const struct insn_loc *l, struct value_source *out, struct err *e)
{
	struct insn_loc at = *l;
	struct timeline_point here;
	struct stop stop;

	*out = (struct value_source){.known = false};
	if (cursor_where(&x->t, &here, e))
		return -1;
	for (unsigned n = 0; n < MADE_STEPS && !out->known; n++) {
		struct user_regs_struct r;
		uint8_t code[INSN_BYTES];
		struct insn_origin o;
		struct err ignored;
		struct insn i;

		if ((n && (cursor_back_step(&x->t, x->t.in.seg.tid, &stop, &ignored) || stop.kind != STOP_STEP)) ||
		    explain_regs(x, x->t.in.seg.tid, &r, &ignored) || visibility_is_shim(&x->t.visibility, r.rip) ||
		    explain_insn(x, &r, code, &i, &ignored))
			break;
		insn_origin(&i, &at, &o);
		if (o.effect == INSN_KEEPS)
			continue;
		if (o.effect != INSN_COPIES && o.effect != INSN_DERIVES)
			break;
		out->derived |= o.effect == INSN_DERIVES;
		at = o.from[0];
		out->known = at.where == INSN_IN_MEM;
		out->addr = at.addr;
	}
	return cursor_goto_point(&x->t, &here, e);
}

/*
 * The program stands in front of a write of l, and does so again afterwards. Is the new value the old one less a
 * constant?
 */
static int is_subtraction(struct explain *x, const struct insn_loc *l, struct err *e)
{
	struct value_source s;

	if (find_source(x, l, &s, e))
		return -1;
	return s.known && s.derived && s.addr == l->addr;
}

/*
 * The program stands in front of a write of l, and does so again afterwards: the word of memory from which the value
 * was copied; 0: not known, or on a stack.
 */
static int copied_from(struct explain *x, const struct insn_loc *l, uint64_t *from, struct err *e)
{
	struct value_source s;

	if (find_source(x, l, &s, e))
		return -1;
	*from = s.known && !s.derived && !flow_is_stack(x, s.addr) ? s.addr : 0;
	return 0;
}

/*
 * Back from the free to the instruction that made a number in the block 0 by subtraction. 0: there; 1: none was
 * reached; -1.
 */
static int to_last_drop(struct explain *x, const struct object *o, struct insn_loc *l, struct err *e)
{
	pid_t tid = x->t.in.seg.tid;
	bool ignored;

	for (unsigned n = 0; n < BACK_STEPS && !explain_is_over(x); n++) {
		struct user_regs_struct r;
		uint8_t code[INSN_BYTES];
		struct stop stop;
		struct insn i;
		int got;

		if (cursor_back_step(&x->t, tid, &stop, e))
			return -1;
		if (stop.kind != STOP_STEP)
			return 1;
		if (explain_regs(x, tid, &r, e) || visibility_is_shim(&x->t.visibility, r.rip) ||
		    explain_insn(x, &r, code, &i, e))
			continue;
		if (insn_kind(&i) == INSN_RET) { /* over what was called */
			got = flow_last_write(x, r.rsp, 8, 0, &ignored, e);
			if (got)
				return got < 0 ? -1 : 1;
		} else if (writes_one(x, o, &i, l)) {
			got = is_subtraction(x, l, e);
			if (got)
				return got < 0 ? -1 : 0;
		}
	}
	return 1;
}

/* The program stands in front of a change of the count to `to`: adds it. */
static int add_change(struct counting *c, int64_t to, struct err *e)
{
	struct change *v = &c->v[c->n];
	struct inspect p = {0};
	int got = inspect_open(&p, c->x, e);

	if (!got) {
		*v = (struct change){.at = p.at, .to = to, .level = p.user, .thread = c->x->t.in.seg.thread};
		got = read_count(c->x, &c->l, &v->from) ? 0 : 1;
	}
	if (!got)
		got = flow_giver_level(&p, c->o->lo, &v->level, e);
	if (!got && v->level < (int)p.nframes) {
		struct flow_stack calls;

		snprintf(v->function, sizeof(v->function), "%s", inspect_function(&p, (size_t)v->level));
		v->line = p.frames[v->level].line;
		flow_calls(&p, &calls);
		if (!c->n++ && !c->held)
			for (unsigned k = 0; k < calls.n && c->nscopes < SCOPES; k++)
				if (!calls.calls[k].inlined && (int)k + p.user >= v->level)
					c->scopes[c->nscopes++] = (struct scope){.call = calls.calls[k]};
		if (c->kept.at.pc && c->n == c->kept.n + 1)
			c->kept.took |= flow_has_call(&calls, &c->kept.call);
		for (unsigned k = 0; k < c->nscopes; k++)
			for (unsigned j = 0; j < calls.n; j++)
				if (str_eq(calls.calls[j].function, c->scopes[k].call.function))
					v->in |= 1u << k;
	}
	inspect_close(&p);
	return got;
}

/* The program stands in front of what copied the pointer to where it was kept. */
static int read_kept(struct counting *c, struct err *e)
{
	const struct insn_loc l = {.where = INSN_IN_MEM, .addr = c->held, .len = 8};
	struct flow_stack calls = {.n = 0};
	struct inspect p = {0};

	if (cursor_where(&c->x->t, &c->kept.at, e) || copied_from(c->x, &l, &c->kept.from, e) ||
	    inspect_open(&p, c->x, e)) {
		inspect_close(&p);
		return -1;
	}
	flow_calls(&p, &calls);
	if (calls.n)
		c->kept.call = calls.calls[0];
	else
		c->kept.from = 0;
	c->kept.n = c->n;
	c->held = 0;
	inspect_close(&p);
	return 0;
}

/*
 * Reads the changes of the count, back from the last one, in front of which the program stands. 0; 1: it is no count;
 * -1.
 */
static int read_changes(struct counting *c, struct err *e)
{
	int got = add_change(c, 0, e);

	while (!got && c->n < CHANGES) {
		struct insn_loc l[3 + SCOPES];
		unsigned n = 1, which = 0, of[3 + SCOPES] = {0};
		int64_t to = c->v[c->n - 1].from;

		l[0] = c->l;
		for (unsigned k = 0; k < c->nscopes && n < 3; k++)
			if (!c->scopes[k].begun) {
				of[n] = k;
				l[n++] = (struct insn_loc){
					.where = INSN_IN_MEM, .addr = c->scopes[k].call.cfa - 8, .len = 8};
			}
		if (c->held)
			l[n++] = (struct insn_loc){.where = INSN_IN_MEM, .addr = c->held, .len = 8};
		l[n++] = (struct insn_loc){.where = INSN_IN_MEM, .addr = c->o->header, .len = 8};
		got = flow_last_write_of(c->x, l, n, &which, e);
		if (got)
			return got;
		if (c->held && which == n - 2) {
			if (read_kept(c, e))
				return -1;
			continue;
		}
		if (which == n - 1) { /* there is nothing before the block */
			c->all = true;
			return 0;
		}
		if (which) {
			c->scopes[of[which]].begun = true;
			c->scopes[of[which]].n = c->n;
			continue;
		}
		got = add_change(c, to, e);
		if (!got && c->n > 1) {
			struct change *v = &c->v[c->n - 1];
			int64_t by = v->to - v->from;

			if (by != 1 && by != -1) { /* it is set: what is older is not of this count */
				c->all = true;
				return 0;
			}
		}
	}
	return got;
}

static bool was_there_before(const struct counting *c, const struct change *v, unsigned from)
{
	for (unsigned k = from; k < c->n; k++)
		if (c->v[k].to < c->v[k].from && c->v[k].line == v->line && str_eq(c->v[k].function, v->function))
			return true;
	return false;
}

/* Have earlier calls of the function of scope `which` taken references to the object, and later dropped as many? */
static bool was_balanced(const struct counting *c, unsigned which)
{
	int has = 0;
	bool any = false;

	for (unsigned k = c->n - c->all; k-- > c->scopes[which].n;) { /* from the first one on */
		const struct change *v = &c->v[k];

		if (!(v->in >> which & 1))
			continue;
		has += v->to > v->from ? 1 : -1;
		if (has < 0 || v->thread != c->v[0].thread)
			return false;
		any = true;
	}
	return any && !has;
}

/*
 * For a call that has dropped more references than it has taken, the drop that was one too many: one that balanced
 * calls did not make; among these, one in a function that it has called; among these, the first. NULL: not known, as
 * where another thread has changed the count meanwhile. *took, *gave: what the call did.
 */
static const struct change *wrong_drop(const struct counting *c, const struct scope *s, unsigned *took, unsigned *gave)
{
	const struct change *best = NULL;
	unsigned suspects = 0;

	*took = *gave = 0;
	for (unsigned k = 0; k < s->n; k++) {
		const struct change *v = &c->v[k];
		bool own = str_eq(v->function, s->call.function);

		if (c->all && k == c->n - 1)
			return NULL; /* the call made the block */
		if (v->thread != c->v[0].thread)
			return NULL;
		*took += v->to > v->from;
		*gave += v->to < v->from;
		if (v->to > v->from || was_there_before(c, v, s->n))
			continue;
		suspects++;
		if (!best || !own || str_eq(best->function, s->call.function))
			best = v;
	}
	return *took && *gave > *took && suspects ? best : NULL;
}

/* p is opened at v; adds the step. */
static int tell_drop(struct counting *c, struct inspect *p, const struct change *v, const struct scope *s,
		     unsigned took, unsigned gave, struct err *e)
{
	cleanup_free char *name = NULL;
	bool exact;

	if (cursor_goto_point(&c->x->t, &v->at, e) || inspect_open(p, c->x, e))
		return -1;
	name = inspect_name(p, c->l.addr, c->l.len, &exact);
	inspect_look_at(p, v->level);
	inspect_step(
		p, STEP_CALL, NULL, NULL, NULL,
		"this made the count %s %lld, which was %lld: this call of %s has taken %u references and dropped %u",
		name, (long long)v->to, (long long)v->from, s->call.function, took, gave);
	return 1;
}

/*
 * No call has dropped more references than it had taken. Was the pointer that was used after the free copied from
 * another object, which still had it at the next change of the count, and did the call that copied it take no
 * reference? 1: p is opened there, and has the step; 0; -1.
 */
static int tell_kept(struct counting *c, struct inspect *p, uint64_t held, struct err *e)
{
	struct explain *x = c->x;
	cleanup_free char *name = NULL;
	struct flow_stack calls;
	struct err ignored;
	uint64_t then, now;
	int64_t count;
	bool exact;

	c->n = c->nscopes = 0;
	c->all = false;
	c->held = held;
	if (cursor_goto_point(&x->t, &c->v[0].at, e) || read_changes(c, e) < 0)
		return -1;
	if (!c->all || !c->kept.at.pc || !c->kept.from || !c->kept.n || c->kept.n + 1 >= c->n || c->kept.took)
		return 0;
	if (cursor_goto_point(&x->t, &c->v[c->kept.n - 1].at, e) || inspect_open(p, x, e))
		return -1;
	flow_calls(p, &calls);
	if (flow_has_call(&calls, &c->kept.call) ||
	    trace_read(cursor_memory(&x->t), c->kept.from, &then, sizeof(then), &ignored) ||
	    trace_read(cursor_memory(&x->t), held, &now, sizeof(now), &ignored) || then != now)
		return 0;
	inspect_close(p);
	if (cursor_goto_point(&x->t, &c->kept.at, e) || inspect_open(p, x, e))
		return -1;
	if (!read_count(x, &c->l, &count) || !json_is_string(json_object_get(p->location, "file")))
		return 0;
	name = inspect_name(p, held, sizeof(now), &exact);
	inspect_step(
		p, STEP_COPY, NULL, NULL, NULL,
		"this copied the pointer to %s, beside the one that is kept already, and %s took no reference: the "
		"count stayed %lld",
		name, c->kept.call.function, (long long)count);
	return 1;
}

int flow_tell_count(struct inspect *p, const struct object *o, uint64_t held, struct err *e)
{
	const struct timeline_point at = p->at;
	struct explain *x = p->x;
	struct counting c = {.x = x, .o = o};
	struct err ignored;
	bool dropped = false; /* some call has dropped more than it had taken */
	int got;

	if (!at.pc || !at.hits || !o->heap || !o->len)
		return 0;
	inspect_close(p);
	got = to_last_drop(x, o, &c.l, &ignored);
	if (!got)
		got = read_changes(&c, &ignored);
	if (x->end)
		explain_reopen(x);
	for (unsigned k = 0; got >= 0 && k < c.nscopes; k++) {
		unsigned took, gave;
		const struct change *v = c.scopes[k].begun ? wrong_drop(&c, &c.scopes[k], &took, &gave) : NULL;

		dropped |= v != NULL;
		if (v && !was_balanced(&c, k)) {
			explain_note(
				x, "the call of %s in which the count became 0 has taken %u references and dropped %u",
				c.scopes[k].call.function, took, gave);
			break;
		}
		if (v)
			return tell_drop(&c, p, v, &c.scopes[k], took, gave, e);
	}
	if (!got && held && c.all && !dropped) {
		got = tell_kept(&c, p, held, &ignored);
		if (got > 0)
			return 1;
		inspect_close(p);
		if (x->end)
			explain_reopen(x);
	}
	return cursor_goto_point(&x->t, &at, e) || inspect_open(p, x, e) ? -1 : 0;
}
