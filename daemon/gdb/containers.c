/* SPDX-License-Identifier: MIT */
/*
 * containers.c: see containers.h. The layouts are those of libstdc++'s ABI (GCC 5 and later), as its own GDB scripts
 * know them. What is not in the table stays as it is.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "gdb/containers.h"
#include "gdb/rewrite.h"

#define VECTOR "std::vector<"
#define STRING "std::__cxx11::basic_string<"
#define LIST "std::__cxx11::list<"
#define DEQUE "std::deque<"
#define UNIQUE "std::unique_ptr<"
#define SHARED "std::shared_ptr<"
#define HELD "(*(%T **)&(%o))" /* the pointer comes first */

/* what: a method without arguments, "[" or "->". In the text %o is the object, %i the index, %T the first type. */
static const struct {
	const char *type, *what, *text;
} methods[] = {
	{VECTOR, "size", "((unsigned long)((%o)._M_impl._M_finish-(%o)._M_impl._M_start))"},
	{VECTOR, "capacity", "((unsigned long)((%o)._M_impl._M_end_of_storage-(%o)._M_impl._M_start))"},
	{VECTOR, "empty", "((%o)._M_impl._M_finish==(%o)._M_impl._M_start)"},
	{VECTOR, "data", "((%o)._M_impl._M_start)"},
	{VECTOR, "front", "((%o)._M_impl._M_start[0])"},
	{VECTOR, "back", "((%o)._M_impl._M_finish[-1])"},
	{VECTOR, "[", "((%o)._M_impl._M_start[%i])"},
	{STRING, "size", "((%o)._M_string_length)"},
	{STRING, "length", "((%o)._M_string_length)"},
	{STRING, "empty", "((%o)._M_string_length==0)"},
	{STRING, "c_str", "((%o)._M_dataplus._M_p)"},
	{STRING, "data", "((%o)._M_dataplus._M_p)"},
	{STRING, "front", "((%o)._M_dataplus._M_p[0])"},
	{STRING, "back", "((%o)._M_dataplus._M_p[(%o)._M_string_length-1])"},
	{STRING, "[", "((%o)._M_dataplus._M_p[%i])"},
	{LIST, "size", "((%o)._M_impl._M_node._M_size)"},
	{LIST, "empty", "((%o)._M_impl._M_node._M_size==0)"},
	{"std::map<", "size", "((%o)._M_t._M_impl._M_node_count)"},
	{"std::map<", "empty", "((%o)._M_t._M_impl._M_node_count==0)"},
	{"std::multimap<", "size", "((%o)._M_t._M_impl._M_node_count)"},
	{"std::multimap<", "empty", "((%o)._M_t._M_impl._M_node_count==0)"},
	{"std::set<", "size", "((%o)._M_t._M_impl._M_node_count)"},
	{"std::set<", "empty", "((%o)._M_t._M_impl._M_node_count==0)"},
	{"std::multiset<", "size", "((%o)._M_t._M_impl._M_node_count)"},
	{"std::multiset<", "empty", "((%o)._M_t._M_impl._M_node_count==0)"},
	{"std::unordered_map<", "size", "((%o)._M_h._M_element_count)"},
	{"std::unordered_map<", "empty", "((%o)._M_h._M_element_count==0)"},
	{"std::unordered_set<", "size", "((%o)._M_h._M_element_count)"},
	{"std::unordered_set<", "empty", "((%o)._M_h._M_element_count==0)"},
	{DEQUE, "size",
	 "((unsigned long)(((%o)._M_impl._M_finish._M_node-(%o)._M_impl._M_start._M_node-1)"
	 "*((%o)._M_impl._M_start._M_last-(%o)._M_impl._M_start._M_first)"
	 "+((%o)._M_impl._M_finish._M_cur-(%o)._M_impl._M_finish._M_first)"
	 "+((%o)._M_impl._M_start._M_last-(%o)._M_impl._M_start._M_cur)))"},
	{DEQUE, "empty", "((%o)._M_impl._M_finish._M_cur==(%o)._M_impl._M_start._M_cur)"},
	{DEQUE, "front", "((%o)._M_impl._M_start._M_cur[0])"},
	{UNIQUE, "get", HELD},
	{UNIQUE, "->", HELD},
	{SHARED, "get", "((%o)._M_ptr)"},
	{SHARED, "->", "((%o)._M_ptr)"},
};

/* Of other shape than their general template, or than the table says. */
static const char *const special[] = {"std::vector<bool,", "std::unique_ptr<void,"};

struct place {
	struct gdb *g;
	pid_t tid;
	int frame;
	bool any;
};

static enum rewrite_answer keep(void *ctx, const char *name, char **by)
{
	(void)ctx;
	(void)name;
	(void)by;
	return REWRITE_KEEP;
}

static bool no_cast(void *ctx, const char *operand)
{
	(void)ctx;
	(void)operand;
	return false;
}

/* "std::vector<int, std::allocator<int> >" of an object, or of what a pointer (*points) leads to. NULL: no class. */
static char *class_of(const struct place *p, const char *object, bool *points)
{
	cleanup_free char *cmd = str_fmt("ptype/rmt %s", object), *text = NULL;
	const char *from, *to, *behind;
	struct err ignored;

	if (gdb_console_at(p->g, p->tid, p->frame, 0, cmd, &text, &ignored))
		return NULL;
	from = strstr(text, "class ");
	behind = strrchr(text, '}');
	if (!from || !behind || !strstr(from, "<"))
		return NULL;
	from += strlen("class ");
	to = from + strcspn(from, "{\n");
	for (const char *base = from; (base = strstr(base, " : ")) && base < to;)
		to = base;
	while (to > from && to[-1] == ' ')
		to--;
	*points = strchr(behind, '*') != NULL;
	return strchr(behind, '[') || strstr(behind, "**") ? NULL : xstrndup(from, (size_t)(to - from));
}

/* The first of a template's arguments. */
static char *first_argument(const char *type)
{
	const char *from = strchr(type, '<') + 1, *p = from;

	for (int depth = 0; *p && (depth || (*p != ',' && *p != '>')); p++)
		depth += (*p == '<') - (*p == '>');
	while (p > from && p[-1] == ' ')
		p--;
	return xstrndup(from, (size_t)(p - from));
}

static char *fill(const char *text, const char *object, const char *index, const char *type)
{
	cleanup_free char *first = first_argument(type);
	struct buf out = {0};

	for (const char *p = text; *p; p++)
		if (p[0] == '%' && p[1])
			buf_add_str(&out, *++p == 'o' ? object : *p == 'i' ? index : first);
		else
			buf_add_char(&out, *p);
	return buf_steal(&out);
}

static const char *text_for(const char *type, const char *what)
{
	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++)
		if (str_starts(type, special[i]))
			return NULL;
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (str_starts(type, methods[i].type) && !strcmp(what, methods[i].what))
			return methods[i].text;
	return NULL;
}

static bool known(const char *what)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (!strcmp(what, methods[i].what))
			return true;
	return false;
}

/* Through pointers that are themselves objects, to what a method is called on. */
static char *apply(void *ctx, const char *object, const char *what, bool arrow, const char *index)
{
	struct place *p = ctx;
	cleanup_free char *type = NULL, *on = NULL;
	const char *text;
	bool points;

	if (!known(what))
		return NULL;
	type = class_of(p, object, &points);
	text = type && points == arrow ? text_for(type, what) : NULL;
	if (!text)
		return NULL;
	p->any = true;
	on = arrow ? str_fmt("*(%s)", object) : xstrdup(object);
	return fill(text, on, index ? index : "", type);
}

int gdb_without_containers(struct gdb *g, const char *expr, pid_t tid, int frame, char **out, struct err *e)
{
	static const struct rewrite_ops ops = {.resolve = keep, .needs_cast = no_cast, .member = apply};
	struct place place = {.g = g, .tid = tid, .frame = frame};
	cleanup_free char *text = NULL;
	int r;

	if (!strstr(expr, "->") && !strpbrk(expr, ".["))
		return 1;
	r = rewrite_expr(expr, &ops, &place, &text);
	if (gdb_dead(g))
		return err_set(e, ERR_INTERNAL, "GDB is gone: %s", gdb_dead(g));
	if (r || !place.any)
		return 1;
	*out = steal_ptr(&text);
	return 0;
}
