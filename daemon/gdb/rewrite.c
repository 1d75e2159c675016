/* SPDX-License-Identifier: MIT */
/*
 * rewrite.c: finds the operands of an expression: `*` and `&` in front, a name, number or group, then
 * [..], (..), .name and ->name. Everything between operands is copied. GDB compiles the result or
 * not: a wrong guess here costs a refusal, never a wrong value, since only addresses of names and casts
 * to long of whole operands are put in.
 */
#include <ctype.h>
#include <stdio.h>
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
	bool failed;
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

/* Puts what stands for the object from there on and `what` behind it; false: it stays. */
static bool replaced(struct scan *s, struct buf *out, size_t from, const char *what, bool arrow, const char *index)
{
	cleanup_free char *object = NULL, *by = NULL;

	if (!s->ops->member || s->failed || out->len == from)
		return false;
	object = xstrdup(buf_str(out) + from);
	by = s->ops->member(s->ctx, object, what, arrow, index);
	if (!by)
		return false;
	out->len = from;
	buf_add_str(out, by);
	return true;
}

static void subscript(struct scan *s, struct buf *out, size_t from)
{
	cleanup_buf struct buf part = {0};
	cleanup_free char *index = NULL;

	group(s, ']', &part);
	if (s->failed)
		return;
	index = xstrndup(buf_str(&part) + 1, part.len - 2);
	if (!replaced(s, out, from, "[", false, index))
		buf_add(out, buf_str(&part), part.len);
}

/* .name or ->name, with its empty brackets if it has such. */
static void selected(struct scan *s, struct buf *out, size_t from)
{
	bool arrow = *s->p == '-';
	cleanup_free char *name = NULL;
	const char *op = s->p, *begin, *behind;

	s->p += arrow ? 2 : 1;
	skip_blanks(s);
	begin = s->p;
	skip_name(s);
	name = xstrndup(begin, (size_t)(s->p - begin));
	behind = s->p + strspn(s->p, " \t");
	if (*behind == '(' && behind[1 + strspn(behind + 1, " \t")] == ')') {
		behind += 1 + strspn(behind + 1, " \t");
		if (replaced(s, out, from, name, arrow, NULL)) {
			s->p = behind + 1;
			return;
		}
	}
	/* an object that acts as a pointer becomes one; then its target may be what has the method */
	if (arrow && replaced(s, out, from, "->", false, NULL) && *behind == ')' &&
	    replaced(s, out, from, name, arrow, NULL)) {
		s->p = behind + 1;
		return;
	}
	buf_add(out, op, (size_t)(s->p - op));
}

/* [..], (..), .name, ->name; what they are behind begins in out at `from`. */
static void postfix(struct scan *s, struct buf *out, size_t from)
{
	for (;;) {
		const char *begin = s->p;

		skip_blanks(s);
		if (s->failed)
			return;
		if (*s->p == '[') {
			subscript(s, out, from);
		} else if (*s->p == '(') {
			group(s, ')', out);
		} else if (*s->p && (*s->p == '.' || str_starts(s->p, "->"))) {
			selected(s, out, from);
		} else {
			s->p = begin;
			return;
		}
	}
}

static void put_name(struct scan *s, const char *name, struct buf *out)
{
	cleanup_free char *by = NULL;

	switch (s->ops->resolve(s->ctx, name, &by)) {
	case REWRITE_KEEP:
		buf_add_str(out, name);
		break;
	case REWRITE_REPLACE:
		buf_add_str(out, by);
		break;
	case REWRITE_REFUSE:
		s->failed = true;
		break;
	}
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
	size_t from;

	while (*s->p == '*' || *s->p == '&' || isspace((unsigned char)*s->p))
		buf_add_char(&text, *s->p++);
	from = text.len;
	if (*s->p && (name_start(*s->p) || isdigit((unsigned char)*s->p) || strchr("(\"':", *s->p)))
		primary(s, &text);
	postfix(s, &text, from);
	if (s->failed)
		return;
	if (text.len && s->ops->needs_cast(s->ctx, buf_str(&text))) {
		buf_addf(out, "((long)(%s))", buf_str(&text));
	} else {
		buf_add_str(out, buf_str(&text));
	}
}

/* After these words comes the name of a type, whatever else has that name. */
static bool is_tag_keyword(const char *p)
{
	static const char *const words[] = {"struct", "union", "enum", "class", "typename"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (str_starts(p, words[i]) && isspace((unsigned char)p[strlen(words[i])]))
			return true;
	return false;
}

/* "struct NAME", copied. */
static void tagged_type(struct scan *s, struct buf *out)
{
	const char *from = s->p;

	skip_name(s);
	skip_blanks(s);
	skip_name(s);
	buf_add(out, from, (size_t)(s->p - from));
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
		} else if (is_tag_keyword(s->p)) {
			tagged_type(s, out);
			behind_operand = false;
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

int rewrite_expr(const char *expr, const struct rewrite_ops *ops, void *ctx, char **out)
{
	struct scan s = {.p = expr, .ops = ops, .ctx = ctx};
	cleanup_buf struct buf b = {0};

	expression(&s, '\0', &b);
	if (s.failed || !b.len)
		return 1;
	*out = buf_steal(&b);
	return 0;
}

struct place {
	struct gdb *g;
	pid_t tid;
	int frame;
	const char *at; /* the scope in which the result is compiled */
	struct gdb_locals *locals;
	struct err *e;
	bool scoped; /* resolve_absolute: a name had to stay that means this in this frame only */
};

/* What GDB prints for a console command, without "type = " and the line end; NULL: it refused. */
static char *ask(const struct place *p, const char *command, const char *operand)
{
	cleanup_free char *cmd = str_fmt("%s%s", command, operand), *text = NULL;
	struct err ignored;

	if (gdb_console_at(p->g, p->tid, p->frame, 0, cmd, &text, &ignored))
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	return xstrdup(str_starts(text, "type = ") ? text + 7 : text);
}

/* Enumerations and truth values; "!" takes no bool in GDB 13. */
static bool ask_cast(void *ctx, const char *operand)
{
	cleanup_free char *type = ask(ctx, "ptype/r ", operand);

	if (!type)
		return false;
	return (str_starts(type, "enum") && str_ends(type, "}")) || !strcmp(type, "bool") ||
	       !strcmp(type, "_Bool");
}

static int ask_number(const struct place *p, const char *prefix, const char *name, uint64_t *value)
{
	cleanup_free char *expr = str_fmt("(unsigned long)%s(%s)", prefix, name), *text = NULL;
	struct err ignored;

	if (gdb_eval(p->g, expr, p->tid, p->frame, 0, &text, &ignored))
		return -1;
	return str_u64(text, 10, 1, UINT64_MAX, value);
}

/* An object on the stack, or a member of one by its name alone. */
static void note_owner(const struct place *p, uint64_t addr)
{
	if (!p->locals->any)
		gdb_locals_owner(p->g, p->tid, p->frame, addr, p->locals);
}

/* `this` is no variable to GDB: it has no address, and never changes. */
static enum rewrite_answer resolve_this(const struct place *p, char **by)
{
	cleanup_free char *type = ask(p, "whatis/r ", "this");
	uint64_t value;

	if (!type || ask_number(p, "", "this", &value))
		return REWRITE_KEEP;
	note_owner(p, value);
	*by = str_fmt("((%s)0x%llx)", type, (unsigned long long)value);
	return REWRITE_REPLACE;
}

/* A name without an address: a constant or type may stay, a variable is in a register or nowhere. */
static enum rewrite_answer resolve_unaddressed(const struct place *p, const char *name)
{
	cleanup_free char *where = ask(p, "info address ", name);

	if (!where || !(strstr(where, "a variable") || strstr(where, "optimized out") ||
			strstr(where, "multi-location") || strstr(where, "complex DWARF")))
		return REWRITE_KEEP;
	err_set(p->e, ERR_NOT_FOUND, "'%s' is not in memory here (a register, or optimized out)",
		name);
	return REWRITE_REFUSE;
}

/*
 * A function becomes its address as a number: GDB 13 compiles `&f` to 0, and f without debug
 * information not at all. An indirect function's address is not what pointers to it hold.
 */
static enum rewrite_answer resolve_function(const struct place *p, const char *type, const char *name,
					    char **by)
{
	uint64_t addr;

	if (strstr(type, "indirect") || ask_number(p, "&", name, &addr)) {
		err_set(p->e, ERR_NOT_FOUND, "the function '%s'", name);
		return REWRITE_REFUSE;
	}
	*by = str_fmt("((long)0x%llx)", (unsigned long long)addr);
	return REWRITE_REPLACE;
}

/* 'a': GDB compiles no character constants. ('file.c'::x looks alike, but has an address.) */
static enum rewrite_answer resolve_character(const struct place *p, const char *name, char **by)
{
	cleanup_free char *type = ask(p, "whatis/r ", name), *expr = str_fmt("(long)%s", name);
	cleanup_free char *number = NULL;
	struct err ignored;

	if (!type || gdb_eval(p->g, expr, p->tid, p->frame, 0, &number, &ignored))
		return REWRITE_KEEP;
	*by = str_fmt("((%s)%s)", type, number);
	return REWRITE_REPLACE;
}

/*
 * Whether the agent compiler, in its scope, takes the name for the same static object: then it needs no
 * replacement. Its listing of the address is a single constant.
 */
static bool compiles_as(const struct place *p, const char *name, uint64_t addr)
{
	cleanup_free char *cmd = str_fmt("maint agent-eval %s&(%s)", p->at, name), *out = NULL;
	struct err ignored;
	unsigned long long value;
	const char *body;
	int end = 0;

	if (gdb_console_at(p->g, p->tid, p->frame, 0, cmd, &out, &ignored))
		return false;
	body = strstr(out, "Reg mask:");
	body = body ? strchr(body, '\n') : NULL;
	return body && sscanf(body, " 0 const%*u %llu %*u end%n", &value, &end) == 1 && end &&
	       !strstr(body, "Scope:") && value == addr;
}

/*
 * (*(TYPE *)ADDRESS). The name of the type may mean another type in the frame's scope than where the
 * variable was declared: then it is refused.
 */
static enum rewrite_answer resolve_variable(const struct place *p, const char *name, const char *type,
					    uint64_t addr, char **by)
{
	cleanup_free char *cast = str_fmt("(*(%s)0x%llx)", type, (unsigned long long)addr);
	struct gdb_type want = {0}, got = {0};
	struct err ignored;
	bool same = !gdb_type_of(p->g, name, p->tid, p->frame, &want, &ignored) &&
		    !gdb_type_of(p->g, cast, p->tid, p->frame, &got, &ignored);

	/* A reference is its object: the address taken is the object's. */
	if (same && !want.is_reference)
		same = !strcmp(want.definition, got.definition) && want.size == got.size;
	gdb_type_fini(&want);
	gdb_type_fini(&got);
	if (!same) {
		err_set(p->e, ERR_NOT_FOUND, "the type of '%s' has no name here", name);
		return REWRITE_REFUSE;
	}
	*by = steal_ptr(&cast);
	return REWRITE_REPLACE;
}

static bool is_function(const char *type)
{
	return strstr(type, "(*)(") || str_starts(type, "<text");
}

/* GDB's death shows at the next question. */
static void note_local(const struct place *p, const char *name)
{
	struct err ignored;

	gdb_locals_add(p->g, p->tid, p->frame, name, p->locals, &ignored);
}

static enum rewrite_answer resolve(void *ctx, const char *name, char **by)
{
	const struct place *p = ctx;
	cleanup_free char *address_of = str_fmt("&(%s)", name), *type = NULL;
	uint64_t addr;

	if (!strcmp(name, "this"))
		return resolve_this(p, by);
	if (!strcmp(name, "bool") || !strcmp(name, "_Bool")) {
		/* Compiled to a cut to 8 bits. */
		err_set(p->e, ERR_NOT_FOUND, "a cast to bool");
		return REWRITE_REFUSE;
	}
	type = ask(p, "whatis/r ", address_of);
	if (type && is_function(type))
		return resolve_function(p, type, name, by);
	if (!type && *name == '\'')
		return resolve_character(p, name, by);
	note_local(p, name);
	if (!type || ask_number(p, "&", name, &addr))
		return resolve_unaddressed(p, name);
	note_owner(p, addr);
	if (compiles_as(p, name, addr))
		return REWRITE_KEEP;
	return resolve_variable(p, name, type, addr, by);
}

/* As resolve, for print: functions and constants may stay. */
static enum rewrite_answer resolve_absolute(void *ctx, const char *name, char **by)
{
	struct place *p = ctx;
	cleanup_free char *address_of = str_fmt("&(%s)", name), *type = NULL;
	enum rewrite_answer a;
	uint64_t addr;

	if (!strcmp(name, "this"))
		return resolve_this(p, by);
	type = ask(p, "whatis/r ", address_of);
	if ((type && is_function(type)) || (!type && *name == '\''))
		return REWRITE_KEEP;
	note_local(p, name);
	if (!type || ask_number(p, "&", name, &addr)) {
		a = resolve_unaddressed(p, name);
	} else {
		note_owner(p, addr);
		a = resolve_variable(p, name, type, addr, by);
	}
	p->scoped |= a == REWRITE_REFUSE;
	return a == REWRITE_REFUSE ? REWRITE_KEEP : a;
}

static bool no_cast(void *ctx, const char *operand)
{
	(void)ctx;
	(void)operand;
	return false;
}

static int rewrite(struct place *p, const struct rewrite_ops *ops, const char *expr, char **out)
{
	int r;

	err_set(p->e, ERR_NOT_FOUND, "too complicated to be compiled");
	r = rewrite_expr(expr, ops, p, out);
	if (gdb_dead(p->g))
		return err_set(p->e, ERR_INTERNAL, "GDB is gone: %s", gdb_dead(p->g));
	return r;
}

int gdb_rewrite(struct gdb *g, const char *expr, pid_t tid, int frame, const char *at, char **out,
		struct gdb_locals *locals, struct err *e)
{
	static const struct rewrite_ops ops = {.resolve = resolve, .needs_cast = ask_cast};
	struct place place = {.g = g, .tid = tid, .frame = frame, .at = at, .locals = locals, .e = e};

	return rewrite(&place, &ops, expr, out);
}

int gdb_rewrite_absolute(struct gdb *g, const char *expr, pid_t tid, int frame, char **out,
			 struct gdb_locals *locals, struct err *e)
{
	static const struct rewrite_ops ops = {.resolve = resolve_absolute, .needs_cast = no_cast};
	struct place place = {.g = g, .tid = tid, .frame = frame, .at = "", .locals = locals, .e = e};
	int r = rewrite(&place, &ops, expr, out);

	if (r || !place.scoped)
		return r;
	free(*out);
	*out = NULL;
	return 1;
}
