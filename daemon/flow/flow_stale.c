/* SPDX-License-Identifier: MIT */
/*
 * flow_stale.c: pointers that outlive what they point to. Memory is read through a pointer. The words in front of a
 * block are written when the block is allocated or freed, and the return address of a frame when the function is
 * called. So the pointer is followed back; if such a write is met on the way, the pointer is older than what is in the
 * memory now.
 */
#include "flow/flow_int.h"

#include <string.h>

#include "base/str.h"
#include "replay/stack.h"
#include "rlog/heap.h"
#include "rlog/replay.h"
#include "timetravel/cursor_int.h"

#define POINTER_WORK 20000u /* to look for where a pointer came from */
#define STACK_BELOW (1ull << 20) /* bytes below a stack pointer that are the same stack's */

static bool read_header(struct explain *x, uint64_t header, struct heap_block *b)
{
	struct err ignored;

	return !trace_read(cursor_memory(&x->t), header, b, sizeof(*b), &ignored);
}

int flow_cross(struct flow *f, struct err *e)
{
	struct heap_block b;

	if (flow_is_heap(f->mark) && !(read_header(f->x, f->mark, &b) && b.magic == HEAP_USED))
		return 0; /* an allocation, perhaps the first, before which there was no memory */
	if (!flow_is_heap(f->mark) && !flow_is_call(f->x))
		return 0; /* the instruction overwrote the frame, and did not begin one */
	f->crossed = true;
	if (flow_is_heap(f->mark))
		return cursor_where(&f->x->t, &f->crossing, e);
	f->ended = true;
	return 0;
}

int flow_last_write_or_mark(struct flow *f, uint64_t addr, unsigned len, uint64_t birth, bool *is_birth, struct err *e)
{
	int r;

	if (!f->mark)
		return flow_last_write(f->x, addr, len, birth, is_birth, e);
	do {
		r = flow_last_write(f->x, addr, len, f->mark, is_birth, e);
		if (r)
			return r;
		if (*is_birth && flow_cross(f, e))
			return -1;
		if (f->crossed && !f->held)
			f->held = addr;
	} while (*is_birth && !f->ended);
	return 0;
}

/* The register that the instruction reads f->l through. false: none, or the frame's own. */
static bool pointer_of(struct flow *f, const struct user_regs_struct *r, struct insn_loc *l)
{
	struct insn_access a;

	if (!flow_access(f, r, true, &a))
		return false;
	*l = (struct insn_loc){.where = INSN_IN_REG, .reg = a.base, .len = 8};
	return true;
}

/*
 * Has the block been in use before? The cursor may stand anywhere afterwards. 0: yes; 1: no; 2: that is not known; -1.
 */
static int is_reused(struct explain *x, const struct object *o, struct err *e)
{
	struct heap_block b;
	bool ignored;
	int r;

	if (o->freed)
		return 0;
	r = flow_last_write(x, o->header, 8, 0, &ignored, e);
	if (r) {
		explain_reopen(x);
		return r < 0 ? -1 : r;
	}
	return read_header(x, o->header, &b) && b.magic == HEAP_FREE ? 0 : 1;
}

/*
 * Follows the pointer back beyond the write of the mark. 0: it is older; 1: it is not; 2: that took too long to find
 * out; -1. A block may have been freed several times since the pointer was made: the program stands at the first of
 * these frees. *held: the memory that had the pointer then, 0: none.
 */
static int to_mark(struct flow *f, const struct insn_loc *pointer, uint64_t mark, uint64_t *held, struct err *e)
{
	struct explain *x = f->x;
	size_t before = x->chain.n;
	uint64_t memory = x->memory;
	struct flow one = {.x = x, .tid = f->tid, .l = *pointer, .pointer = true, .trial = true, .mark = mark};
	uint64_t until;
	struct user_regs_struct r;
	bool limit;
	int got;

	*held = 0;
	if (explain_regs(x, f->tid, &r, e))
		return -1;
	if (!flow_read(x, &r, &one.l, one.value))
		return 1;
	until = explain_limit(x, POINTER_WORK);
	got = x->ways->flow_on(&one, e);
	limit = x->end == END_LIMIT || (x->end == END_UNKNOWN && x->t.work > x->until);
	x->until = until;
	if (got)
		return -1;
	explain_cut(x, before);
	explain_reopen(x);
	x->memory = memory;
	*held = one.held;
	if (!one.crossed)
		return limit ? 2 : 1;
	return one.crossing.pc && cursor_goto_point(&x->t, &one.crossing, e) ? -1 : 0;
}

/* A destructor is called by the statement that ends the object's life: the step is about that statement. */
static void look_at_caller_of_destructors(struct inspect *p)
{
	size_t level = (size_t)p->user;

	while (level < p->nframes && strstr(inspect_function(p, level), "::~"))
		level = stack_own_frame(p->frames, p->nframes, level + 1);
	if (level > (size_t)p->user && level < p->nframes)
		inspect_look_at(p, (int)level);
}

/* held: memory, not on a stack, that had the pointer until it was used; 0: none. */
static int tell_free(struct flow *f, const struct object *o, const char *name, uint64_t held, struct err *e)
{
	struct explain *x = f->x;
	struct inspect p = {0};
	int r;

	if (inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	look_at_caller_of_destructors(&p);
	inspect_step(&p, STEP_FREE, name, NULL, NULL, "the block with %s was freed here, by %s, and used afterwards%s",
		     name, inspect_function(&p, 0), o->freed ? "" : ", when it was another one's");
	r = f->trial ? 0 : flow_tell_count(&p, o, held, e);
	if (!r && !f->trial)
		r = flow_tell_giver(&p, o->lo, true, NULL, e);
	inspect_close(&p);
	explain_end(x, END_FREED, "the memory was used after it was freed");
	return r < 0 ? -1 : FLOW_ENDED;
}

static int stale_block(struct flow *f, const struct timeline_point *at, const struct object *o,
		       const struct insn_loc *pointer, const char *name, struct err *e)
{
	struct explain *x = f->x;
	uint64_t held;
	int r = is_reused(x, o, e);

	if (r < 0 || cursor_goto_point(&x->t, at, e))
		return -1;
	if (r == 1)
		return FLOW_ON;
	if (!r)
		r = to_mark(f, pointer, o->header, &held, e);
	if (!r)
		return tell_free(f, o, name, flow_is_stack(x, held) ? 0 : held, e);
	if (r == 2) {
		explain_end(x, END_LIMIT, "whether the pointer is older than the block is not known in time");
		return FLOW_ENDED;
	}
	return r < 0 || cursor_goto_point(&x->t, at, e) ? -1 : FLOW_ON;
}

/* The frame was left: the variable's address is the mistake, so the chain follows the pointer. */
static int turn_to_pointer(struct flow *f, const struct user_regs_struct *r, const struct insn_loc *pointer)
{
	explain_note(f->x, "0x%llx is the address of a variable of a function that had returned",
		     (unsigned long long)f->l.addr);
	f->l = *pointer;
	f->pointer = f->dangling = true;
	f->last = 0;
	f->derived = false;
	return flow_read(f->x, r, &f->l, f->value) ? FLOW_TURNED : FLOW_ON;
}

int flow_stale(struct flow *f, const struct timeline_point *at, const struct object *o, uint64_t ret, const char *name,
	       struct err *e)
{
	struct explain *x = f->x;
	struct user_regs_struct r;
	struct insn_loc pointer;
	uint64_t ignored;
	int got;

	if (f->dangling || !at->pc)
		return FLOW_ON;
	if (explain_regs(x, f->tid, &r, e))
		return -1;
	if (!pointer_of(f, &r, &pointer))
		return FLOW_ON;
	if (o->heap && f->l.addr >= o->lo)
		return stale_block(f, at, o, &pointer, name, e);
	if (!flow_is_stack(x, f->l.addr) || pointer.reg == INSN_RBP)
		return FLOW_ON;
	if (f->l.addr < r.rsp && r.rsp - f->l.addr < STACK_BELOW)
		return turn_to_pointer(f, &r, &pointer);
	if (!ret)
		return FLOW_ON;
	got = to_mark(f, &pointer, ret, &ignored, e);
	if (got < 0 || cursor_goto_point(&x->t, at, e))
		return -1;
	return got ? FLOW_ON : turn_to_pointer(f, &r, &pointer);
}
