/* SPDX-License-Identifier: MIT */
/*
 * type.c: types from what `whatis` and `ptype` print, and values in GDB's manner. The definition is
 * C or C++ type syntax; its last and first words decide what it is.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "expr/text.h"
#include "expr/type.h"

void expr_type_fini(struct expr_type *type)
{
	free(type->name);
	free(type->definition);
	*type = (struct expr_type){0};
}

/* The text after "type = ", with the blanks at its end cut off. */
static char *type_text(const char *output)
{
	char *s = xstrdup(str_starts(output, "type = ") ? output + 7 : output);
	size_t n = strlen(s);

	while (n && isspace((unsigned char)s[n - 1]))
		s[--n] = '\0';
	return s;
}

/* Skips the qualifiers that may precede a type. */
static const char *skip_qualifiers(const char *s)
{
	for (;;) {
		if (str_starts(s, "const "))
			s += 6;
		else if (str_starts(s, "volatile "))
			s += 9;
		else
			return s;
	}
}

/* Classifies a name without declarators: "unsigned long", "bool", "long double". */
static void classify_base(struct expr_type *t, const char *d)
{
	t->is_signed = !text_has_word(d, "unsigned");
	if (text_has_word(d, "bool") || text_has_word(d, "_Bool"))
		t->kind = EXPR_TYPE_BOOL;
	else if (text_has_word(d, "float") || text_has_word(d, "double"))
		t->kind = EXPR_TYPE_FLOAT;
	else if (text_has_word(d, "char16_t") || text_has_word(d, "char32_t") || text_has_word(d, "char8_t"))
		t->kind = EXPR_TYPE_OTHER;
	else if (text_has_word(d, "char"))
		t->kind = EXPR_TYPE_CHAR;
	else if (text_has_word(d, "__int128") || text_has_word(d, "void") || text_has_word(d, "wchar_t"))
		t->kind = EXPR_TYPE_OTHER;
	else if (text_has_word(d, "int") || text_has_word(d, "long") || text_has_word(d, "short") ||
		 text_has_word(d, "unsigned"))
		t->kind = EXPR_TYPE_INT;
	else
		t->kind = EXPR_TYPE_OTHER;
}

static void classify_tagged(struct expr_type *t, const char *d)
{
	t->kind = str_starts(d, "enum") ? EXPR_TYPE_ENUM : EXPR_TYPE_AGGREGATE;
	/* GDB prints an enumerator without its value if that is one more than the one before */
	t->is_signed = t->kind == EXPR_TYPE_ENUM && strstr(d, "= -");
}

static bool is_tagged(const char *d)
{
	return str_starts(d, "enum") || str_starts(d, "struct") || str_starts(d, "union") || str_starts(d, "class");
}

/* Cuts off blanks and qualifiers at the end: "int * const" becomes "int *". */
static void trim_back(char *d)
{
	size_t n = strlen(d);

	while (n && d[n - 1] == ' ')
		d[--n] = '\0';
	if (str_ends(d, " const") || str_ends(d, "*const")) {
		d[n - 5] = '\0';
		trim_back(d);
	} else if (str_ends(d, " volatile") || str_ends(d, "*volatile")) {
		d[n - 8] = '\0';
		trim_back(d);
	}
}

void expr_type_classify(struct expr_type *t)
{
	cleanup_free char *copy = xstrdup(skip_qualifiers(t->definition));
	const char *after;
	size_t n;

	trim_back(copy);
	n = strlen(copy);
	if (n && copy[n - 1] == '&') {
		t->is_reference = true;
		while (n && copy[n - 1] == '&')
			copy[--n] = '\0';
		trim_back(copy);
		n = strlen(copy);
	}
	t->is_signed = false;
	/* Declarators follow the closing brace of a definition that is printed in full. */
	after = strrchr(copy, '}');
	after = after ? after + 1 : copy;
	if (strstr(after, "(*["))
		t->kind = EXPR_TYPE_AGGREGATE;
	else if (strstr(after, "(*)") || (n && copy[n - 1] == '*'))
		t->kind = EXPR_TYPE_POINTER;
	else if (n && copy[n - 1] == ']')
		t->kind = EXPR_TYPE_AGGREGATE;
	else if (strchr(after, '(') && !strstr(after, "(anonymous"))
		t->kind = EXPR_TYPE_FUNCTION;
	else if (is_tagged(copy))
		classify_tagged(t, copy);
	else
		classify_base(t, copy);
}

bool expr_type_is_scalar(const struct expr_type *t)
{
	return !t->is_reference && t->size && t->size <= 8 && t->kind <= EXPR_TYPE_POINTER;
}

bool expr_type_is_floating(const struct expr_type *t)
{
	return t->kind == EXPR_TYPE_FLOAT && (t->size == 4 || t->size == 8);
}

static int ask(struct gdb *g, const char *what, const char *expr, pid_t tid, int frame, char **out, struct err *e)
{
	cleanup_free char *cmd = str_fmt("%s %s", what, expr), *text = NULL;
	int r = gdb_console_at(g, tid, frame, 0, cmd, &text, e);

	if (!r)
		*out = type_text(text);
	return r;
}

int expr_type_of(struct gdb *g, const char *expr, pid_t tid, int frame, struct expr_type *type, struct err *e)
{
	cleanup_free char *size_expr = NULL, *size = NULL;
	struct expr_type t = {0};
	uint64_t bytes;
	int r;

	r = ask(g, "whatis/r", expr, tid, frame, &t.name, e);
	if (!r)
		r = ask(g, "ptype/r", expr, tid, frame, &t.definition, e);
	if (r) {
		expr_type_fini(&t);
		return r;
	}
	expr_type_classify(&t);
	size_expr = str_fmt("sizeof(%s)", expr);
	if (!gdb_eval(g, size_expr, tid, frame, 0, &size, e) && !str_u64(size, 10, 0, UINT32_MAX, &bytes))
		t.size = (unsigned)bytes;
	if (gdb_dead(g)) {
		expr_type_fini(&t);
		return -1;
	}
	*type = t;
	return 0;
}

/* The enumerator with this value, from a definition "enum x : int {A, B = 5, C}". NULL: none has it. */
static char *enumerator(const char *definition, int64_t value)
{
	const char *p = strchr(definition, '{');
	int64_t next = 0;

	while (p && *p && *p != '}') {
		size_t n;
		const char *name = p + 1 + strspn(p + 1, " ");

		n = strcspn(name, " =,}");
		p = name + n;
		if (str_starts(p, " = "))
			next = strtoll(p + 3, (char **)&p, 0);
		if (next == value)
			return n ? xstrndup(name, n) : NULL;
		next++;
		p += strcspn(p, ",}");
	}
	return NULL;
}

static char *format_char(int64_t value)
{
	static const char escapes[] = "\aa\bb\tt\nn\vv\ff\rr\033e\\\\''";
	unsigned char ch = (unsigned char)value;

	for (size_t i = 0; i + 1 < sizeof(escapes); i += 2)
		if (escapes[i] == (char)ch)
			return str_fmt("%" PRId64 " '\\%c'", value, escapes[i + 1]);
	if (ch >= 0x20 && ch < 0x7f)
		return str_fmt("%" PRId64 " '%c'", value, ch);
	return str_fmt("%" PRId64 " '\\%03o'", value, ch);
}

/* The value in the type's own width: a value of fewer than 8 bytes may come with more bits. */
static int64_t fit(const struct expr_type *t, int64_t value)
{
	unsigned bits = t->size * 8;

	if (!bits || bits >= 64)
		return value;
	value = (int64_t)((uint64_t)value << (64 - bits));
	return t->is_signed ? value >> (64 - bits) : (int64_t)((uint64_t)value >> (64 - bits));
}

char *expr_type_format(const struct expr_type *t, int64_t value)
{
	char *name;

	value = fit(t, value);
	switch (t->kind) {
	case EXPR_TYPE_BOOL:
		if (value == 0 || value == 1)
			return xstrdup(value ? "true" : "false");
		return str_fmt("%" PRId64, value);
	case EXPR_TYPE_CHAR:
		return format_char(value);
	case EXPR_TYPE_ENUM:
		name = enumerator(t->definition, value);
		return name ? name : str_fmt(t->is_signed ? "%" PRId64 : "%" PRIu64, value);
	case EXPR_TYPE_POINTER:
	case EXPR_TYPE_AGGREGATE:
	case EXPR_TYPE_FUNCTION:
		return str_fmt("0x%" PRIx64, (uint64_t)value);
	default:
		return t->is_signed ? str_fmt("%" PRId64, value) : str_fmt("%" PRIu64, (uint64_t)value);
	}
}

bool expr_type_is_wide(const struct expr_type *t)
{
	return t->kind == EXPR_TYPE_OTHER && t->size == 16 && text_has_word(t->definition, "__int128");
}
