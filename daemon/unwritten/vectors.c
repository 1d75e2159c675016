/* SPDX-License-Identifier: MIT */
/* vectors.c: what instructions on vectors make of bytes that were never written. */
#include "unwritten/bits.h"

#include <string.h>

static void lanes(struct bits_state *s, unsigned from, unsigned to, const uint8_t *a, const uint8_t *b, uint8_t *out)
{
	unsigned e = s->f->element ? s->f->element : 1;

	for (unsigned k = from; k < to; k += e)
		memset(out + k, bits_any(a + k, e) || bits_any(b + k, e) ? 0xff : 0, e);
}

/* Alternates the elements of both, from the low or the high halves of each 16 bytes. */
static void interleave(const struct insn_flow *f, const uint8_t *a, const uint8_t *b, uint8_t *out)
{
	unsigned e = f->element, half = f->op == FLOW_VECTOR_HIGH ? 8 : 0;

	for (unsigned lane = 0; lane < f->dst.len; lane += 16)
		for (unsigned k = 0; k < 8; k += e) {
			memcpy(out + lane + 2 * k, a + lane + half + k, e);
			memcpy(out + lane + 2 * k + e, b + lane + half + k, e);
		}
}

/* For each 16 bytes: first a's elements, then b's. */
static void pack(const struct insn_flow *f, const uint8_t *a, const uint8_t *b, uint8_t *out)
{
	unsigned e = f->element;

	for (unsigned lane = 0; lane < f->dst.len; lane += 16)
		for (unsigned k = 0; k < 8; k += e) {
			memset(out + lane + k, bits_any(a + lane + 2 * k, 2 * e) ? 0xff : 0, e);
			memset(out + lane + 8 + k, bits_any(b + lane + 2 * k, 2 * e) ? 0xff : 0, e);
		}
}

/* For each 16 bytes: the bytes of `low` from byte `by` on, followed by those of `high`. */
static void align(const uint8_t *low, const uint8_t *high, uint64_t by, unsigned len, uint8_t *out)
{
	uint8_t both[48] = {0};

	for (unsigned lane = 0; lane < len; lane += 16) {
		memcpy(both, low + lane, 16);
		memcpy(both + 16, high + lane, 16);
		memcpy(out + lane, both + (by < 32 ? by : 32), 16);
	}
}

static void shift_by(const struct insn_flow *f, const uint8_t *a, const uint8_t *count, uint8_t *out)
{
	bool all = bits_any(count, 8);

	for (unsigned k = 0; k < f->dst.len; k += f->element)
		memset(out + k, all || bits_any(a + k, f->element) ? 0xff : 0, f->element);
}

/* In each 16 bytes, all results depend on all operands. */
static void mix(const struct insn_flow *f, const uint8_t *a, const uint8_t *b, uint8_t *out)
{
	for (unsigned lane = 0; lane < f->dst.len; lane += 16)
		memset(out + lane, bits_any(a + lane, 16) || bits_any(b + lane, 16) ? 0xff : 0, 16);
}

static void low_lanes(const struct insn_flow *f, const uint8_t *a, const uint8_t *b, uint8_t *out)
{
	unsigned e = f->element;

	for (unsigned k = 0; k < f->dst.len; k += e)
		memset(out + k, bits_any(a + k, e / 2) || bits_any(b + k, e / 2) ? 0xff : 0, e);
}

/* The former contents of dst count, too. */
static void add_dst(struct bits_state *s, uint8_t *out)
{
	const struct insn_flow *f = s->f;
	uint8_t dst[UNWRITTEN_BYTES];
	unsigned to = f->op == FLOW_VECTOR_SCALAR ? f->element : f->dst.len;

	bits_get_bytes(s, &f->dst, dst);
	if (f->op == FLOW_VECTOR_SCALAR)
		memcpy(out + to, dst + to, f->dst.len - to);
	lanes(s, 0, to, out, dst, out);
}

/* In an AND, a 0 that was written decides; in an OR, a 1. An unknown value decides nothing. */
static void by_bits(const struct bits_state *s, const uint8_t *a, const uint8_t *b, uint8_t *out)
{
	const uint8_t *x = s->d->vector[0], *y = s->d->vector[1];
	bool and = s->f->op == FLOW_VECTOR_AND;
	uint8_t first = and == s->f->inverts ? 0xff : 0, second = and? 0 : 0xff;

	for (unsigned k = 0; k < s->f->dst.len; k++)
		if (x && y)
			out[k] = (a[k] | (x[k] ^ first)) & (b[k] | (y[k] ^ second)) & (a[k] | b[k]);
		else
			out[k] = and? a[k] & b[k] : a[k] | b[k];
}

/* It is not known which bytes are taken: they count as written. */
static void by_bytes(const struct bits_state *s, const uint8_t *a, const uint8_t *b, uint8_t *out)
{
	const uint8_t *from = s->d->vector[1];

	for (unsigned k = 0; k < s->f->dst.len; k++)
		if (b[k])
			out[k] = 0xff;
		else
			out[k] = from && !(from[k] & 0x80) ? a[(k & ~15u) | (from[k] & 15)] : 0;
}

void bits_two_vectors(struct bits_state *s)
{
	const struct insn_flow *f = s->f;
	uint8_t a[UNWRITTEN_BYTES], b[UNWRITTEN_BYTES], out[UNWRITTEN_BYTES] = {0};

	bits_get_bytes(s, &f->src[0], a);
	bits_get_bytes(s, &f->src[1], b);
	memcpy(out, a, sizeof(out));
	switch ((enum flow_op)f->op) {
	case FLOW_VECTOR_AND:
	case FLOW_VECTOR_OR:
		by_bits(s, a, b, out);
		break;
	case FLOW_VECTOR_BYTES:
		by_bytes(s, a, b, out);
		break;
	case FLOW_VECTOR_LANES:
		lanes(s, 0, f->dst.len, a, b, out);
		break;
	case FLOW_VECTOR_SCALAR:
		lanes(s, 0, f->element, a, b, out);
		break;
	case FLOW_VECTOR_INSERT:
		memcpy(out + (bits_constant(s) * f->element) % f->dst.len, b, f->element);
		break;
	case FLOW_VECTOR_MOVE_HIGH:
		memcpy(out, b + 8, 8);
		break;
	case FLOW_VECTOR_PACK:
		pack(f, a, b, out);
		break;
	case FLOW_VECTOR_ALIGN:
		align(b, a, bits_constant(s) & 0xff, f->dst.len, out);
		break;
	case FLOW_VECTOR_SHIFT_BY:
		shift_by(f, a, b, out);
		break;
	case FLOW_VECTOR_LOW_LANES:
		low_lanes(f, a, b, out);
		break;
	case FLOW_VECTOR_MIX:
		mix(f, a, b, out);
		break;
	case FLOW_VECTOR_PERMUTE:
		bits_permute(s, a, b, out);
		break;
	default:
		interleave(f, a, b, out);
	}
	if (f->adds_dst)
		add_dst(s, out);
	if (f->zero)
		memset(out, 0, sizeof(out));
	bits_put_bytes(s, &f->dst, out);
}

static void shuffle(const struct bits_state *s, const uint8_t *a, uint8_t *out)
{
	for (unsigned k = 0; k < s->f->dst.len; k += 4)
		memcpy(out + k, a + (k & ~15u) + (bits_constant(s) >> (k / 4 % 4) * 2 & 3) * 4, 4);
}

static void shift(const struct bits_state *s, const uint8_t *a, uint8_t *out)
{
	unsigned e = s->f->element, bits = e * 8, by = (unsigned)(bits_constant(s) & 0xff);

	for (unsigned k = 0; k < s->f->dst.len; k += e) {
		uint64_t v = 0;

		memcpy(&v, a + k, e);
		if (s->f->op == FLOW_VECTOR_SHIFT_ARITHMETIC)
			v = (uint64_t)((int64_t)bits_signed_of(v, e) >> (by < bits ? by : bits - 1));
		else if (by >= bits)
			v = 0;
		else
			v = s->f->op == FLOW_VECTOR_SHIFT_LEFT ? v << by : v >> by;
		memcpy(out + k, &v, e);
	}
}

static void extend(const struct insn_flow *f, const uint8_t *a, uint8_t *out)
{
	for (unsigned k = 0; k * f->wide < f->dst.len; k++)
		if (bits_any(a + k * f->element, f->element))
			memset(out + k * f->wide, 0xff, f->wide);
}

static uint64_t signs(const struct insn_flow *f, const uint8_t *a)
{
	uint64_t v = 0;

	for (unsigned k = 0; k * f->element < f->src[0].len; k++)
		v |= (uint64_t)(a[(k + 1) * f->element - 1] >> 7) << k;
	return v;
}

void bits_one_vector(struct bits_state *s)
{
	const struct insn_flow *f = s->f;
	uint8_t a[UNWRITTEN_BYTES], none[UNWRITTEN_BYTES] = {0}, out[UNWRITTEN_BYTES] = {0};
	uint64_t v = 0, by = bits_constant(s) & 0xff;

	bits_get_bytes(s, &f->src[0], a);
	switch ((enum flow_op)f->op) {
	case FLOW_VECTOR_MOVE:
		memcpy(out, a, sizeof(out));
		break;
	case FLOW_VECTOR_SHUFFLE:
		shuffle(s, a, out);
		break;
	case FLOW_VECTOR_SHIFT_LEFT:
	case FLOW_VECTOR_SHIFT_RIGHT:
	case FLOW_VECTOR_SHIFT_ARITHMETIC:
		shift(s, a, out);
		break;
	case FLOW_VECTOR_BYTES_LEFT:
		align(none, a, by < 16 ? 16 - by : 0, f->dst.len, out);
		break;
	case FLOW_VECTOR_BYTES_RIGHT:
		align(a, none, by, f->dst.len, out);
		break;
	case FLOW_VECTOR_EACH:
		lanes(s, 0, f->dst.len, a, none, out);
		break;
	case FLOW_VECTOR_NARROW:
		for (unsigned k = 0; k * 2 < f->src[0].len; k += f->element)
			memset(out + k, bits_any(a + k * 2, f->element * 2u) ? 0xff : 0, f->element);
		break;
	case FLOW_VECTOR_EXTEND:
		extend(f, a, out);
		break;
	case FLOW_VECTOR_SIGNS:
		v = signs(f, a);
		memcpy(out, &v, sizeof(v));
		break;
	case FLOW_VECTOR_BROADCAST:
		for (unsigned k = 0; k < f->dst.len; k += f->element)
			memcpy(out + k, a, f->element);
		break;
	case FLOW_VECTOR_EXTRACT:
		memcpy(out, a + bits_constant(s) * f->element % f->src[0].len, f->element);
		break;
	default: /* a conversion */
		if (f->dst.where == FLOW_VECTOR)
			memcpy(out, s->t->vector[f->dst.reg], sizeof(out));
		memset(out, bits_any(a, f->src[0].len) ? 0xff : 0, f->element ? f->element : f->dst.len);
	}
	if (f->dst.where == FLOW_REGISTER) {
		memcpy(&v, out, sizeof(v));
		bits_put(s, &f->dst, v);
		return;
	}
	bits_put_bytes(s, &f->dst, out);
}

void bits_compare_vectors(struct bits_state *s)
{
	uint8_t a[UNWRITTEN_BYTES], b[UNWRITTEN_BYTES];

	bits_get_bytes(s, &s->f->src[0], a);
	bits_get_bytes(s, &s->f->src[1], b);
	bits_set_flags(s, bits_any(a, s->f->element) || bits_any(b, s->f->element) ? FLOW_FLAGS : 0);
}

/* Whether any bit of both is set, or of the second operand alone. */
void bits_test_vectors(struct bits_state *s)
{
	uint8_t a[UNWRITTEN_BYTES], b[UNWRITTEN_BYTES];

	bits_get_bytes(s, &s->f->src[0], a);
	bits_get_bytes(s, &s->f->src[1], b);
	bits_set_flags(s, bits_any(a, s->f->src[0].len) || bits_any(b, s->f->src[1].len) ? FLOW_ZF | FLOW_CF : 0);
}

void bits_clear_upper(struct unwritten_thread *t)
{
	for (unsigned k = 0; k < 16; k++) {
		if (!(t->dirty >> (INSN_XMM0 + k) & 1))
			continue;
		memset(t->vector[k] + 16, 0, UNWRITTEN_BYTES - 16);
		bits_mark(t, INSN_XMM0 + k, bits_any(t->vector[k], 16), t->origin[INSN_XMM0 + k]);
	}
}
