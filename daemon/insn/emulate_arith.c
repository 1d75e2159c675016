/* SPDX-License-Identifier: MIT */
/* emulate_arith.c: arithmetic, and the flags that it sets. */
#include "insn/emulate_int.h"

#define RAX 0
#define RDX 2

/* ---- flags ---- */

static void set_result(struct emulate_cpu *c, uint64_t r, unsigned bits)
{
	r &= emulate_mask(bits);
	c->zf = !r;
	c->sf = r >> (bits - 1) & 1;
	c->pf = !__builtin_parity((unsigned)(r & 0xff));
}

bool emulate_holds(const struct emulate_cpu *c, unsigned condition)
{
	bool v = false;

	switch (condition >> 1) { /* as the processor encodes them */
	case 0:
		v = c->of;
		break;
	case 1:
		v = c->cf;
		break;
	case 2:
		v = c->zf;
		break;
	case 3:
		v = c->cf || c->zf;
		break;
	case 4:
		v = c->sf;
		break;
	case 5:
		v = c->pf;
		break;
	case 6:
		v = c->sf != c->of;
		break;
	default:
		v = c->zf || c->sf != c->of;
		break;
	}
	return v != (condition & 1);
}

/* ---- arithmetic ---- */

static uint64_t compute(struct emulate_cpu *c, unsigned what, uint64_t a, uint64_t b, unsigned bits)
{
	uint64_t mask = emulate_mask(bits), r;

	a &= mask;
	b &= mask;
	c->cf = c->of = false;
	switch (what) {
	case EMULATE_ADD:
		r = (a + b) & mask;
		c->cf = r < a;
		c->of = ((a ^ r) & (b ^ r)) >> (bits - 1) & 1;
		break;
	case EMULATE_SUB:
	case EMULATE_CMP:
		r = (a - b) & mask;
		c->cf = a < b;
		c->of = ((a ^ b) & (a ^ r)) >> (bits - 1) & 1;
		break;
	case EMULATE_OR:
		r = a | b;
		break;
	case EMULATE_XOR:
		r = a ^ b;
		break;
	default:
		r = a & b;
		break;
	}
	set_result(c, r, bits);
	return r;
}

enum emulate_end emulate_do_arith(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i)
{
	uint64_t a, b, r;

	EMULATE_TRY(emulate_get(m, c, &i->op[0], &a));
	EMULATE_TRY(emulate_get(m, c, &i->op[1], &b));
	r = compute(c, i->arg, a, b, i->op[0].bits);
	return i->arg == EMULATE_CMP || i->arg == EMULATE_TEST ? EMULATE_DONE : emulate_put(m, c, &i->op[0], r);
}

/* inc and dec; they leave the carry as it is */
enum emulate_end emulate_do_by_one(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i)
{
	bool cf = c->cf;
	uint64_t a;

	EMULATE_TRY(emulate_get(m, c, &i->op[0], &a));
	a = compute(c, i->arg, a, 1, i->op[0].bits);
	c->cf = cf;
	return emulate_put(m, c, &i->op[0], a);
}

enum emulate_end emulate_do_neg(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i)
{
	uint64_t a;

	EMULATE_TRY(emulate_get(m, c, &i->op[0], &a));
	return emulate_put(m, c, &i->op[0], compute(c, EMULATE_SUB, 0, a, i->op[0].bits));
}

enum emulate_end emulate_do_not(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i)
{
	uint64_t a;

	EMULATE_TRY(emulate_get(m, c, &i->op[0], &a));
	return emulate_put(m, c, &i->op[0], ~a);
}

enum emulate_end emulate_do_shift(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i)
{
	unsigned bits = i->op[0].bits, n;
	uint64_t a, count, r;

	EMULATE_TRY(emulate_get(m, c, &i->op[0], &a));
	EMULATE_TRY(emulate_get(m, c, &i->op[1], &count));
	n = (unsigned)(count & (bits == 64 ? 63 : 31));
	if (!n) /* the flags stay unchanged, too; but the upper half of the register is cleared */
		return emulate_put(m, c, &i->op[0], a);
	if (n >= bits) /* only with 8 and 16 bits; compilers do not need the flags that it sets */
		return EMULATE_REFUSED;
	if (i->arg == EMULATE_SHL) {
		r = a << n;
		c->cf = a >> (bits - n) & 1;
		c->of = (r >> (bits - 1) & 1) != c->cf;
	} else {
		r = i->arg == EMULATE_SAR ? emulate_extend(a, bits) : a;
		c->cf = r >> (n - 1) & 1;
		r = i->arg == EMULATE_SAR ? (uint64_t)((int64_t)r >> n) : r >> n;
		c->of = i->arg == EMULATE_SHR && (a >> (bits - 1) & 1);
	}
	set_result(c, r, bits);
	return emulate_put(m, c, &i->op[0], r);
}

/* imul with two or three operands */
enum emulate_end emulate_do_imul(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i)
{
	bool three = i->op[2].kind != EMULATE_NONE;
	unsigned bits = i->op[0].bits;
	uint64_t a, b;
	__int128 r;

	if (i->op[1].kind == EMULATE_NONE) /* the form that writes two registers */
		return EMULATE_REFUSED;
	EMULATE_TRY(emulate_get(m, c, &i->op[three ? 1 : 0], &a));
	EMULATE_TRY(emulate_get(m, c, &i->op[three ? 2 : 1], &b));
	r = (__int128)(int64_t)emulate_extend(a, bits) * (int64_t)emulate_extend(b, bits);
	set_result(c, (uint64_t)r, bits);
	c->cf = c->of = r != (int64_t)emulate_extend((uint64_t)r, bits);
	return emulate_put(m, c, &i->op[0], (uint64_t)r);
}

/* arg: signed. Only for 32 and 64 bits. */
enum emulate_end emulate_do_div(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i)
{
	struct emulate_operand to = {.kind = EMULATE_REG, .reg = RAX, .bits = i->op[0].bits};
	unsigned bits = i->op[0].bits;
	unsigned __int128 n;
	uint64_t by;

	EMULATE_TRY(emulate_get(m, c, &i->op[0], &by));
	if (bits < 32 || !by)
		return EMULATE_REFUSED;
	n = (unsigned __int128)(c->reg[RDX] & emulate_mask(bits)) << bits | (c->reg[RAX] & emulate_mask(bits));
	if (i->arg) {
		__int128 a = bits == 64 ? (__int128)n : (__int128)(int64_t)n, b = (int64_t)emulate_extend(by, bits), q;

		if (b == -1) /* the division below might overflow, too */
			return EMULATE_REFUSED;
		q = a / b;
		if (q != (int64_t)emulate_extend((uint64_t)q, bits))
			return EMULATE_REFUSED;
		EMULATE_TRY(emulate_put(m, c, &to, (uint64_t)q));
		to.reg = RDX;
		return emulate_put(m, c, &to, (uint64_t)(a % b));
	}
	if (n / by > emulate_mask(bits))
		return EMULATE_REFUSED;
	EMULATE_TRY(emulate_put(m, c, &to, (uint64_t)(n / by)));
	to.reg = RDX;
	return emulate_put(m, c, &to, (uint64_t)(n % by));
}
