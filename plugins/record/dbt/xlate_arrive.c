/* SPDX-License-Identifier: MIT */
/*
 * xlate_arrive.c: arrivals are counted in the translated code itself, in a nanosecond or two each. When an instruction
 * is translated, it is known whether it is in the range that counts. Whether an instruction outside the range was
 * executed before it is known only at run time: a byte notes that.
 */
#include "record/core/state.h"
#include "record/dbt/insn.h"
#include "record/dbt/xlate.h"
#include "record/dbt/xlate_emit.h"
#include "record/dbt/xlate_put.h"

#define SHORT_MAX 127

/* A short jump whose distance is set later: put_land. */
static uint8_t *put_short(struct cache *c, uint8_t op)
{
	const uint8_t b[2] = {op, 0};

	put(c, b, sizeof(b));
	return c->cur;
}
#define JUMP_IF_BELOW 0x72
#define JUMP_IF_EQUAL 0x74
#define JUMP 0xeb

static void put_land(struct xlate *x, struct cache *c, uint8_t *jump)
{
	x->failed |= c->cur - jump > SHORT_MAX;
	jump[-1] = (uint8_t)(c->cur - jump);
}

/*
 * Between keep_flags and restore_flags: increments the counter, and leaves if it has reached the limit. Both are fields
 * of struct xlate.
 */
static void put_count(struct xlate *x, struct cache *c, uint64_t pc, uint32_t counter, uint32_t limit)
{
	uint8_t *jump, *nth;

	put_gs(c, 0xff, 0, counter); /* incq */
	put_gs(c, LOAD, RAX, counter);
	put_gs(c, COMPARE, RAX, limit);
	nth = put_short(c, JUMP_IF_EQUAL);
	jump = put_short(c, JUMP);
	put_land(x, c, nth);
	restore_flags(c);
	emit_exit(x, c, SITE_ARRIVED, pc);
	x->sites[x->nsites - 1].code = c->cur;
	keep_flags(c);
	put_land(x, c, jump);
}

static void put_outside(struct cache *c, uint8_t value)
{
	BYTES(c, 0x65, 0xc6, 0x04, 0x25); /* movb $, %gs: */
	put32(c, GS(outside));
	put(c, &value, 1);
}

/* Before an instruction outside the range, or a call or return inside. */
static void go_outside(struct xlate *x, struct cache *c)
{
	uint8_t *below;

	if (!x->sp) {
		put_outside(c, 1);
		return;
	}
	keep_flags(c);
	put_gs(c, COMPARE, RSP, GS(sp));
	below = put_short(c, JUMP_IF_BELOW);
	put_outside(c, 1);
	put_land(x, c, below);
	restore_flags(c);
}

/* Before an instruction inside the range. */
static void come_inside(struct xlate *x, struct cache *c, uint64_t pc)
{
	uint8_t *below, *not ;

	keep_flags(c);
	put_gs(c, COMPARE, RSP, GS(sp));
	below = put_short(c, JUMP_IF_BELOW);
	BYTES(c, 0x65, 0x80, 0x3c, 0x25); /* cmpb $0, %gs: */
	put32(c, GS(outside));
	BYTES(c, 0);
	not = put_short(c, JUMP_IF_EQUAL);
	put_outside(c, 0);
	put_count(x, c, pc, GS(arrivals), GS(nth));
	put_land(x, c, below);
	put_land(x, c, not );
	restore_flags(c);
}

static int is_call(const struct insn *i)
{
	return i->kind == INSN_CALL || i->kind == INSN_CALL_BY || i->kind == INSN_RET;
}

static void put_range(struct xlate *x, struct cache *c, uint64_t pc, const struct insn *i, int inside,
		      enum emit_noted noted)
{
	if (inside && noted == EMIT_OUTSIDE)
		put_outside(c, 1);
	if (inside && noted != EMIT_INSIDE)
		come_inside(x, c, pc);
	/* the stack pointer may have risen meanwhile, so the last instruction in the block is examined as well */
	if (inside ? is_call(i) && !x->sp : noted != EMIT_OUTSIDE || (x->sp && i->kind != INSN_PLAIN))
		go_outside(x, c);
}

void emit_arrivals(struct xlate *x, struct cache *c, uint64_t pc, const struct insn *i, enum emit_noted *noted)
{
	const struct xlate_count *plan = x->count;
	int inside;

	if (!plan)
		return;
	inside = pc >= plan->lo && pc < plan->hi;
	for (unsigned k = 0; k < plan->n; k++) {
		if (plan->at[k] != pc)
			continue;
		keep_flags(c);
		put_count(x, c, pc, GS(arrivals), GS(nth));
		restore_flags(c);
	}
	if (plan->branches && i->kind != INSN_PLAIN && i->kind != INSN_STOP) {
		keep_flags(c);
		put_count(x, c, pc, GS(branches), GS(nth_branch));
		restore_flags(c);
	}
	if (plan->lo < plan->hi)
		put_range(x, c, pc, i, inside, *noted);
	*noted = inside ? EMIT_INSIDE : EMIT_OUTSIDE;
}
