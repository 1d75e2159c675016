/* SPDX-License-Identifier: MIT */
/*
 * names.c: expressions of a frame, rewritten so that they can be evaluated without it: watchpoints outlive their frame,
 * and reverse-watch reads names in the innermost frame of the thread that stopped. An object in memory is named by its
 * type and its address there.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "dap/dap.h"
#include "gdb/mi_quote.h"

/* A member's expression, starting at the variable that the editor was shown, as by -var-info-path-expression. */
static char *path_of(struct dap *d, const char *object)
{
	struct mi_record *r = dap_mi(d, "-var-info-path-expression %s", object);
	const char *path = r ? mi_str(r->results, "path_expr") : NULL;
	char *expr = path ? xstrdup(path) : NULL;

	mi_record_free(r);
	return expr;
}

/* A variable object's child of this name. NULL: there is none. */
static char *child_of(struct dap *d, const char *object, const char *name)
{
	struct mi_record *r = dap_mi(d, "-var-list-children --no-values %s", object);
	const struct mi_value *list = r ? mi_get(r->results, "children") : NULL;
	char *found = NULL;

	for (size_t i = 0; list && i < list->n && !found; i++)
		if (str_eq(mi_str(list->item[i], "exp"), name) && mi_str(list->item[i], "name"))
			found = xstrdup(mi_str(list->item[i], "name"));
	mi_record_free(r);
	return found;
}

char *dap_expr_of(struct dap *d, int ref, const char *name, int *thread, int *frame)
{
	const struct dap_ref *r = ref > 0 && (size_t)ref <= d->nrefs ? &d->refs[ref - 1] : NULL;
	cleanup_free char *child = NULL;

	if (!r)
		return NULL;
	*thread = r->thread;
	*frame = r->frame;
	if (r->kind == REF_LOCALS)
		return xstrdup(name);
	if (r->kind == REF_REGISTERS)
		return str_fmt("$%s", name);
	child = child_of(d, r->object, name);
	return child ? path_of(d, child) : NULL;
}

/* The object's address, in hexadecimal. NULL: it is not in memory, and *why says so. */
static char *address_of(struct dap *d, int thread, int frame, const char *expr, char **why)
{
	cleanup_free char *address = str_fmt("(unsigned long) &(%s)", expr);
	cleanup_free char *value = dap_value(d, thread, frame, address, why);
	uint64_t n;

	if (value && !str_u64(value, 10, 0, UINT64_MAX, &n))
		return str_fmt("0x%llx", (unsigned long long)n);
	if (value && why)
		*why = str_fmt("%s: an address was expected, not %s", expr, value);
	return NULL;
}

/* The name of the expression's type, for example "int"; NULL: it has none. */
static char *type_of(struct dap *d, int thread, int frame, const char *expr)
{
	struct mi_record *r = dap_new_object(d, thread, frame, expr);
	const char *type = r && !str_eq(r->klass, "error") ? mi_str(r->results, "type") : NULL;
	char *found = type ? xstrdup(type) : NULL;

	if (found)
		mi_record_free(dap_mi(d, "-var-delete %s", mi_str(r->results, "name")));
	mi_record_free(r);
	return found;
}

/* Does GDB understand the expression in a frame where the program's local types are unknown? */
static bool is_understood(struct dap *d, const char *object)
{
	cleanup_free char *size = str_fmt("sizeof(%s)", object), *value = dap_value(d, 0, 0, size, NULL);

	return value != NULL;
}

/*
 * Names an object by its type and address. NULL: the type cannot be written, or the expression is no object; *why says
 * so. *address is to be freed.
 */
static char *typed_object(struct dap *d, int thread, int frame, const char *expr, char **address, char **why)
{
	cleanup_free char *type = type_of(d, thread, frame, expr), *object = NULL;

	*address = address_of(d, thread, frame, expr, why);
	if (!*address)
		return NULL;
	object = str_fmt("*(%s *) %s", type ? type : "", *address);
	if (type && is_understood(d, object))
		return steal_ptr(&object);
	if (why)
		*why = str_fmt("%s: its type '%s' cannot be written outside of its function", expr, type ? type : "");
	return NULL;
}

char *dap_object(struct dap *d, int thread, int frame, const char *expr, char **why)
{
	cleanup_free char *address = NULL, *reason = NULL;
	cleanup_free char *object = typed_object(d, thread, frame, expr, &address, &reason);
	cleanup_free char *bytes = object || !address ? NULL : str_fmt("sizeof(%s)", expr);
	cleanup_free char *size = bytes ? dap_value(d, thread, frame, bytes, NULL) : NULL;

	if (object)
		return steal_ptr(&object);
	if (size)
		return str_fmt("*(char (*)[%s]) %s", size, address);
	if (why)
		*why = steal_ptr(&reason);
	return NULL;
}

/* ---- all names of an expression ---- */

struct names {
	struct dap *d;
	int thread, frame;
	char **why;
};

/* Appends the name, or what replaces it. False: the name means something else here, and *why says so. */
static bool add_name(const struct names *n, struct buf *out, const char *name)
{
	cleanup_free char *there = address_of(n->d, n->thread, n->frame, name, NULL),
			  *here = address_of(n->d, n->d->thread, 0, name, NULL), *address = NULL, *object = NULL,
			  *value = NULL;

	if (str_eq(there, here))
		value = there ? NULL : dap_value(n->d, n->thread, n->frame, name, NULL);
	else if (there)
		object = typed_object(n->d, n->thread, n->frame, name, &address, n->why);
	if (str_eq(there, here) && !value) {
		buf_add_str(out, name);
		return true;
	}
	if (object) {
		buf_addf(out, "(%s)", object);
		return true;
	}
	if (!there && n->why && !*n->why)
		*n->why = str_fmt("%s is no object in memory in this frame: ask in the innermost frame of thread %d",
				  name, n->d->thread);
	return false;
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Is the name at `at` a member or a register, by the characters before it? */
static bool is_member(const char *text, const char *at)
{
	while (at > text && isspace((unsigned char)at[-1]))
		at--;
	return at > text && (at[-1] == '.' || at[-1] == '$' || at[-1] == ':' || at[-1] == '@' ||
			     (at - text > 1 && at[-1] == '>' && at[-2] == '-'));
}

/* The end of a string or character constant that begins here. */
static const char *after_quotes(const char *at)
{
	char quote = *at++;

	while (*at && *at != quote)
		at += *at == '\\' && at[1] ? 2 : 1;
	return *at ? at + 1 : at;
}

static const char *after_word(const char *at)
{
	while (is_name(*at))
		at++;
	return at;
}

/* Is the word followed by "::"? Then it is a namespace's or a class's. */
static bool is_scope(const char *end)
{
	return end[0] == ':' && end[1] == ':';
}

char *dap_expr_everywhere(struct dap *d, int thread, int frame, const char *expr, char **why)
{
	struct names n = {d, thread, frame, why};
	cleanup_buf struct buf out = {0};

	*why = NULL;
	if (!thread || (thread == d->thread && !frame))
		return xstrdup(expr);
	for (const char *at = expr, *end; *at; at = end) {
		end = *at == '"' || *at == '\'' ? after_quotes(at) : is_name(*at) ? after_word(at) : at + 1;
		if (is_name(*at) && !isdigit((unsigned char)*at) && !is_member(expr, at) && !is_scope(end)) {
			cleanup_free char *name = str_fmt("%.*s", (int)(end - at), at);

			if (!add_name(&n, &out, name))
				return NULL;
		} else {
			buf_add(&out, at, (size_t)(end - at));
		}
	}
	return xstrdup(buf_str(&out));
}
