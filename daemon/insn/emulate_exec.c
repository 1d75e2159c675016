/* SPDX-License-Identifier: MIT */
/* emulate_exec.c: instructions that move values, or jump. */
#include "insn/emulate_int.h"

#define RAX 0
#define RDX 2
#define RSP 4
#define RBP 5

/* ---- moves ---- */

enum emulate_end emulate_do_mov(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i)
{
	uint64_t v;

	EMULATE_TRY(emulate_get(m, c, &i->op[1], &v));
	return emulate_put(m, c, &i->op[0], v);
}

enum emulate_end emulate_do_movsx(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i)
{
	uint64_t v;

	EMULATE_TRY(emulate_get(m, c, &i->op[1], &v));
	return emulate_put(m, c, &i->op[0], emulate_extend(v, i->op[1].bits));
}

enum emulate_end emulate_do_lea(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i)
{
	return emulate_put(m, c, &i->op[0], emulate_address(c, &i->op[1]));
}

enum emulate_end emulate_do_xchg(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i)
{
	uint64_t a, b;

	if (i->op[0].kind != EMULATE_REG || i->op[1].kind != EMULATE_REG)
		return EMULATE_REFUSED;
	EMULATE_TRY(emulate_get(m, c, &i->op[0], &a));
	EMULATE_TRY(emulate_get(m, c, &i->op[1], &b));
	EMULATE_TRY(emulate_put(m, c, &i->op[0], b));
	return emulate_put(m, c, &i->op[1], a);
}

/* arg: bits of the source: al to ax, ax to eax, eax to rax */
enum emulate_end emulate_do_extend_rax(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i)
{
	struct emulate_operand to = {.kind = EMULATE_REG, .reg = RAX, .bits = (uint16_t)(i->arg * 2)};

	return emulate_put(m, c, &to, emulate_extend(c->reg[RAX], i->arg));
}

/* arg: bits of rax, of which the sign goes to rdx */
enum emulate_end emulate_do_sign_to_rdx(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i)
{
	struct emulate_operand to = {.kind = EMULATE_REG, .reg = RDX, .bits = (uint16_t)i->arg};

	return emulate_put(m, c, &to, c->reg[RAX] >> (i->arg - 1) & 1 ? ~0ull : 0);
}

enum emulate_end emulate_do_cmov(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i)
{
	uint64_t v, old;

	EMULATE_TRY(emulate_get(m, c, &i->op[1], &v));
	EMULATE_TRY(emulate_get(m, c, &i->op[0], &old));
	return emulate_put(m, c, &i->op[0], emulate_holds(c, i->arg) ? v : old);
}

enum emulate_end emulate_do_set(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i)
{
	return emulate_put(m, c, &i->op[0], emulate_holds(c, i->arg));
}

enum emulate_end emulate_do_nop(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i)
{
	(void)m;
	(void)c;
	(void)i;
	return EMULATE_DONE;
}

/* ---- the stack, jumps ---- */

static enum emulate_end push(struct emulate *m, struct emulate_cpu *c, uint64_t v)
{
	c->reg[RSP] -= 8;
	return emulate_store(m, c->reg[RSP], &v, 8) ? EMULATE_FAULT : EMULATE_DONE;
}

static enum emulate_end pop(struct emulate *m, struct emulate_cpu *c, uint64_t *v)
{
	if (emulate_load(m, c->reg[RSP], v, 8))
		return EMULATE_FAULT;
	c->reg[RSP] += 8;
	return EMULATE_DONE;
}

enum emulate_end emulate_do_push(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i)
{
	uint64_t v;

	if (i->op[0].bits == 16)
		return EMULATE_REFUSED;
	EMULATE_TRY(emulate_get(m, c, &i->op[0], &v));
	return push(m, c, v);
}

enum emulate_end emulate_do_pop(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i)
{
	uint64_t v;

	if (i->op[0].bits != 64 || i->op[0].kind != EMULATE_REG)
		return EMULATE_REFUSED;
	EMULATE_TRY(pop(m, c, &v));
	return emulate_put(m, c, &i->op[0], v);
}

enum emulate_end emulate_do_leave(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i)
{
	(void)i;
	c->reg[RSP] = c->reg[RBP];
	return pop(m, c, &c->reg[RBP]);
}

/* Where a call or jump leads. An immediate operand is the distance from the next instruction. */
static enum emulate_end target_of(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i, uint64_t *to)
{
	EMULATE_TRY(emulate_get(m, c, &i->op[0], to));
	*to += i->op[0].kind == EMULATE_IMM ? c->rip : 0;
	return EMULATE_DONE;
}

enum emulate_end emulate_do_jmp(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i)
{
	uint64_t to;

	EMULATE_TRY(target_of(m, c, i, &to));
	c->rip = to;
	return EMULATE_DONE;
}

enum emulate_end emulate_do_jcc(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i)
{
	return emulate_holds(c, i->arg) ? emulate_do_jmp(m, c, i) : EMULATE_DONE;
}

enum emulate_end emulate_do_call(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i)
{
	uint64_t to;

	EMULATE_TRY(target_of(m, c, i, &to));
	EMULATE_TRY(push(m, c, c->rip));
	c->rip = to;
	return EMULATE_DONE;
}

enum emulate_end emulate_do_ret(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i)
{
	EMULATE_TRY(pop(m, c, &c->rip));
	c->reg[RSP] += i->op[0].kind == EMULATE_IMM ? (uint64_t)i->op[0].value : 0;
	return EMULATE_DONE;
}

/* ---- vector registers ---- */

/*
 * Copies 16 bytes, or as many as the operand in memory or the general register has. arg: if both operands are vector
 * registers, this many bytes are copied, and the rest of the first one becomes 0 (or stays: arg + 1, for movsd).
 */
enum emulate_end emulate_do_vector_move(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i)
{
	const struct emulate_operand *to = &i->op[0], *from = &i->op[1];
	bool to_vector = to->kind == EMULATE_REG && to->reg >= EMULATE_XMM;
	bool of_vector = from->kind == EMULATE_REG && from->reg >= EMULATE_XMM;
	unsigned __int128 v = 0, mask;
	unsigned len = i->arg & ~1u;

	mask = len == 16 ? ~(unsigned __int128)0 : ((unsigned __int128)1 << len * 8) - 1;
	if (of_vector) {
		v = c->xmm[from->reg - EMULATE_XMM] & mask;
	} else if (from->kind == EMULATE_MEM && !from->fs) {
		if (emulate_load(m, emulate_address(c, from), &v, len))
			return EMULATE_FAULT;
	} else {
		uint64_t low;

		EMULATE_TRY(emulate_get(m, c, from, &low));
		v = low & mask;
	}
	if (to_vector) {
		unsigned __int128 *x = &c->xmm[to->reg - EMULATE_XMM];

		*x = of_vector && i->arg & 1 ? (*x & ~mask) | v : v;
		return EMULATE_DONE;
	}
	if (to->kind == EMULATE_MEM && !to->fs)
		return emulate_store(m, emulate_address(c, to), &v, len) ? EMULATE_FAULT : EMULATE_DONE;
	return emulate_put(m, c, to, (uint64_t)v);
}

/* A register combined with itself: it becomes 0. */
enum emulate_end emulate_do_vector_zero(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i)
{
	(void)m;
	if (i->op[0].kind != EMULATE_REG || i->op[1].kind != EMULATE_REG || i->op[0].reg != i->op[1].reg)
		return EMULATE_REFUSED;
	c->xmm[i->op[0].reg - EMULATE_XMM] = 0;
	return EMULATE_DONE;
}
