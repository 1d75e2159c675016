/* SPDX-License-Identifier: MIT */
/* bits.c: the bits of registers and operands. See bits.h. */
#include "unwritten/bits.h"

#include <string.h>

bool bits_any(const uint8_t *bits, unsigned len)
{
	uint8_t all = 0;

	for (unsigned k = 0; k < len; k++)
		all |= bits[k];
	return all != 0;
}

void bits_mark(struct unwritten_thread *t, unsigned reg, bool dirty, uint32_t origin)
{
	if (dirty) {
		t->dirty |= 1ull << reg;
		t->origin[reg] = origin;
	} else {
		t->dirty &= ~(1ull << reg);
	}
}

/* The bits of these registers count as written. */
void bits_clear(struct unwritten_thread *t, uint64_t regs)
{
	regs &= t->dirty;
	if (!regs)
		return;
	for (unsigned k = 0; k < 16; k++)
		if (regs >> k & 1)
			t->reg[k] = 0;
	for (unsigned k = 0; k < 32; k++)
		if (regs >> (INSN_XMM0 + k) & 1)
			memset(t->vector[k], 0, UNWRITTEN_BYTES);
	if (regs >> INSN_FLAGS & 1)
		t->flags = 0;
	t->dirty &= ~regs;
}

uint64_t bits_ones(unsigned bytes)
{
	return bytes >= 8 ? UINT64_MAX : (1ull << bytes * 8) - 1;
}

/* All bits from the lowest set one upwards. */
uint64_t bits_upwards(uint64_t v)
{
	return v | -v;
}

/* ---- operands ---- */

const struct unwritten_access *bits_accessed(const struct bits_state *s, bool writes)
{
	for (unsigned k = 0; k < s->d->n; k++)
		if (writes ? s->d->access[k].writes : s->d->access[k].reads)
			return &s->d->access[k];
	return NULL;
}

/* 0 for memory that is not followed (thread-local). */
void bits_get_bytes(struct bits_state *s, const struct flow_loc *l, uint8_t *bits)
{
	const struct unwritten_access *a;
	uint32_t origin = 0;
	uint64_t v;

	memset(bits, 0, UNWRITTEN_BYTES);
	switch ((enum flow_where)l->where) {
	case FLOW_REGISTER:
		v = s->t->reg[l->reg] >> l->off * 8;
		memcpy(bits, &v, l->len < 8 ? l->len : 8);
		origin = s->t->origin[l->reg];
		break;
	case FLOW_VECTOR:
		memcpy(bits, s->t->vector[l->reg], l->len);
		origin = s->t->origin[INSN_XMM0 + l->reg];
		break;
	case FLOW_MEMORY:
		a = bits_accessed(s, false);
		if (a)
			unwritten_load(&s->u->memory, a->addr, l->len, bits, &origin);
		break;
	case FLOW_NOWHERE:
	case FLOW_CONSTANT:
		return;
	}
	if (!s->origin && bits_any(bits, l->len))
		s->origin = origin;
}

uint64_t bits_get(struct bits_state *s, const struct flow_loc *l)
{
	uint8_t bits[UNWRITTEN_BYTES];
	uint64_t v;

	bits_get_bytes(s, l, bits);
	memcpy(&v, bits, sizeof(v));
	return v & bits_ones(l->len);
}

void bits_put_bytes(struct bits_state *s, const struct flow_loc *l, const uint8_t *bits)
{
	const struct unwritten_access *a;
	uint8_t *v;

	if (l->where == FLOW_MEMORY) {
		a = bits_accessed(s, true);
		if (a)
			unwritten_store(&s->u->memory, a->addr, l->len, bits, s->origin);
		return;
	}
	if (l->where != FLOW_VECTOR)
		return;
	v = s->t->vector[l->reg];
	memcpy(v, bits, l->len);
	if (s->f->zeroes)
		memset(v + l->len, 0, UNWRITTEN_BYTES - l->len);
	bits_mark(s->t, INSN_XMM0 + l->reg, bits_any(v, UNWRITTEN_BYTES), s->origin);
}

void bits_put(struct bits_state *s, const struct flow_loc *l, uint64_t v)
{
	uint8_t bits[UNWRITTEN_BYTES] = {0};
	uint64_t mask = bits_ones(l->len), *reg;

	v &= mask;
	if (l->where != FLOW_REGISTER) {
		memcpy(bits, &v, sizeof(v));
		bits_put_bytes(s, l, bits);
		return;
	}
	reg = &s->t->reg[l->reg];
	if (l->len >= 4)
		*reg = v; /* the upper half becomes 0 */
	else
		*reg = (*reg & ~(mask << l->off * 8)) | v << l->off * 8;
	bits_mark(s->t, l->reg, *reg != 0, v ? s->origin : s->t->origin[l->reg]);
}

void bits_set_flags(struct bits_state *s, uint16_t never)
{
	s->t->flags = (uint16_t)((s->t->flags & ~s->f->flags) | (never & s->f->flags));
	bits_mark(s->t, INSN_FLAGS, s->t->flags != 0, s->origin);
}

/* Sets the flags for a result with these bits; carry: carry and overflow depend on them, too. */
void bits_flags_of(struct bits_state *s, uint64_t v, unsigned bytes, bool carry)
{
	uint16_t never = 0;

	v &= bits_ones(bytes);
	never |= v ? FLOW_ZF : 0;
	never |= v >> (bytes * 8 - 1) & 1 ? FLOW_SF : 0;
	never |= v & 0xff ? FLOW_PF : 0;
	never |= v & 0xf && carry ? FLOW_AF : 0;
	never |= v && carry ? FLOW_CF | FLOW_OF : 0;
	bits_set_flags(s, never);
}

void bits_set_carry(struct bits_state *s)
{
	s->t->flags |= (FLOW_CF | FLOW_OF) & s->f->flags;
	bits_mark(s->t, INSN_FLAGS, s->t->flags != 0, s->origin);
}

bool bits_tested(const struct bits_state *s)
{
	return (s->t->flags & s->f->tested) != 0;
}

uint64_t bits_constant(const struct bits_state *s)
{
	return (uint64_t)s->f->imm;
}

uint64_t bits_signed_of(uint64_t v, unsigned bytes)
{
	unsigned up = 64 - bytes * 8;

	return (uint64_t)((int64_t)(v << up) >> up);
}
