/* SPDX-License-Identifier: MIT */
/*
 * flow_birth.c: values that were never written in the life of their memory: since the block was allocated, or since the
 * variable's function was called.
 */
#include "flow/flow_int.h"

#include <string.h>

#include "base/maps.h"
#include "base/str.h"
#include "chain/inspect.h"
#include "rlog/replay.h"
#include "timetravel/cursor_int.h"

static bool is_on_stack(struct explain *x, uint64_t addr)
{
	struct mapping m;

	return shim_is_stack(addr) || (maps_find(cursor_memory(&x->t), addr, &m) && str_eq(m.path, "[stack]"));
}

static bool is_null(const uint8_t v[8])
{
	static const uint8_t null[8];

	return !memcmp(v, null, sizeof(null));
}

static bool is_null_pointer(const struct flow *f)
{
	return f->pointer && !f->number && f->l.len == 8 && flow_is_zero(f);
}

/* Is what the last step wrote a member of an object, or an element of an array? */
static bool is_of_object(const struct explain *x)
{
	const char *name = x->chain.n ? x->chain.v[x->chain.n - 1].expression : NULL;

	return name && strpbrk(name, ".[>") && *name != '*' && *name != '(';
}

void flow_note_kept(struct flow *f, bool copies, enum insn_effect effect, const uint8_t was[8])
{
	bool stack = is_on_stack(f->x, f->l.addr);

	if (f->trial || (stack && !is_of_object(f->x)))
		return;
	if (copies && effect == INSN_COPIES && is_null_pointer(f)) {
		f->x->kept = f->x->chain.n;
		if (!stack && !f->x->emptied && !is_null(was))
			f->x->emptied = f->x->chain.n;
	}
}

/*
 * The null pointer is one that the memory had from the beginning, or that a statement wrote over another null pointer.
 * An object that begins empty is no mistake: the chain ends where a pointer to something was replaced by that null
 * pointer.
 */
static bool was_emptied(struct flow *f)
{
	struct explain *x = f->x;

	if (f->trial || !x->emptied || !is_null_pointer(f))
		return false;
	explain_cut(x, x->emptied);
	explain_end(
		x, END_COMPUTED,
		"the statement put a null pointer, which was there from the beginning, in the place of another one");
	return true;
}

bool flow_begins_empty(struct flow *f)
{
	return f->last && is_null(f->was) && was_emptied(f);
}

/*
 * The object has had the null pointer since it was allocated, as by calloc, which is no mistake. If a statement copied
 * the pointer to another object, the chain ends at that statement.
 */
static bool was_kept(struct flow *f, const char *name)
{
	struct explain *x = f->x;

	if (f->trial || !x->kept || !is_null_pointer(f))
		return false;
	explain_cut(x, x->kept);
	explain_end(x, END_COMPUTED, "the statement copied a null pointer, which %s was since it was allocated", name);
	return true;
}

void flow_never_written(struct flow *f, const char *name)
{
	struct mapping m;

	if (was_emptied(f))
		return;

	if (!maps_find(cursor_memory(&f->x->t), f->l.addr, &m))
		m.path[0] = '\0';
	if (str_eq(m.path, "[stack]"))
		explain_end(f->x, END_INITIAL,
			    "%s has had this value since the program was started: an argument, or its environment",
			    name);
	else if (m.path[0] == '/' || m.path[0] == '\0')
		explain_end(f->x, END_INITIAL, "%s has had this value from the beginning: nothing ever wrote to it",
			    name);
	else
		explain_end(f->x, END_NEVER_WRITTEN, "%s was never written to", name);
}

int flow_at_birth(struct flow *f, const char *name, const char *function, const struct object *o, bool indexed,
		  struct err *e)
{
	struct explain *x = f->x;
	struct user_regs_struct r;
	struct inspect p = {0};
	int got = FLOW_ENDED;

	if (inspect_open(&p, x, e) || explain_regs(x, x->t.in.seg.tid, &r, e)) {
		got = -1;
	} else if (*function) {
		explain_end(x, END_NEVER_WRITTEN,
			    "%s was not set in this call of %s: it still has what lay there before", name, function);
	} else {
		const char *who = inspect_function(&p, 0);
		bool frees = flow_is_one_of(who, flow_freeing);

		if (!visibility_is_shim(&x->t.visibility, r.rip)) {
			inspect_step(&p, STEP_WRITE, name, NULL, NULL, "this wrote over malloc's own data of %s", name);
			explain_end(x, END_COMPUTED, "the heap was damaged");
		} else if (frees) {
			inspect_step(&p, STEP_FREE, name, NULL, NULL,
				     "the block with %s was freed here, and used afterwards", name);
			if (!f->trial && flow_tell_giver(&p, r.rdi, true, NULL, e) < 0)
				got = -1;
			explain_end(x, END_FREED, "the memory was used after it was freed");
		} else if (o->heap && o->len && f->l.addr + f->l.len > o->lo + o->len) {
			/* a function that was told how many bytes, as xmalloc is, knows no more of it than malloc */
			inspect_look_past(&p, o->len, false);
			inspect_step(&p, STEP_ALLOC, name, NULL, NULL,
				     "%s allocated the block of %llu bytes, past whose end the value was read", who,
				     (unsigned long long)o->len);
			explain_end(x, END_NEVER_WRITTEN, "the block is too small for what was read");
		} else if (str_eq(who, "calloc") && was_kept(f, name)) {
			;
		} else if (str_eq(who, "calloc") && indexed && flow_is_zero(f)) {
			/* an empty element is no mistake of the allocation */
			explain_end(x, END_UNKNOWN, "nothing was put into %s since calloc allocated it", name);
		} else {
			/* a function that was told how many bytes, as xmalloc is, knows no more of it than malloc */
			inspect_look_past(&p, o->heap ? o->len : 0, false);
			inspect_step(&p, STEP_ALLOC, name, NULL, NULL, "%s allocated the block with %s", who, name);
			explain_end(x, END_NEVER_WRITTEN, "%s was never set since then: it has what was there before",
				    name);
		}
	}
	inspect_close(&p);
	return got;
}
