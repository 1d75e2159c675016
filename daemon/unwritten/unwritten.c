/* SPDX-License-Identifier: MIT */
/* unwritten.c: see unwritten.h: what each instruction does to registers. In all masks here a set bit was never written.
 */
#include "unwritten/bits.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "rlog/rlog.h"

#define FRAME_MAX (8u << 20) /* the stack pointer moves further than this only to another stack */
#define VECTORS (0xffffffffull << INSN_XMM0)
/* Registers that a call may change (System V ABI): all but rbx, rbp and r12 to r15. */
#define CALLER_SAVED ~(1ull << INSN_RBX | 1ull << INSN_RBP | 0xf000ull)

void unwritten_init(struct unwritten *u, void (*uses)(void *ctx, enum unwritten_use use, uint32_t origin), void *ctx)
{
	*u = (struct unwritten){
		.uses = uses, .ctx = ctx, .threads = xcalloc(RLOG_MAX_THREADS, sizeof(struct unwritten_thread *))};
	unwritten_memory_init(&u->memory);
}

void unwritten_fini(struct unwritten *u)
{
	if (!u->threads)
		return;
	for (unsigned k = 0; k < RLOG_MAX_THREADS; k++)
		free(u->threads[k]);
	free(u->threads);
	unwritten_memory_fini(&u->memory);
	*u = (struct unwritten){0};
}

struct unwritten_thread *unwritten_thread_new(struct unwritten *u, uint32_t thread)
{
	u->threads[thread] = xcalloc(1, sizeof(struct unwritten_thread));
	return u->threads[thread];
}

/* ---- the stack ---- */

static const struct flow_loc word = {FLOW_REGISTER, 0, 0, 8};

static void push(struct bits_state *s)
{
	uint64_t v = s->f->nsrc ? bits_get(s, &s->f->src[0]) : 0;

	unwritten_store(&s->u->memory, s->d->sp - 8, 8, (const uint8_t *)&v, s->origin);
}

static void pop_from(struct bits_state *s, const struct flow_loc *to, uint64_t at)
{
	uint64_t v = 0;

	unwritten_load(&s->u->memory, at, 8, (uint8_t *)&v, &s->origin);
	bits_put(s, to, v);
}

static void pop(struct bits_state *s)
{
	pop_from(s, &s->f->dst, s->d->sp);
}

static void leave(struct bits_state *s)
{
	struct flow_loc rbp = word;

	rbp.reg = INSN_RBP;
	pop_from(s, &rbp, s->d->next_sp - 8);
}

/* What the stack has grown by was never written; the red zone moves with it. */
static void grow_stack(struct bits_state *s, uint32_t frame)
{
	uint64_t sp = s->d->sp, next = s->d->next_sp, to = sp - UNWRITTEN_RED_ZONE;

	if (!next)
		return;
	if (s->f->op == FLOW_CALL || s->f->op == FLOW_RETURN)
		to = next; /* the red zone belongs to one function */
	else if (!s->f->lowers || next >= sp || sp - next > FRAME_MAX)
		return;
	unwritten_fill(&s->u->memory, next - UNWRITTEN_RED_ZONE, to - (next - UNWRITTEN_RED_ZONE), true, frame);
}

/* ---- string instructions ---- */

static void copy_string(struct bits_state *s)
{
	const struct unwritten_access *from = bits_accessed(s, false), *to = bits_accessed(s, true);

	if (from && to)
		unwritten_copy(&s->u->memory, to->addr, from->addr, to->len < from->len ? to->len : from->len);
	else if (to)
		unwritten_fill(&s->u->memory, to->addr, to->len, false, 0);
}

static void fill_string(struct bits_state *s)
{
	const struct unwritten_access *to = bits_accessed(s, true);

	/* of what is filled with, its lowest byte stands for all */
	if (to)
		unwritten_fill(&s->u->memory, to->addr, to->len, (s->t->reg[INSN_RAX] & 0xff) == 0xff,
			       s->t->origin[INSN_RAX]);
}

/* ---- uses ---- */

static void use(struct bits_state *s, enum unwritten_use what, unsigned reg)
{
	s->u->uses(s->u->ctx, what, s->t->origin[reg]);
	bits_clear(s->t, 1ull << reg);
}

static void see_address(struct bits_state *s, unsigned reg)
{
	if (reg < 16 && s->t->dirty >> reg & 1)
		use(s, UNWRITTEN_ADDRESS, reg);
}

static void see_target(struct bits_state *s)
{
	const struct flow_loc *l = &s->f->src[0];

	if (s->f->nsrc && bits_get(s, l))
		s->u->uses(s->u->ctx, UNWRITTEN_ADDRESS, s->origin);
}

static void see_branch(struct bits_state *s)
{
	if (s->f->nsrc && s->t->dirty >> s->f->src[0].reg & 1)
		use(s, UNWRITTEN_BRANCH, s->f->src[0].reg);
	else if (bits_tested(s))
		use(s, UNWRITTEN_BRANCH, INSN_FLAGS);
}

/* ---- all ---- */

static void unknown(struct bits_state *s)
{
	bits_clear(s->t, s->f->writes);
	for (unsigned k = 0; k < s->d->n; k++)
		if (s->d->access[k].writes)
			unwritten_fill(&s->u->memory, s->d->access[k].addr, s->d->access[k].len, false, 0);
}

static void nothing(struct bits_state *s)
{
	(void)s;
}

static void move(struct bits_state *s)
{
	bits_put(s, &s->f->dst, bits_get(s, &s->f->src[0]));
}

static void sign_extend(struct bits_state *s)
{
	bits_put(s, &s->f->dst, bits_signed_of(bits_get(s, &s->f->src[0]), s->f->src[0].len));
}

static void spread_sign(struct bits_state *s)
{
	uint64_t v = bits_get(s, &s->f->src[0]);

	bits_put(s, &s->f->dst, v >> (s->f->src[0].len * 8 - 1) & 1 ? UINT64_MAX : 0);
}

static void swap_bytes(struct bits_state *s)
{
	bits_put(s, &s->f->dst, bits_turned(bits_get(s, &s->f->dst), s->f->dst.len));
}

static void move_swapped(struct bits_state *s)
{
	bits_put(s, &s->f->dst, bits_turned(bits_get(s, &s->f->src[0]), s->f->dst.len));
}

/* Is there a bit that is set, was written, and has none in front of it that was not? */
static bool is_counted(const struct bits_state *s, uint64_t never)
{
	uint64_t mask = bits_ones(s->f->src[0].len), set = s->d->operand & ~never & mask;

	if (!s->d->has_values || !set)
		return false;
	if (s->f->op == FLOW_COUNT_LOW)
		return !(never & ((set & -set) - 1));
	return s->f->op == FLOW_COUNT_HIGH && never < (1ull << (63 - __builtin_clzll(set)));
}

static void count(struct bits_state *s)
{
	uint64_t v = bits_get(s, &s->f->src[0]);

	v = v && !is_counted(s, v) ? UINT64_MAX : 0;
	bits_put(s, &s->f->dst, v);
	bits_set_flags(s, v ? FLOW_FLAGS : 0);
}

static void call(struct bits_state *s)
{
	see_target(s);
	unwritten_fill(&s->u->memory, s->d->sp - 8, 8, false, 0);
}

static void clear_upper(struct bits_state *s)
{
	bits_clear_upper(s->t);
}

static void clear_vectors(struct bits_state *s)
{
	bits_clear(s->t, VECTORS);
}

static void (*const execute[FLOW_OPS])(struct bits_state *s) = {
	[FLOW_NOTHING] = nothing,
	[FLOW_UNKNOWN] = unknown,
	[FLOW_MOVE] = move,
	[FLOW_SIGN_EXTEND] = sign_extend,
	[FLOW_ADDRESS] = bits_address,
	[FLOW_AND... FLOW_ADD_CARRY] = bits_two_operands,
	[FLOW_NOT... FLOW_NEGATE] = bits_one_operand,
	[FLOW_SHIFT_LEFT... FLOW_ROTATE_RIGHT] = bits_shift,
	[FLOW_MULTIPLY] = bits_multiply,
	[FLOW_WIDE] = bits_wide,
	[FLOW_MIX] = bits_mix,
	[FLOW_SELECT] = bits_select,
	[FLOW_LOWEST] = bits_lowest,
	[FLOW_AND_NOT] = bits_and_not,
	[FLOW_DOUBLE_SHIFT] = bits_double_shift,
	[FLOW_COMPARE_EXCHANGE] = bits_compare_exchange,
	[FLOW_SWAP_BYTES] = swap_bytes,
	[FLOW_MOVE_SWAPPED] = move_swapped,
	[FLOW_BIT_TEST] = bits_bit_test,
	[FLOW_COUNT... FLOW_COUNT_HIGH] = count,
	[FLOW_SET_IF] = bits_set_if,
	[FLOW_MOVE_IF] = bits_move_if,
	[FLOW_EXCHANGE... FLOW_EXCHANGE_ADD] = bits_exchange,
	[FLOW_SPREAD_SIGN] = spread_sign,
	[FLOW_BRANCH] = see_branch,
	[FLOW_PUSH] = push,
	[FLOW_POP] = pop,
	[FLOW_LEAVE] = leave,
	[FLOW_CALL] = call,
	[FLOW_JUMP] = see_target,
	[FLOW_RETURN] = nothing,
	[FLOW_STRING_COPY] = copy_string,
	[FLOW_STRING_FILL] = fill_string,
	[FLOW_VECTOR_AND... FLOW_VECTOR_SHIFT_BY] = bits_two_vectors,
	[FLOW_VECTOR_EACH... FLOW_VECTOR_BROADCAST] = bits_one_vector,
	[FLOW_VECTOR_COMPARE] = bits_compare_vectors,
	[FLOW_VECTOR_TEST] = bits_test_vectors,
	[FLOW_VECTOR_UPPER] = clear_upper,
	[FLOW_VECTOR_ALL] = clear_vectors,
};

/* Can it do anything to bits that were never written? */
static bool concerns(struct bits_state *s)
{
	uint8_t bits[UNWRITTEN_BYTES];
	uint32_t origin;

	if (s->f->op == FLOW_PUSH || s->f->op == FLOW_POP || s->f->op == FLOW_CALL || s->f->op == FLOW_LEAVE ||
	    s->f->op == FLOW_STRING_COPY || s->f->op == FLOW_STRING_FILL || (s->f->touches & s->t->dirty))
		return true;
	for (unsigned k = 0; k < s->d->n; k++)
		if (s->d->access[k].len > sizeof(bits) ||
		    unwritten_load(&s->u->memory, s->d->access[k].addr, (unsigned)s->d->access[k].len, bits, &origin))
			return true;
	return false;
}

void unwritten_execute(struct unwritten *u, uint32_t thread, const struct unwritten_done *d, uint32_t frame)
{
	struct bits_state s = {.u = u, .t = unwritten_thread(u, thread), .d = d, .f = d->flow};

	if (s.f->moves_sp)
		grow_stack(&s, frame);
	if (!concerns(&s))
		return;
	if (s.f->op != FLOW_ADDRESS) {
		see_address(&s, s.f->base);
		see_address(&s, s.f->index);
	}
	execute[s.f->op](&s);
}

void unwritten_returned(struct unwritten *u, uint32_t thread)
{
	bits_clear(unwritten_thread(u, thread), CALLER_SAVED);
}

void unwritten_jumped(struct unwritten *u, uint64_t from, uint64_t to)
{
	if (from && to < from && from - to <= FRAME_MAX)
		unwritten_fill(&u->memory, to, from - to, false, 0);
}
