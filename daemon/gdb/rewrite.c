/* SPDX-License-Identifier: MIT */
/*
 * rewrite.c: finds the operands of an expression: `*` and `&` in front, a name, number or group, then
 * [..], (..), .name and ->name. Everything between operands is copied. GDB compiles the result or
 * not: a wrong guess here costs a refusal, never a wrong value, since only casts to long of whole
 * operands and addresses are put in.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "gdb/rewrite.h"
#include "gdb/type.h"

#define MAX_DEPTH 64

struct scan {
	const char *p;
	const struct rewrite_ops *ops;
	void *ctx;
	int depth;
	bool changed, failed;
};

static bool name_start(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

static bool name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void skip_blanks(struct scan *s)
{
	while (isspace((unsigned char)*s->p))
		s->p++;
}

/* Moves behind a quoted text. */
static void skip_quoted(struct scan *s)
{
	char quote = *s->p++;

	while (*s->p && *s->p != quote) {
		if (*s->p == '\\' && s->p[1])
			s->p++;
		s->p++;
	}
	if (*s->p)
		s->p++;
	else
		s->failed = true;
}

/* A name with its scopes: a, N::C::m, 'file.c'::v, ::g. Or a character constant, which looks alike. */
static void skip_name(struct scan *s)
{
	for (;;) {
		if (str_starts(s->p, "::"))
			s->p += 2;
		if (*s->p == '\'')
			skip_quoted(s);
		else
			while (name_char(*s->p))
				s->p++;
		if (s->failed || !str_starts(s->p, "::"))
			return;
	}
}

static void expression(struct scan *s, char stop, struct buf *out);

/* A bracketed part with its brackets, rewritten inside. */
static void group(struct scan *s, char close, struct buf *out)
{
	if (++s->depth > MAX_DEPTH) {
		s->failed = true;
		return;
	}
	buf_add_char(out, *s->p++);
	expression(s, close, out);
	if (*s->p == close)
		buf_add_char(out, *s->p++);
	else
		s->failed = true;
	s->depth--;
}

/* [..], (..), .name, ->name; what they are behind is in out already. */
static void postfix(struct scan *s, struct buf *out)
{
	for (;;) {
		const char *from = s->p;

		skip_blanks(s);
		if (s->failed)
			return;
		if (*s->p == '[') {
			group(s, ']', out);
		} else if (*s->p == '(') {
			group(s, ')', out);
		} else if ((*s->p == '.' || str_starts(s->p, "->")) && *s->p) {
			from = s->p;
			s->p += *s->p == '.' ? 1 : 2;
			skip_blanks(s);
			skip_name(s);
			buf_add(out, from, (size_t)(s->p - from));
		} else {
			s->p = from;
			return;
		}
	}
}

/* A variable, with a thread-local one replaced by the object at its address. */
static void put_name(struct scan *s, const char *name, struct buf *out)
{
	cleanup_free char *type = NULL;
	uint64_t addr;

	if (s->ops->thread_local_at(s->ctx, name, &type, &addr)) {
		buf_add_str(out, name);
		return;
	}
	buf_addf(out, "(*(%s)0x%" PRIx64 ")", type, addr);
	s->changed = true;
}

static void primary(struct scan *s, struct buf *out)
{
	const char *from = s->p;

	if (*s->p == '(') {
		group(s, ')', out);
	} else if (*s->p == '"') {
		skip_quoted(s);
		buf_add(out, from, (size_t)(s->p - from));
	} else if (isdigit((unsigned char)*s->p)) {
		while (name_char(*s->p) || *s->p == '.')
			s->p++;
		buf_add(out, from, (size_t)(s->p - from));
	} else {
		cleanup_free char *name = NULL;

		skip_name(s);
		name = xstrndup(from, (size_t)(s->p - from));
		put_name(s, name, out);
	}
}

static void operand(struct scan *s, struct buf *out)
{
	cleanup_buf struct buf text = {0};

	while (*s->p == '*' || *s->p == '&' || isspace((unsigned char)*s->p))
		buf_add_char(&text, *s->p++);
	if (*s->p && (name_start(*s->p) || isdigit((unsigned char)*s->p) || strchr("(\"':", *s->p)))
		primary(s, &text);
	postfix(s, &text);
	if (s->failed)
		return;
	if (text.len && s->ops->is_enum(s->ctx, buf_str(&text))) {
		buf_addf(out, "((long)(%s))", buf_str(&text));
		s->changed = true;
	} else {
		buf_add_str(out, buf_str(&text));
	}
}

static bool starts_operand(const char *p)
{
	return *p && (name_start(*p) || isdigit((unsigned char)*p) || strchr("(\"'*&", *p) ||
		      str_starts(p, "::"));
}

/* Operands and what is between them, up to (not including) stop or the end. */
static void expression(struct scan *s, char stop, struct buf *out)
{
	bool behind_operand = false;

	while (*s->p && *s->p != stop && !s->failed) {
		const char *before = s->p;

		if (*s->p == ')' || *s->p == ']') {
			s->failed = true;
		} else if (isspace((unsigned char)*s->p)) {
			buf_add_char(out, *s->p++);
		} else if (starts_operand(s->p) &&
			   !(behind_operand && (*s->p == '*' || *s->p == '&'))) {
			operand(s, out);
			behind_operand = true;
			s->failed |= s->p == before;
		} else {
			/* && is one operator, else its second half would look like an address-of. */
			if (str_starts(s->p, "&&"))
				buf_add_char(out, *s->p++);
			buf_add_char(out, *s->p++);
			behind_operand = false;
		}
	}
}

char *rewrite_expr(const char *expr, const struct rewrite_ops *ops, void *ctx)
{
	struct scan s = {.p = expr, .ops = ops, .ctx = ctx};
	cleanup_buf struct buf out = {0};

	expression(&s, '\0', &out);
	return s.failed || !s.changed ? NULL : buf_steal(&out);
}

struct place {
	struct gdb *g;
	pid_t tid;
	int frame;
};

static bool ask_enum(void *ctx, const char *operand)
{
	struct place *p = ctx;
	struct gdb_type t = {0};
	struct err ignored;
	bool yes;

	if (gdb_type_of(p->g, operand, p->tid, p->frame, &t, &ignored))
		return false;
	yes = t.kind == GDB_TYPE_ENUM;
	gdb_type_fini(&t);
	return yes;
}

/* GDB's agent compiler names the DWARF operator when it meets a thread-local variable. */
static bool ask_thread_local(struct place *p, const char *variable)
{
	cleanup_free char *cmd = str_fmt("maint agent-eval &(%s)", variable), *out = NULL;
	struct err e;

	return gdb_console_at(p->g, p->tid, p->frame, 0, cmd, &out, &e) && strstr(e.text, "_tls_");
}

static int ask_tls(void *ctx, const char *variable, char **pointer_type, uint64_t *addr)
{
	struct place *p = ctx;
	cleanup_free char *number = str_fmt("(unsigned long)&(%s)", variable), *value = NULL;
	cleanup_free char *address_of = str_fmt("&(%s)", variable);
	struct gdb_type t = {0};
	struct err ignored;

	if (!ask_thread_local(p, variable) ||
	    gdb_eval(p->g, number, p->tid, p->frame, 0, &value, &ignored) ||
	    str_u64(value, 10, 1, UINT64_MAX, addr) ||
	    gdb_type_of(p->g, address_of, p->tid, p->frame, &t, &ignored))
		return 1;
	*pointer_type = steal_ptr(&t.name);
	gdb_type_fini(&t);
	return 0;
}

char *gdb_rewrite(struct gdb *g, const char *expr, pid_t tid, int frame)
{
	static const struct rewrite_ops ops = {ask_enum, ask_tls};
	struct place place = {g, tid, frame};

	return rewrite_expr(expr, &ops, &place);
}
