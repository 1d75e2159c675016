/* SPDX-License-Identifier: MIT */
/*
 * spin.c: see spin.h. The loop that an instruction is in: those instructions from which control may come back to it,
 * calls of functions of a few instructions included. It waits if
 *
 *  - it reads memory at an address that is the same in each round, and
 *  - it writes only to the stack, or to other such addresses, or takes a lock there by an atomic instruction;
 *
 * or if it has a `pause`, or if an inner loop that contains this instruction does so and computes nothing. A compiler
 * reads memory again, in a loop that does not write, only where it must: of volatile and atomic variables.
 *
 * A register varies if the loop computes with it, or loads it from where a varying one points, or from where it itself
 * points (as one that goes along a list does).
 */
#include "record/dbt/spin.h"
#include "record/core/memory.h"
#include "record/core/state.h"
#include "record/dbt/insn.h"
#include "record/dbt/spin_insn.h"

#include <string.h>

#define NODES 64u
#define INSN_MOST 16 /* bytes */
#define FRAMES 6u
#define NEAR_LOOP 192 /* a loop in the text goes back by at most this many bytes */
#define STACK_NEAR (1u << 20) /* bytes: of a frame */
#define CALL_BYTES 5u /* of a call of an address */
#define SHORT_LOOP 6u /* instructions */
#define ALL_REGS 0xffffu

struct node {
	const uint8_t *at;
	struct insn i;
	struct effect e;
	uint8_t frame, nnext, in_loop;
	uint8_t next[2];
};

/* A function that is called in the loop, and where it returns to. 0: the loop's own function. */
struct frame {
	const uint8_t *back;
	uint8_t up;
};

struct loop {
	struct node node[NODES];
	struct frame frame[FRAMES];
	unsigned n, nframes;
	const uint8_t *lo, *hi; /* only code in this range is read; NULL: any code */
	int frames_by_rbp; /* rbp is a frame pointer */
};

/* ---- the loop ---- */

static int find_node(const struct loop *l, const uint8_t *at, unsigned frame)
{
	for (unsigned k = 0; k < l->n; k++)
		if (l->node[k].at == at && l->node[k].frame == frame)
			return (int)k;
	return -1;
}

static int find_frame(struct loop *l, const uint8_t *back, unsigned up)
{
	for (unsigned k = 1; k < l->nframes; k++)
		if (l->frame[k].back == back && l->frame[k].up == up)
			return (int)k;
	if (l->nframes == FRAMES)
		return -1;
	l->frame[l->nframes] = (struct frame){back, (uint8_t)up};
	return (int)l->nframes++;
}

/* A jump that is never taken may lead anywhere, and what is taken for a return address may be anything: is it code? */
static int is_text(const uint8_t *at)
{
	return sys_mapped(at, INSN_MOST);
}

/* Adds an edge from node k to the code at `at`. If there are too many nodes, the way ends here. */
static void lead(struct loop *l, unsigned k, const uint8_t *at, unsigned frame)
{
	int to = find_node(l, at, frame);

	if (to < 0) {
		if (l->n == NODES || (l->lo && (at < l->lo || at >= l->hi)) || !is_text(at))
			return;
		to = (int)l->n++;
		l->node[to] = (struct node){.at = at, .frame = (uint8_t)frame};
		insn_decode(at, &l->node[to].i);
		spin_effect(at, &l->node[to].i, l->frames_by_rbp, &l->node[to].e);
	}
	l->node[k].next[l->node[k].nnext++] = (uint8_t)to;
}

static void follow(struct loop *l, unsigned k)
{
	const struct node *x = &l->node[k];
	const uint8_t *next = x->at + x->i.len, *target = (const uint8_t *)x->i.target;
	int frame;

	if (x->e.flags & UNKNOWN)
		return;
	switch (x->i.kind) {
	case INSN_PLAIN:
		lead(l, k, next, x->frame);
		break;
	case INSN_JCC:
		lead(l, k, target, x->frame);
		lead(l, k, next, x->frame);
		break;
	case INSN_JMP:
		lead(l, k, target, x->frame);
		break;
	case INSN_CALL:
		frame = l->lo ? -1 : find_frame(l, next, x->frame);
		if (frame > 0)
			lead(l, k, target, (unsigned)frame);
		break;
	case INSN_RET:
		if (x->frame)
			lead(l, k, l->frame[x->frame].back, l->frame[x->frame].up);
		break;
	default:
		break;
	}
}

/* Finds what may follow `at`, and the part of it from which control may come back there. 0: it is in no loop. */
static int find_loop(struct loop *l, const uint8_t *at)
{
	int more = 1, any = 0;

	l->n = 1;
	l->nframes = 1;
	l->node[0] = (struct node){.at = at};
	insn_decode(at, &l->node[0].i);
	spin_effect(at, &l->node[0].i, l->frames_by_rbp, &l->node[0].e);
	for (unsigned k = 0; k < l->n; k++)
		follow(l, k);
	while (more) {
		more = 0;
		for (unsigned k = 0; k < l->n; k++) {
			struct node *x = &l->node[k];

			for (unsigned j = 0; j < x->nnext && !x->in_loop; j++)
				if (x->next[j] == 0 || l->node[x->next[j]].in_loop)
					more = x->in_loop = 1;
			any |= x->in_loop;
		}
	}
	return any && l->node[0].in_loop;
}

#define EACH(l, x)                                                                                                     \
	for (struct node *x = (l)->node; x < (l)->node + (l)->n; x++)                                                  \
		if (x->in_loop)

struct sum {
	unsigned flags, computed, varying;
	int stack_varies; /* values that are kept on the stack vary */
	int stack_stores;
};

static int is_written(struct loop *l, uint64_t where)
{
	EACH(l, x)
	if ((x->e.flags & (WRITES | ATOMIC)) == WRITES && x->e.where == where)
		return 1;
	return 0;
}

static void spread_one(struct loop *l, const struct effect *e, struct sum *s)
{
	unsigned to = e->moved;

	if (e->flags & WRITES) {
		if ((e->flags & ON_STACK) && (!e->from || (e->from & s->varying)) && !(e->flags & ATOMIC))
			s->stack_varies = 1;
		if (!(e->flags & ATOMIC))
			return;
	}
	if (!(e->flags & READS))
		s->varying |= e->from & s->varying ? to : 0;
	else if (e->flags & ON_STACK)
		s->varying |= s->stack_varies ? to : 0;
	else if ((e->base & (s->varying | to)) || is_written(l, e->where))
		s->varying |= to;
}

/* A constant that is written to the stack counts as a varying value: it may be part of a computation there. */
static void spread(struct loop *l, struct sum *s)
{
	for (int round = 0; round < 4; round++)
		EACH(l, x)
	spread_one(l, &x->e, s);
	s->varying &= ~(1u << RSP);
}

/*
 * Does this instruction leave the same value in its register in each round? stays: registers that the loop leaves as
 * they are, or with the same value.
 */
static int is_same_each_round(struct loop *l, const struct effect *e, unsigned stays)
{
	if (e->flags & (READS | ATOMIC))
		return !(e->flags & (ATOMIC | ON_STACK)) && !(e->base & ~stays) && !is_written(l, e->where);
	return !(e->from & ~stays);
}

static unsigned moved_only_so(struct loop *l, unsigned reg, unsigned stays)
{
	EACH(l, x)
	if ((x->e.moved & reg) && !is_same_each_round(l, &x->e, stays))
		return 0;
	return reg;
}

/* The strict form: all registers vary, except those that are known not to. */
static void keep_certain(struct loop *l, struct sum *s)
{
	unsigned moved = 0, stays, before;

	EACH(l, x)
	moved |= x->e.moved;
	stays = ALL_REGS & ~(moved | s->computed);
	do {
		before = stays;
		for (unsigned r = 0; r < 16; r++)
			if (moved & ~s->computed & ~stays & 1u << r)
				stays |= moved_only_so(l, 1u << r, stays);
	} while (stays != before);
	s->varying = ALL_REGS & ~stays & ~(1u << RSP);
}

static struct sum add_up(struct loop *l, int strict)
{
	struct sum s = {0};

	EACH(l, x)
	{
		s.flags |= x->e.flags & (PAUSES | UNKNOWN | TESTS | ATOMIC);
		s.computed |= x->e.computed & ~(1u << RSP);
		s.stack_stores |= (x->e.flags & (WRITES | ON_STACK)) == (WRITES | ON_STACK);
	}
	s.varying = s.computed;
	if (strict)
		keep_certain(l, &s);
	else
		spread(l, &s);
	return s;
}

/* Is it memory that has the same address in each round, and that the loop itself does not change? */
static int looks(struct loop *l, const struct effect *e, const struct sum *s)
{
	if (!(e->flags & READS) || (e->base & s->varying))
		return 0;
	if (e->flags & ATOMIC)
		return 1;
	/* a compiler keeps values there for which it has no register */
	if ((e->flags & ON_STACK) && (s->computed || s->stack_stores))
		return 0;
	return !is_written(l, e->where);
}

static int any_looks(struct loop *l, const struct sum *s)
{
	EACH(l, x)
	if (looks(l, &x->e, s))
		return 1;
	return 0;
}

/* Does the loop read only such memory? */
static int only_looks(struct loop *l, const struct sum *s)
{
	EACH(l, x)
	if ((x->e.flags & READS) && !(x->e.flags & ON_STACK) && !looks(l, &x->e, s))
		return 0;
	return any_looks(l, s);
}

static int is_on_stack(const struct effect *e)
{
	return (e->flags & ON_STACK) || e->base == 1u << RBP;
}

/*
 * Does the loop write more than a waiting one may? strict: it may write to the stack only around an atomic instruction,
 * and elsewhere only by one.
 */
static int writes_too_much(struct loop *l, const struct sum *s, int strict)
{
	EACH(l, x)
	{
		if (!(x->e.flags & WRITES) || (x->e.flags & ATOMIC))
			continue;
		if (strict ? !is_on_stack(&x->e) || !(s->flags & ATOMIC)
			   : !(x->e.flags & ON_STACK) && (x->e.base & s->varying))
			return 1;
	}
	return 0;
}

static unsigned length(struct loop *l)
{
	unsigned n = 0;

	EACH(l, x)
	n++;
	return n;
}

static int waits(struct loop *l, const uint8_t *at, int strict)
{
	struct sum s;

	if (!find_loop(l, at))
		return 0;
	s = add_up(l, strict);
	if (s.flags & PAUSES)
		return 1;
	if ((s.flags & UNKNOWN) || writes_too_much(l, &s, strict))
		return 0;
	if (!strict)
		return any_looks(l, &s);
	/*
	 * a loop that computes, such as one that counts its rounds, or a long one, may be part of a larger loop that
	 * does more
	 */
	return (s.flags & TESTS) && ((s.flags & ATOMIC) || (!s.computed && length(l) <= SHORT_LOOP)) &&
	       only_looks(l, &s);
}

/*
 * Narrows the loop to the natural loop of the edge from `from` back to `to`: the nodes on ways from `to` to `from` that
 * do not pass `to` again. 0: the first node, where the thread is, is not in it.
 */
static int narrow(struct loop *l, unsigned from, unsigned to)
{
	uint64_t leads = 1ull << from | 1ull << to, before, all = 1ull << to;

	do {
		before = leads;
		for (unsigned k = 0; k < l->n; k++)
			for (unsigned j = 0; j < l->node[k].nnext; j++)
				if (l->node[k].next[j] != to && leads >> l->node[k].next[j] & 1)
					leads |= 1ull << k;
	} while (leads != before);
	do {
		before = all;
		for (unsigned k = 0; k < l->n; k++)
			for (unsigned j = 0; j < l->node[k].nnext && all >> k & 1; j++)
				all |= leads & 1ull << l->node[k].next[j];
	} while (all != before);
	for (unsigned k = 0; k < l->n; k++)
		l->node[k].in_loop = all >> k & 1;
	return l->node[0].in_loop;
}

/* Does this inner loop read such memory, compute nothing, and write only to the stack or by atomic instructions? */
static int inner_waits(struct loop *l)
{
	struct sum s = add_up(l, 0);

	EACH(l, x)
	if ((x->e.flags & (WRITES | ATOMIC)) == WRITES && !(x->e.flags & ON_STACK))
		return 0;
	return (s.flags & PAUSES) || (!(s.flags & UNKNOWN) && !s.computed && any_looks(l, &s));
}

/* Does the loop contain an inner one that waits? Any edge in the loop may be the one that goes back. */
static int waits_inside(struct loop *l)
{
	uint64_t whole = 0;

	for (unsigned k = 0; k < l->n; k++)
		whole |= (uint64_t)l->node[k].in_loop << k;
	for (unsigned k = 0; k < l->n; k++) {
		for (unsigned j = 0; j < l->node[k].nnext && whole >> k & 1; j++)
			if (whole >> l->node[k].next[j] & 1 && narrow(l, k, l->node[k].next[j]) && inner_waits(l))
				return 1;
	}
	return 0;
}

static int waits_at(struct loop *l, uint64_t at)
{
	return waits(l, (const uint8_t *)at, 0) || waits_inside(l);
}

/* Is `to` the return address of a call of the function in which `at` is? */
static int returns_from(uint64_t to, uint64_t at)
{
	const uint8_t *p = (const uint8_t *)(to - CALL_BYTES);
	int32_t off;

	if (to < CALL_BYTES || !is_text(p) || *p != 0xe8)
		return 0;
	memcpy(&off, p + 1, sizeof(off));
	return at - (to + (uint64_t)(int64_t)off) < NEAR_LOOP;
}

/* Does the caller of this function wait in a loop, if this slot of the stack has the return address? */
static int waits_above(struct loop *l, uint64_t slot, uint64_t at)
{
	uint64_t back;

	if (!sys_mapped((const void *)slot, sizeof(back)))
		return 0;
	memcpy(&back, (const void *)slot, sizeof(back));
	return returns_from(back, at) && waits_at(l, back);
}

int spin_here(const ucontext_t *uc)
{
	const greg_t *reg = uc->uc_mcontext.gregs;
	uint64_t at = (uint64_t)reg[REG_RIP], sp = (uint64_t)reg[REG_RSP], rbp = (uint64_t)reg[REG_RBP];
	struct loop l;

	l.lo = l.hi = 0;
	l.frames_by_rbp = rbp - sp < STACK_NEAR;
	if (waits_at(&l, at))
		return 1;
	/* or is this a function that a waiting loop calls? Its return address is where it was at the function's entry,
	 * or above one saved register, or above the caller's rbp */
	return waits_above(&l, sp, at) || waits_above(&l, sp + 8, at) ||
	       (l.frames_by_rbp && waits_above(&l, rbp + 8, at));
}

int spin_in_text(const uint8_t *from, const uint8_t *end)
{
	struct insn i;
	struct loop l;

	l.frames_by_rbp = 0;
	for (const uint8_t *p = from; p + 32 < end; p += i.len) {
		const uint8_t *target;

		insn_decode(p, &i);
		if (i.kind == INSN_STOP || !i.len) {
			i.len = 1;
			continue;
		}
		if (i.kind != INSN_JCC && i.kind != INSN_JMP)
			continue;
		target = (const uint8_t *)i.target;
		if (target > p || p - target > NEAR_LOOP || target < from)
			continue;
		l.lo = target;
		l.hi = p + i.len;
		if (waits(&l, target, 1))
			return 1;
	}
	return 0;
}
