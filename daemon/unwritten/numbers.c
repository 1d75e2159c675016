/* SPDX-License-Identifier: MIT */
/* numbers.c: what instructions on whole numbers make of bits that were never written. */
#include "unwritten/bits.h"

#include <string.h>

/* What is known of two operands: bits that were never written, and values. */
struct operands {
	uint64_t a, b; /* never written */
	uint64_t x, y; /* values, where they are known */
	bool known; /* as far as result_of needs them */
	bool told;
	unsigned bytes;
};

static uint64_t value_of(const struct flow_loc *l, uint64_t v)
{
	return v >> l->off * 8 & bits_ones(l->len);
}

static void get_operands(struct bits_state *s, struct operands *o)
{
	const struct insn_flow *f = s->f;
	const struct unwritten_done *d = s->d;
	uint64_t mask = bits_ones(f->dst.len);

	*o = (struct operands){
		.a = bits_get(s, &f->dst), .b = f->nsrc ? bits_get(s, &f->src[0]) : 0, .bytes = f->dst.len};
	o->known = o->told = d->has_values && (f->nsrc || f->has_imm);
	o->x = value_of(&f->dst, f->from_operand ? d->other : d->operand);
	if (f->nsrc)
		o->y = value_of(&f->src[0], f->from_operand ? d->operand : d->other);
	else
		o->y = bits_constant(s) & mask;
	if (!o->known && f->has_imm) { /* one operand is */
		o->known = f->op == FLOW_AND || f->op == FLOW_OR;
		o->x = f->op == FLOW_AND ? mask : 0;
	}
}

/*
 * For a sum or a difference: the bits that differ between the smallest and the largest possible result. Without values,
 * each bit that was never written may cause a carry.
 */
static uint64_t sum_of(const struct insn_flow *f, const struct operands *o)
{
	uint64_t never = o->a | o->b, x = o->x & ~o->a, y = o->y & ~o->b;

	if (f->op != FLOW_ADD || !o->told)
		return f->same && !f->subtracts ? o->a << 1 : bits_upwards(never);
	if (f->subtracts)
		return never | ((x - (o->y | o->b)) ^ ((o->x | o->a) - y));
	return f->same ? o->a << 1 : never | ((x + y) ^ ((o->x | o->a) + (o->y | o->b)));
}

/* The bits of the result that were never written. */
static uint64_t result_of(const struct insn_flow *f, const struct operands *o)
{
	switch ((enum flow_op)f->op) {
	case FLOW_AND: /* a 0 that was written decides */
		return o->known ? (o->a | o->x) & (o->b | o->y) & (o->a | o->b) : o->a & o->b;
	case FLOW_OR:
		return o->known ? (o->a | ~o->x) & (o->b | ~o->y) & (o->a | o->b) : o->a | o->b;
	case FLOW_XOR:
		return o->a | o->b;
	default:
		return sum_of(f, o);
	}
}

/* Is the result certainly not 0, whatever the unwritten bits are? */
static bool is_certainly_not_zero(const struct insn_flow *f, const struct operands *o)
{
	uint64_t never = o->a | o->b, mask = bits_ones(o->bytes);

	switch ((enum flow_op)f->op) {
	case FLOW_AND:
		return (o->x & ~o->a & o->y & ~o->b & mask) != 0;
	case FLOW_OR:
		return (((o->x & ~o->a) | (o->y & ~o->b)) & mask) != 0;
	case FLOW_XOR:
		return ((o->x ^ o->y) & ~never & mask) != 0;
	case FLOW_ADD:
		return f->subtracts && ((o->x ^ o->y) & ~never & mask) != 0;
	default:
		return false;
	}
}

/* Do bits that were written, above all unwritten ones, decide which operand is larger? */
static bool is_certain_order(const struct insn_flow *f, const struct operands *o)
{
	uint64_t never = (o->a | o->b) & bits_ones(o->bytes), above;

	if (!never || f->op != FLOW_ADD || !f->subtracts)
		return false;
	above = ~(UINT64_MAX >> __builtin_clzll(never));
	return ((o->x ^ o->y) & above & bits_ones(o->bytes)) != 0;
}

static uint16_t certain_flags(const struct insn_flow *f, const struct operands *o)
{
	uint16_t flags = 0;

	if (!o->told)
		return 0;
	if (is_certainly_not_zero(f, o))
		flags |= FLOW_ZF;
	if (is_certain_order(f, o))
		flags |= FLOW_ZF | FLOW_CF | FLOW_SF | FLOW_OF;
	return flags;
}

void bits_two_operands(struct bits_state *s)
{
	const struct insn_flow *f = s->f;
	struct operands o;
	uint64_t v;

	if (f->zero) {
		if (!f->keeps_dst)
			bits_put(s, &f->dst, f->op == FLOW_ADD_CARRY && bits_tested(s) ? UINT64_MAX : 0);
		bits_set_flags(s, 0);
		return;
	}
	get_operands(s, &o);
	v = result_of(f, &o);
	if (f->op == FLOW_ADD_CARRY && bits_tested(s))
		v = UINT64_MAX;
	if (!s->origin && bits_tested(s))
		s->origin = s->t->origin[INSN_FLAGS];
	if (!f->keeps_dst)
		bits_put(s, &f->dst, v);
	bits_flags_of(s, v, f->dst.len, f->op == FLOW_ADD || f->op == FLOW_ADD_CARRY);
	if (f->op == FLOW_ADD && !(v & bits_ones(o.bytes)) &&
	    o.a) /* a number that was added to itself: its highest bit */
		bits_set_carry(s);
	s->t->flags &= (uint16_t)~certain_flags(f, &o);
	bits_mark(s->t, INSN_FLAGS, s->t->flags != 0, s->t->origin[INSN_FLAGS]);
}

static uint64_t one_operand(const struct bits_state *s, uint64_t never)
{
	uint64_t is = value_of(&s->f->dst, s->d->operand), by = s->f->increments ? 1 : UINT64_MAX;
	uint64_t least = is & ~never, most = is | never;

	if (s->f->op != FLOW_NEGATE)
		return never;
	return s->d->has_values ? never | ((least + by) ^ (most + by)) : bits_upwards(never);
}

void bits_one_operand(struct bits_state *s)
{
	uint64_t never = bits_get(s, &s->f->dst), v = one_operand(s, never);

	bits_put(s, &s->f->dst, v);
	bits_flags_of(s, v, s->f->dst.len, true);
	/* adding 1 to a number that has a 0 bit does not give 0 */
	if (s->f->increments && s->d->has_values &&
	    (~value_of(&s->f->dst, s->d->operand) & ~never & bits_ones(s->f->dst.len))) {
		s->t->flags &= (uint16_t)~FLOW_ZF;
		bits_mark(s->t, INSN_FLAGS, s->t->flags != 0, s->t->origin[INSN_FLAGS]);
	}
}

static uint64_t shifted(const struct bits_state *s, uint64_t v, unsigned by, unsigned bytes)
{
	unsigned bits = bytes * 8, back = bits - by;

	if (!by)
		return v;
	switch ((enum flow_op)s->f->op) {
	case FLOW_SHIFT_LEFT:
		return v << by;
	case FLOW_SHIFT_RIGHT:
		return v >> by;
	case FLOW_SHIFT_ARITHMETIC:
		return (uint64_t)((int64_t)bits_signed_of(v, bytes) >> by);
	case FLOW_ROTATE_LEFT:
		return v << by | v >> back;
	default:
		return v >> by | v << back;
	}
}

/* If the count is not known, a partly written operand counts as written. */
void bits_shift(struct bits_state *s)
{
	const struct insn_flow *f = s->f;
	bool three = f->nsrc == 2 || (f->nsrc && f->has_imm); /* operands */
	const struct flow_loc *count = f->nsrc && !f->has_imm ? &f->src[three] : NULL;
	uint64_t v = bits_get(s, three ? &f->src[0] : &f->dst), all = bits_ones(f->dst.len);
	unsigned by = (unsigned)(count ? s->d->other : bits_constant(s)) & (f->dst.len == 8 ? 63 : 31);

	if (count && bits_get(s, count) & 0x3f)
		v = all;
	else if (count && (!s->d->has_values || by >= f->dst.len * 8u))
		v = v == all ? all : 0;
	else
		v = shifted(s, v, by, f->dst.len) & all;
	bits_put(s, &f->dst, v);
	bits_flags_of(s, v, f->dst.len, true);
}

void bits_double_shift(struct bits_state *s)
{
	const struct insn_flow *f = s->f;
	uint64_t v = bits_get(s, &f->dst), in = bits_get(s, &f->src[0]), all = bits_ones(f->dst.len);
	unsigned by = (unsigned)bits_constant(s), back = f->dst.len * 8u - by;

	if (f->nsrc == 2)
		v = (bits_get(s, &f->src[1]) & 0x3f) || (v | in) == all ? all : 0;
	else if (by)
		v = (f->left ? v << by | in >> back : v >> by | in << back) & all;
	bits_put(s, &f->dst, v);
	bits_flags_of(s, v, f->dst.len, true);
}

/* All results depend on all operands. */
void bits_mix(struct bits_state *s)
{
	uint64_t v = s->f->nsrc > 1 ? bits_get(s, &s->f->src[1]) : 0;

	v |= bits_get(s, &s->f->src[0]);
	bits_clear(s->t, s->f->writes);
	if (!v && s->f->dst.where != FLOW_MEMORY)
		return;
	bits_put(s, &s->f->dst, v ? UINT64_MAX : 0);
	for (unsigned k = 0; v && k < 16; k++)
		if (s->f->writes >> k & 1)
			bits_put(s, &(struct flow_loc){FLOW_REGISTER, (uint8_t)k, 0, s->f->dst.len}, UINT64_MAX);
	bits_set_flags(s, v ? FLOW_FLAGS : 0);
}

/* It is not known which bits are selected: a partly written operand counts as written. */
void bits_select(struct bits_state *s)
{
	uint64_t all = bits_ones(s->f->src[0].len), v = bits_get(s, &s->f->src[0]);

	v = (s->f->nsrc > 1 && bits_get(s, &s->f->src[1])) || v == all ? all : 0;
	bits_put(s, &s->f->dst, v);
	bits_flags_of(s, v, s->f->dst.len, true);
}

void bits_lowest(struct bits_state *s)
{
	uint64_t v = bits_upwards(bits_get(s, &s->f->src[0]));

	bits_put(s, &s->f->dst, v);
	bits_flags_of(s, v, s->f->dst.len, true);
}

/* The values are not reported: bits that one operand may clear count as written. */
void bits_and_not(struct bits_state *s)
{
	uint64_t v = bits_get(s, &s->f->src[0]) & bits_get(s, &s->f->src[1]);

	bits_put(s, &s->f->dst, v);
	bits_flags_of(s, v, s->f->dst.len, false);
}

void bits_compare_exchange(struct bits_state *s)
{
	const struct insn_flow *f = s->f;
	const struct flow_loc rax = {FLOW_REGISTER, INSN_RAX, 0, f->dst.len};
	uint64_t old = bits_get(s, &f->dst), new = bits_get(s, &f->src[0]), with = bits_get(s, &rax);

	bits_put(s, &rax, old | with);
	bits_put(s, &f->dst, old & new);
	bits_set_flags(s, old | with ? FLOW_FLAGS : 0);
}

void bits_multiply(struct bits_state *s)
{
	uint64_t v = bits_get(s, &s->f->src[0]) | (s->f->nsrc > 1 ? bits_get(s, &s->f->src[1]) : 0);

	bits_put(s, &s->f->dst, bits_upwards(v));
	bits_flags_of(s, bits_upwards(v), s->f->dst.len, true);
}

void bits_wide(struct bits_state *s)
{
	static const struct flow_loc rax = {FLOW_REGISTER, INSN_RAX, 0, 8}, rdx = {FLOW_REGISTER, INSN_RDX, 0, 8};
	uint64_t mask = bits_ones(s->f->dst.len), v = bits_get(s, &s->f->dst) | (bits_get(s, &rax) & mask);

	if (!v) {
		bits_clear(s->t, s->f->writes);
		return;
	}
	bits_put(s, &rax, mask);
	if (s->f->writes >> INSN_RDX & 1)
		bits_put(s, &rdx, mask);
	bits_set_flags(s, FLOW_FLAGS);
}

void bits_bit_test(struct bits_state *s)
{
	const struct insn_flow *f = s->f;
	uint64_t v = bits_get(s, &f->dst);
	bool never;

	if (f->has_imm)
		never = v >> bits_constant(s) & 1;
	else if (f->nsrc && bits_get(s, &f->src[0]) & (f->dst.len * 8u - 1))
		never = true;
	else
		never = s->d->has_values ? v >> (s->d->other & (f->dst.len * 8u - 1)) & 1 : v == bits_ones(f->dst.len);

	if (!f->keeps_dst && f->has_imm)
		bits_put(s, &f->dst, v & ~(1ull << bits_constant(s)));
	bits_set_flags(s, never ? FLOW_FLAGS : 0);
}

uint64_t bits_turned(uint64_t v, unsigned bytes)
{
	return __builtin_bswap64(v) >> (64 - bytes * 8);
}

void bits_address(struct bits_state *s)
{
	const struct flow_loc base = {FLOW_REGISTER, s->f->base, 0, 8}, index = {FLOW_REGISTER, s->f->index, 0, 8};
	uint64_t a = s->f->base == INSN_NO_REG ? 0 : bits_get(s, &base), b = 0;
	bool shifts = !s->f->imm && s->f->base == INSN_NO_REG;

	if (s->f->index != INSN_NO_REG)
		b = bits_get(s, &index) * (s->f->scale ? s->f->scale : 1);
	if (!s->f->imm && s->f->base == s->f->index && s->f->scale == 1) {
		a <<= 1;
		b = 0;
		shifts = true;
	}
	bits_put(s, &s->f->dst, shifts ? a | b : bits_upwards(a | b));
}

void bits_exchange(struct bits_state *s)
{
	const struct insn_flow *f = s->f;
	uint64_t a = bits_get(s, &f->dst), b = bits_get(s, &f->src[0]);

	bits_put(s, &f->dst, f->op == FLOW_EXCHANGE_ADD ? bits_upwards(a | b) : b);
	bits_put(s, &f->src[0], a);
	if (f->op == FLOW_EXCHANGE_ADD)
		bits_flags_of(s, bits_upwards(a | b), f->dst.len, true);
}

/* If it is not reported whether it moved, only bits that are unwritten in both are unwritten. */
void bits_move_if(struct bits_state *s)
{
	uint64_t a = bits_get(s, &s->f->dst), b = bits_get(s, &s->f->src[0]);

	if (bits_tested(s)) {
		s->origin = s->t->origin[INSN_FLAGS];
		bits_put(s, &s->f->dst, UINT64_MAX);
		return;
	}
	if (s->d->has_values)
		bits_put(s, &s->f->dst, s->d->operand & 1 ? b : a);
	else
		bits_put(s, &s->f->dst, a & b);
}

void bits_set_if(struct bits_state *s)
{
	if (bits_tested(s))
		s->origin = s->t->origin[INSN_FLAGS];
	bits_put(s, &s->f->dst, bits_tested(s));
}
