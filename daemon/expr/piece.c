/* SPDX-License-Identifier: MIT */
/* piece.c: see piece.h. */
#include "expr/piece.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

void piece_fini(struct piece *p)
{
	buf_fini(&p->code);
	buf_fini(&p->high);
	free(p->cast);
}

bool piece_is_floating(const struct piece *p)
{
	return p->kind == FLOAT || p->kind == DOUBLE;
}

bool piece_is_wide(const struct piece *p)
{
	return p->kind == WIDE_SIGNED || p->kind == WIDE_UNSIGNED;
}

void code_op(struct buf *code, enum agent_op o)
{
	buf_add_char(code, (char)o);
}

void code_op_with(struct buf *code, enum agent_op o, uint64_t operand, unsigned bytes)
{
	code_op(code, o);
	while (bytes--)
		buf_add_char(code, (char)(operand >> (8 * bytes)));
}

void code_append(struct buf *code, const struct buf *more)
{
	const uint8_t *c = (const uint8_t *)more->data;
	size_t base = code->len;

	for (size_t i = 0, n; i < more->len; i += n) {
		n = 1 + agent_operand_size(c[i]);
		if (c[i] == AGENT_goto || c[i] == AGENT_if_goto)
			code_op_with(code, (enum agent_op)c[i], (uint64_t)(c[i + 1] << 8 | c[i + 2]) + base, 2);
		else
			buf_add(code, more->data + i, n);
	}
}

/* ---- 128-bit integers ---- */

void piece_read_wide(struct piece *p, bool is_signed)
{
	code_append(&p->high, &p->code);
	code_op_with(&p->high, AGENT_const8, 8, 1);
	code_op(&p->high, AGENT_add);
	code_op(&p->high, AGENT_ref64);
	code_op(&p->code, AGENT_ref64);
	p->kind = is_signed ? WIDE_SIGNED : WIDE_UNSIGNED;
}

void piece_to_wide(struct piece *p, enum piece_kind as)
{
	if (p->kind == SIGNED) {
		code_append(&p->high, &p->code);
		code_op_with(&p->high, AGENT_const8, 63, 1);
		code_op(&p->high, AGENT_rsh_signed);
	} else if (!piece_is_wide(p)) {
		code_op_with(&p->high, AGENT_const8, 0, 1);
	}
	p->kind = as;
}

void piece_to_narrow(struct piece *p)
{
	p->high.len = 0;
	p->kind = p->kind == WIDE_SIGNED ? SIGNED : UNSIGNED;
}

void piece_to_nonzero(struct piece *p)
{
	code_append(&p->code, &p->high);
	code_op(&p->code, AGENT_bit_or);
	p->high.len = 0;
	p->kind = UNSIGNED;
}

/* An operation on all four words. */
static void of_both(struct buf *out, const struct piece *a, const struct piece *b, enum agent_op o)
{
	code_append(out, &a->code);
	code_append(out, &a->high);
	code_append(out, &b->code);
	code_append(out, &b->high);
	code_op(out, o);
}

static void of_low(struct buf *out, const struct piece *a, const struct piece *b, enum agent_op o)
{
	code_append(out, &a->code);
	code_append(out, &b->code);
	code_op(out, o);
}

static void of_high(struct buf *out, const struct piece *a, const struct piece *b, enum agent_op o)
{
	code_append(out, &a->high);
	code_append(out, &b->high);
	code_op(out, o);
}

static void compare(struct piece *out, const char *o, const struct piece *a, const struct piece *b, bool is_unsigned)
{
	enum agent_op less = is_unsigned ? AGENT_wless_unsigned : AGENT_wless_signed;

	out->kind = SIGNED;
	if (*o == '=' || *o == '!') {
		of_low(&out->code, a, b, AGENT_bit_xor);
		of_high(&out->code, a, b, AGENT_bit_xor);
		code_op(&out->code, AGENT_bit_or);
		code_op(&out->code, AGENT_log_not);
		if (*o == '!')
			code_op(&out->code, AGENT_log_not);
		return;
	}
	/* a <= b is not (b < a) */
	if (str_eq(o, "<") || str_eq(o, ">="))
		of_both(&out->code, a, b, less);
	else
		of_both(&out->code, b, a, less);
	if (o[1])
		code_op(&out->code, AGENT_log_not);
}

void piece_not(struct piece *p)
{
	code_op(&p->code, AGENT_bit_not);
	code_op(&p->high, AGENT_bit_not);
}

/* The result has the type of the left operand. */
static void shift(struct piece *out, bool left, struct piece *a, struct piece *b)
{
	bool is_signed = a->kind == WIDE_SIGNED;

	piece_to_wide(b, WIDE_UNSIGNED);
	out->kind = a->kind;
	of_both(&out->code, a, b, left ? AGENT_wlsh : is_signed ? AGENT_wrsh_signed : AGENT_wrsh_unsigned);
	of_both(&out->high, a, b,
		left	    ? AGENT_wlsh_high
		: is_signed ? AGENT_wrsh_signed_high
			    : AGENT_wrsh_unsigned_high);
}

static void of_bits(struct piece *out, const struct piece *a, const struct piece *b, enum agent_op o)
{
	of_low(&out->code, a, b, o);
	of_high(&out->high, a, b, o);
}

void piece_compute_wide(struct piece *out, const char *operator, struct piece * a, struct piece *b)
{
	bool is_unsigned = a->kind == WIDE_UNSIGNED || b->kind == WIDE_UNSIGNED;
	enum piece_kind as = is_unsigned ? WIDE_UNSIGNED : WIDE_SIGNED;

	if (str_eq(operator, "<<") || str_eq(operator, ">>")) {
		shift(out, *operator== '<', a, b);
		return;
	}
	piece_to_wide(a, as);
	piece_to_wide(b, as);
	if (strchr("=!<>", *operator)) {
		compare(out, operator, a, b, is_unsigned);
		return;
	}
	out->kind = as;
	switch (*operator) {
	case '+':
		of_low(&out->code, a, b, AGENT_add);
		of_both(&out->high, a, b, AGENT_wadd_high);
		break;
	case '-':
		of_low(&out->code, a, b, AGENT_sub);
		of_both(&out->high, a, b, AGENT_wsub_high);
		break;
	case '*':
		of_low(&out->code, a, b, AGENT_mul);
		of_both(&out->high, a, b, AGENT_wmul_high);
		break;
	case '&':
		of_bits(out, a, b, AGENT_bit_and);
		break;
	case '|':
		of_bits(out, a, b, AGENT_bit_or);
		break;
	case '^':
		of_bits(out, a, b, AGENT_bit_xor);
		break;
	case '/':
		of_both(&out->code, a, b, is_unsigned ? AGENT_wdiv_unsigned : AGENT_wdiv_signed);
		of_both(&out->high, a, b, is_unsigned ? AGENT_wdiv_unsigned_high : AGENT_wdiv_signed_high);
		break;
	default:
		of_both(&out->code, a, b, is_unsigned ? AGENT_wrem_unsigned : AGENT_wrem_signed);
		of_both(&out->high, a, b, is_unsigned ? AGENT_wrem_unsigned_high : AGENT_wrem_signed_high);
	}
}
