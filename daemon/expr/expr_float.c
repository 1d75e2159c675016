/* SPDX-License-Identifier: MIT */
/*
 * expr_float.c: see expr_float.h. A text is an operand that GDB compiles, a number, a float, double or 128-bit integer
 * in memory, or two such texts at the operator that binds least. What is no part of this grammar is refused, by GDB at
 * the latest: nothing is guessed. Numbers are converted as GDB converts them (agent_float.c).
 */
#define LOG_DOMAIN "expr"
#include "expr/expr_float.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "expr/compile.h"
#include "expr/piece.h"
#include "expr/rewrite.h"
#include "expr/text.h"

#define REFUSED 1
#define DEPTH_MAX 32
/* the most bytes of an operand's code: an operation has some copies of it, and a jump's distance has two bytes */
#define CODE_MAX (UINT16_MAX / 8)

struct builder {
	struct gdb *g;
	const struct expr_place *at;
	int depth;
	bool any; /* a floating-point number or a 128-bit integer was found */
};

static int build(struct builder *p, const char *text, struct piece *out, struct err *e);

static int refuse(struct err *e, const char *text)
{
	err_set(e, ERR_NOT_FOUND, "not compiled: %.200s", text);
	return REFUSED;
}

/* ---- bytecode ---- */

static void op(struct piece *p, enum agent_op o)
{
	code_op(&p->code, o);
}

static void op_with(struct piece *p, enum agent_op o, uint64_t operand, unsigned bytes)
{
	code_op_with(&p->code, o, operand, bytes);
}

static void append(struct piece *p, const struct buf *code)
{
	code_append(&p->code, code);
}

static void to_floating(struct piece *p, enum piece_kind as)
{
	if (!piece_is_floating(p))
		op(p, p->kind == SIGNED ? AGENT_of_signed : AGENT_of_unsigned);
	if (as == FLOAT && p->kind != FLOAT)
		op(p, AGENT_round_float);
	p->kind = as;
}

/* Makes 0 or 1 of a number: 0 if it is zero. */
static void to_truth(struct piece *p)
{
	if (piece_is_wide(p))
		piece_to_nonzero(p);
	if (piece_is_floating(p)) {
		op_with(p, AGENT_const8, 0, 1);
		op(p, AGENT_fequal);
	} else {
		op(p, AGENT_log_not);
	}
	op(p, AGENT_log_not);
	p->kind = SIGNED;
	free(p->cast);
	p->cast = NULL;
}

/* ---- operands ---- */

static void read_floating(struct builder *p, unsigned size, struct piece *out)
{
	op(out, size == 4 ? AGENT_ref32 : AGENT_ref64);
	if (size == 4)
		op(out, AGENT_of_float);
	out->kind = size == 4 ? FLOAT : DOUBLE;
	p->any = true;
}

/* An operand that GDB compiles: an integer, or the address of a float or double. */
static int compiled(struct builder *p, const char *text, struct piece *out, struct err *e)
{
	struct expr_code x;
	int r = expr_compile_number(p->g, text, p->at, &x, e);

	if (r)
		return gdb_dead(p->g) ? -1 : REFUSED;
	if (expr_type_is_scalar(&x.type) || expr_type_is_floating(&x.type) || expr_type_is_wide(&x.type))
		buf_add(&out->code, (char *)x.code, x.len - 1); /* without its `end` */
	else
		r = refuse(e, text);
	out->kind = x.type.kind == EXPR_TYPE_POINTER ? POINTER : x.type.is_signed ? SIGNED : UNSIGNED;
	if (!r && expr_type_is_floating(&x.type))
		read_floating(p, x.type.size, out);
	if (!r && expr_type_is_wide(&x.type)) {
		piece_read_wide(out, x.type.is_signed);
		p->any = true;
	}
	expr_code_fini(&x);
	return r;
}

/* 1.5, 1e300, 2.5f; not 1.5L. */
static bool literal(const char *text, struct piece *out)
{
	uint64_t v;
	double d;
	char *end;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return false;
	if (!strpbrk(text, ".eEpP") || (text[0] == '0' && tolower((unsigned char)text[1]) == 'x'))
		return false;
	d = strtod(text, &end);
	out->kind = *end == 'f' || *end == 'F' ? FLOAT : DOUBLE;
	if (out->kind == FLOAT)
		d = strtof(text, &end), end++;
	if (*end)
		return false;
	memcpy(&v, &d, sizeof(v));
	op_with(out, AGENT_const64, v, 8);
	return true;
}

/* ---- operators ---- */

#define INSIDE (-1) /* inside of an operand */

static const struct operator
{
	const char *text;
	int level; /* the operator with the lowest level binds least */
}
operators[] = {
	{"||", 0}, {"&&", 1},	   {"==", 5},	   {"!=", 5}, {"<=", 6}, {">=", 6}, {"<<", 7},
	{">>", 7}, {"->", INSIDE}, {"::", INSIDE}, {"<", 6},  {">", 6},	 {"|", 2},  {"^", 3},
	{"&", 4},  {"+", 8},	   {"-", 8},	   {"*", 9},  {"/", 9},	 {"%", 9},
};

static const struct operator* operator_at(const char *s)
{
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (str_starts(s, operators[i].text))
			return &operators[i];
	return NULL;
}

/* Skips a name or a number, with the sign of its exponent. */
static const char *skip_word(const char *s)
{
	bool number = isdigit((unsigned char)*s) || *s == '.', hex = s[0] == '0' && (s[1] | 32) == 'x';

	while (text_is_name(*s) || *s == '.' ||
	       (number && (*s == '+' || *s == '-') && (s[-1] | 32) == (hex ? 'p' : 'e')))
		s++;
	return s;
}

/*
 * Finds the operator that binds least; if there are several, the last one. NULL: there is none outside of brackets, or
 * there is one that is not in the table, and that may bind less still.
 */
static const char *split_at(const char *text, const struct operator** which)
{
	bool has_left_operand = false, after_cast = false;
	const char *found = NULL, *s = text;

	while (s && *s) {
		const struct operator* o = operator_at(s);

		if (isspace((unsigned char)*s)) {
			s++;
		} else if (strchr("([\"'", *s)) {
			const char *after = text_after_group(s);

			/* (T)x: what follows a cast is its operand; a - there may be either, and GDB will not have it
			 */
			after_cast = *s == '(' && !has_left_operand;
			has_left_operand = true;
			s = after;
		} else if (text_is_name(*s) || *s == '.') {
			s = skip_word(s);
			has_left_operand = true;
			after_cast = false;
		} else if (o && has_left_operand) {
			if (o->level != INSIDE && (!found || o->level <= (*which)->level) &&
			    !(after_cast && strchr("*-+&", *s) && s[1] != ' ')) {
				found = s;
				*which = o;
			}
			s += strlen(o->text);
			has_left_operand = after_cast = false;
		} else if (has_left_operand) {
			return NULL;
		} else {
			s++;
		}
	}
	return s ? found : NULL;
}

/* a && b: the value of a stays on the stack as the result, or b replaces it. */
static void connect(struct piece *out, struct piece *a, struct piece *b, bool is_or)
{
	size_t length;

	to_truth(a);
	to_truth(b);
	append(out, &a->code);
	op(out, AGENT_dup);
	if (!is_or)
		op(out, AGENT_log_not);
	length = out->code.len + 3 + 1 + b->code.len;
	op_with(out, AGENT_if_goto, length, 2);
	op(out, AGENT_pop);
	append(out, &b->code);
	out->kind = SIGNED;
}

/* <= and >= are not the opposites of > and <: with a NaN all four are false. */
static void compare(struct piece *out, const char *o, struct piece *a, struct piece *b)
{
	struct piece *first = *o == '>' ? b : a, *second = *o == '>' ? a : b;
	enum agent_op less = piece_is_floating(a) ? AGENT_fless : AGENT_less_signed;
	enum agent_op equal = piece_is_floating(a) ? AGENT_fequal : AGENT_equal;

	append(out, &first->code);
	append(out, &second->code);
	if (str_eq(o, "<") || str_eq(o, ">")) {
		op(out, less);
	} else if (str_eq(o, "<=") || str_eq(o, ">=")) {
		append(out, &first->code);
		append(out, &second->code);
		op(out, less);
		/* a b (a < b) */
		op(out, AGENT_rot);
		op(out, equal);
		op(out, AGENT_bit_or);
	} else {
		op(out, equal);
		if (*o == '!')
			op(out, AGENT_log_not);
	}
	out->kind = SIGNED;
}

static void compute(struct piece *out, char o, struct piece *a, struct piece *b, enum piece_kind as)
{
	append(out, &a->code);
	append(out, &b->code);
	op(out, o == '+' ? AGENT_fadd : o == '-' ? AGENT_fsub : o == '*' ? AGENT_fmul : AGENT_fdiv);
	if (as == FLOAT)
		op(out, AGENT_round_float);
	out->kind = as;
}

static int binary(struct builder *p, const char *text, const char *at, const struct operator* o, struct piece *out,
		  struct err *e)
{
	cleanup_free char *left = xstrndup(text, (size_t)(at - text)), *right = xstrdup(at + strlen(o->text));
	cleanup_piece struct piece a = {0}, b = {0};
	enum piece_kind as;
	bool compares;
	int r = build(p, left, &a, e);

	if (!r)
		r = build(p, right, &b, e);
	if (r)
		return r;
	if (o->level <= 1) {
		connect(out, &a, &b, o->level == 0);
		return 0;
	}
	compares = o->level == 5 || o->level == 6;
	/* casts and comparisons have made integers of both: then only this type is left, and needs no width */
	if (compares && a.kind == SIGNED && b.kind == SIGNED) {
		compare(out, o->text, &a, &b);
		return 0;
	}
	if (strchr("&|^", *o->text) && a.kind == SIGNED && b.kind == SIGNED) {
		append(out, &a.code);
		append(out, &b.code);
		op(out, *o->text == '&' ? AGENT_bit_and : *o->text == '|' ? AGENT_bit_or : AGENT_bit_xor);
		out->kind = SIGNED;
		return 0;
	}
	if (piece_is_wide(&a) || piece_is_wide(&b)) {
		if (a.kind == POINTER || b.kind == POINTER || piece_is_floating(&a) || piece_is_floating(&b) ||
		    (o->level == 7 && !piece_is_wide(&a)))
			return refuse(e, text);
		piece_compute_wide(out, o->text, &a, &b);
		return 0;
	}
	if ((!piece_is_floating(&a) && !piece_is_floating(&b)) || a.kind == POINTER || b.kind == POINTER ||
	    *o->text == '%' || (o->level < 8 && !compares))
		return refuse(e, text);
	as = a.kind == DOUBLE || b.kind == DOUBLE ? DOUBLE : FLOAT;
	to_floating(&a, as);
	to_floating(&b, as);
	if (compares)
		compare(out, o->text, &a, &b);
	else
		compute(out, *o->text, &a, &b, as);
	return 0;
}

/* ---- what is in front of an operand ---- */

static int cast_to(struct piece *out, const struct expr_type *t, const char *text, struct err *e)
{
	if (expr_type_is_wide(t) && !piece_is_floating(out) && out->kind != POINTER) {
		piece_to_wide(out, t->is_signed ? WIDE_SIGNED : WIDE_UNSIGNED);
		return 0;
	}
	if (expr_type_is_floating(t) && !piece_is_wide(out)) {
		to_floating(out, t->size == 4 ? FLOAT : DOUBLE);
		return 0;
	}
	if (!expr_type_is_scalar(t) || t->kind == EXPR_TYPE_BOOL || t->kind == EXPR_TYPE_POINTER)
		return refuse(e, text);
	if (piece_is_wide(out))
		piece_to_narrow(out);
	if (piece_is_floating(out))
		op(out, t->is_signed || t->size < 8 ? AGENT_to_signed : AGENT_to_unsigned);
	if (t->size < 8)
		op_with(out, t->is_signed ? AGENT_ext : AGENT_zero_ext, 8u * t->size, 1);
	out->kind = t->is_signed ? SIGNED : UNSIGNED;
	return 0;
}

/* (TYPE)operand, in a form in which only a type can stand in the brackets. */
static int cast(struct builder *p, const char *text, const char *after, struct piece *out, struct err *e)
{
	cleanup_free char *as_type = str_fmt("%.*s0", (int)(after - text), text);
	struct expr_type t;
	struct err why;
	int r = expr_type_of(p->g, as_type, p->at->tid, p->at->frame, &t, &why);

	if (r)
		return gdb_dead(p->g) ? err_set(e, ERR_INTERNAL, "%s", why.text) : refuse(e, text);
	r = build(p, after, out, e);
	if (!r)
		r = cast_to(out, &t, text, e);
	p->any |= piece_is_wide(out);
	free(out->cast);
	out->cast = steal_ptr(&as_type);
	expr_type_fini(&t);
	return r;
}

static int prefixed(struct builder *p, const char *text, struct piece *out, struct err *e)
{
	const char *after = *text == '(' ? text_after_group(text) : NULL;
	int r;

	if (after && !*after) {
		cleanup_free char *inner = xstrndup(text + 1, (size_t)(after - text) - 2);

		return build(p, inner, out, e);
	}
	if (after)
		return cast(p, text, after, out, e);
	if (!strchr("!-+~", *text))
		return refuse(e, text);
	r = build(p, text + 1, out, e);
	if (r)
		return r;
	if (*text == '!') {
		to_truth(out);
		op(out, AGENT_log_not);
	} else if (piece_is_wide(out) && *text == '~') {
		piece_not(out);
	} else if (piece_is_wide(out) && *text == '-') {
		cleanup_piece struct piece zero = {0}, of = *out;

		*out = (struct piece){0};
		op_with(&zero, AGENT_const8, 0, 1);
		piece_compute_wide(out, text, &zero, &of);
	} else if ((!piece_is_floating(out) && !piece_is_wide(out)) || *text == '~') {
		return refuse(e, text);
	} else if (*text == '-') {
		op(out, AGENT_neg);
	}
	return 0;
}

static int build_trimmed(struct builder *p, const char *text, struct piece *out, struct err *e)
{
	const struct operator* o = NULL;
	const char *at;
	/* GDB has seen the whole text, and does not compile it */
	int r = REFUSED;

	if (literal(text, out)) {
		p->any = true;
		return 0;
	}
	if (p->depth > 1)
		r = compiled(p, text, out, e);
	if (r <= 0)
		return r;
	out->code.len = out->high.len = 0;
	at = split_at(text, &o);
	return at ? binary(p, text, at, o, out, e) : prefixed(p, text, out, e);
}

static int build(struct builder *p, const char *text, struct piece *out, struct err *e)
{
	cleanup_free char *trimmed = NULL;
	size_t n;
	int r;

	text += strspn(text, " \t");
	n = strlen(text);
	while (n && isspace((unsigned char)text[n - 1]))
		n--;
	if (!n || p->depth == DEPTH_MAX)
		return refuse(e, text);
	trimmed = xstrndup(text, n);
	p->depth++;
	r = build_trimmed(p, trimmed, out, e);
	p->depth--;
	if (!r && (out->code.len > CODE_MAX || out->high.len > CODE_MAX))
		return refuse(e, trimmed);
	return r;
}

int expr_float_compile(struct gdb *g, const char *text, const struct expr_place *at, uint8_t **code, size_t *len,
		       struct expr_locals *locals, char **cast, struct err *e)
{
	cleanup_free char *absolute = NULL;
	struct builder p = {.g = g, .at = at};
	cleanup_piece struct piece whole = {0};
	int r = build(&p, text, &whole, e);

	if (!r && (!p.any || piece_is_floating(&whole) || piece_is_wide(&whole)))
		r = refuse(e, text);
	if (!r && expr_rewrite_absolute(g, text, at->tid, at->frame, &absolute, locals, e) < 0)
		r = -1;
	if (r)
		return r;
	if (cast)
		*cast = steal_ptr(&whole.cast);
	op(&whole, AGENT_end);
	*len = whole.code.len;
	*code = (uint8_t *)buf_steal(&whole.code);
	log_info("%s: compiled with floating-point or 128-bit numbers, %zu bytes", text, *len);
	return 0;
}

bool expr_is_too_wide(int r, const struct err *e)
{
	return r < 0 && gdb_reason_of(e) == GDB_TOO_WIDE;
}

int expr_float_code(struct gdb *g, const char *text, const struct expr_place *at, struct expr_code *code, struct err *e)
{
	cleanup_free char *cast = NULL;
	int r = expr_float_compile(g, text, at, &code->code, &code->len, &code->locals, &cast, e);

	if (!r) {
		r = expr_type_of(g, text, at->tid, at->frame, &code->type, e);
		if (expr_is_too_wide(r, e)) /* then the value is the result of a comparison */
			r = expr_type_of(g, cast ? cast : "1 == 1", at->tid, at->frame, &code->type, e);
	}
	if (!r)
		return 0;
	expr_code_fini(code);
	return gdb_dead(g) ? -1 : 1;
}
