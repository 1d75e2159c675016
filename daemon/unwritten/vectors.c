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

/* Elements of both in turn, from the low or the high halves of 16 bytes. */
static void interleave(const struct insn_flow *f, const uint8_t *a, const uint8_t *b, uint8_t *out)
{
	unsigned e = f->element, half = f->op == FLOW_VECTOR_HIGH ? 8 : 0;

	for (unsigned lane = 0; lane < f->dst.len; lane += 16)
		for (unsigned k = 0; k < 8; k += e) {
			memcpy(out + lane + 2 * k, a + lane + half + k, e);
			memcpy(out + lane + 2 * k + e, b + lane + half + k, e);
		}
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
		for (unsigned k = 0; k < f->dst.len; k++)
			out[k] = f->op == FLOW_VECTOR_AND ? a[k] & b[k] : a[k] | b[k];
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
	default:
		interleave(f, a, b, out);
	}
	if (f->zero)
		memset(out, 0, sizeof(out));
	bits_put_bytes(s, &f->dst, out);
}

static void shuffle(const struct bits_state *s, const uint8_t *a, uint8_t *out)
{
	for (unsigned k = 0; k < s->f->dst.len; k += 4)
		memcpy(out + k, a + (k & ~15u) + (bits_constant(s) >> (k / 4 % 4) * 2 & 3) * 4, 4);
}

void bits_one_vector(struct bits_state *s)
{
	const struct insn_flow *f = s->f;
	uint8_t a[UNWRITTEN_BYTES], out[UNWRITTEN_BYTES] = {0};
	uint64_t v = 0;

	bits_get_bytes(s, &f->src[0], a);
	switch ((enum flow_op)f->op) {
	case FLOW_VECTOR_MOVE:
		memcpy(out, a, sizeof(out));
		break;
	case FLOW_VECTOR_SHUFFLE:
		shuffle(s, a, out);
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

void bits_clear_upper(struct unwritten_thread *t)
{
	for (unsigned k = 0; k < 16; k++) {
		if (!(t->dirty >> (INSN_XMM0 + k) & 1))
			continue;
		memset(t->vector[k] + 16, 0, UNWRITTEN_BYTES - 16);
		bits_mark(t, INSN_XMM0 + k, bits_any(t->vector[k], 16), t->origin[INSN_XMM0 + k]);
	}
}
