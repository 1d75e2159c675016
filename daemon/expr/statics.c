/* SPDX-License-Identifier: MIT */
/* statics.c: see statics.h. */
#include "expr/statics.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "expr/text.h"

/*
 * Prints "POINTER TYPE|ADDRESS" of the variable v of the function f. GDB finds the places of an inlined function as it
 * does for breakpoints; its inner blocks can be found by their addresses only.
 */
#define FIND                                                                                                           \
	"import re\\n"                                                                                                 \
	"def fred_is(n, f):\\n"                                                                                        \
	"  n = '::' + re.sub('[(].*', '', n)\\n"                                                                       \
	"  return n.endswith('::' + f) or re.sub('<.*>', '', n).endswith('::' + f)\\n"                                 \
	"def fred_static(f, v):\\n"                                                                                    \
	"  for sal in gdb.decode_line(f)[1] or ():\\n"                                                                 \
	"    top = gdb.block_for_pc(sal.pc)\\n"                                                                        \
	"    while top and not (top.function and fred_is(top.function.print_name, f)):\\n"                             \
	"      top = top.superblock\\n"                                                                                \
	"    seen = set()\\n"                                                                                          \
	"    for pc in range(top.start, min(top.end, top.start + 65536)) if top else ():\\n"                           \
	"      b = gdb.block_for_pc(pc)\\n"                                                                            \
	"      while b and b.start >= top.start and b.end <= top.end and (b.start, b.end) not in seen:\\n"             \
	"        for s in b:\\n"                                                                                       \
	"          if s.name.split('::')[-1] == v and s.addr_class == gdb.SYMBOL_LOC_STATIC:\\n"                       \
	"            return print('{}|{}'.format(s.type.pointer(), int(s.value().address)))\\n"                        \
	"        seen.add((b.start, b.end))\\n"                                                                        \
	"        b = b.superblock\\n"

/* Returns (*(TYPE)ADDRESS); NULL: there is no such variable, or this GDB cannot tell. */
static char *find_static(struct gdb *g, const char *function, const char *variable)
{
	cleanup_free char *f = gdb_python_text(function), *v = gdb_python_text(variable);
	cleanup_free char *cmd = str_fmt("python exec(\"" FIND "fred_static(%s, %s)\")", f, v), *out = NULL;
	unsigned long long addr;
	struct err ignored;
	char *bar;

	if (gdb_console_at(g, 0, -1, 0, cmd, &out, &ignored))
		return NULL;
	bar = strrchr(out, '|');
	if (!bar || !(addr = strtoull(bar + 1, NULL, 10)))
		return NULL;
	*bar = '\0';
	return str_fmt("(*(%s)0x%llx)", out, addr);
}

/* Moves behind "<int>" if a scope follows, so that it is not a comparison; else returns p. */
static const char *after_template(const char *p)
{
	const char *end = p;
	int depth = 0;

	do {
		if (!*end || strchr("&|;\"'", *end))
			return p;
		depth += (*end == '<') - (*end == '>');
		end++;
	} while (depth);
	return str_starts(end, "::") || *end == '(' ? end : p;
}

/* Moves behind a name with its scopes, "a::f<int>(int)::x", at p; *last: its last "::", or NULL. */
static const char *after_scoped(const char *p, const char **last)
{
	*last = NULL;
	for (;;) {
		const char *group;

		while (text_is_name(*p))
			p++;
		if (*p == '<')
			p = after_template(p);
		group = *p == '(' ? text_after_group(p) : NULL;
		if (group && str_starts(group, "::"))
			p = group;
		if (!str_starts(p, "::") || !text_is_name(p[2]))
			return p;
		*last = p;
		p += 2;
	}
}

/* The function's name without its argument types, which are not part of a static variable's name. */
static char *function_name(const char *from, const char *to)
{
	char *name = xstrndup(from, (size_t)(to - from));

	name[strcspn(name, "(")] = '\0';
	return name;
}

int expr_name_statics(struct gdb *g, const char *expr, char **out, struct err *e)
{
	cleanup_buf struct buf b = {0};
	bool any = false;

	for (const char *p = expr, *end, *last; *p; p = end) {
		cleanup_free char *by = NULL, *function = NULL, *variable = NULL;

		last = NULL;
		end = text_is_quote(*p) ? text_after_quote(p) : p + 1;
		if (!end)
			end = p + strlen(p);
		if (text_is_name(*p))
			end = after_scoped(p, &last);
		if (last) {
			function = function_name(p, last);
			variable = xstrndup(last + 2, (size_t)(end - last - 2));
			by = find_static(g, function, variable);
		}
		if (by)
			buf_add_str(&b, by);
		else
			buf_add(&b, p, (size_t)(end - p));
		any |= by != NULL;
	}
	if (gdb_check(g, e))
		return -1;
	if (!any)
		return 1;
	*out = buf_steal(&b);
	return 0;
}

static bool is_optimized(struct gdb *g, const char *name, pid_t tid, int frame)
{
	cleanup_free char *cmd = str_fmt("info address %s", name), *out = NULL;
	struct err ignored;

	return !gdb_console_at(g, tid, frame, 0, cmd, &out, &ignored) && strstr(out, "is optimized out");
}

int expr_check_optimized(struct gdb *g, const char *expr, pid_t tid, int frame, struct err *e)
{
	for (const char *p = expr, *end; *p; p = end) {
		cleanup_free char *name = NULL;
		bool member = p > expr && (p[-1] == '.' || (p[-1] == '>' && p - expr > 1 && p[-2] == '-'));

		end = p + 1;
		while (text_is_name(*p) && text_is_name(*end))
			end++;
		if (!text_is_name(*p) || isdigit((unsigned char)*p) || member)
			continue;
		name = xstrndup(p, (size_t)(end - p));
		if (is_optimized(g, name, tid, frame))
			return err_set(
				e, ERR_USAGE,
				"%s is <optimized out>: the program has it nowhere; compile with less optimization, "
				"or declare it volatile",
				name);
	}
	return 0;
}

void expr_tell_inlined(struct gdb *g, pid_t tid, int frame, struct err *e)
{
	cleanup_free char *name = gdb_reason_of(e) == GDB_NO_SYMBOL ? gdb_refused_name(e) : NULL;
	cleanup_free char *cmd = NULL, *wanted = NULL, *out = NULL;
	struct err ignored;

	if (!name || gdb_dead(g))
		return;
	cmd = str_fmt("info scope %s", name);
	wanted = str_fmt("Symbol %s is a function at address", name);
	if (!gdb_console_at(g, tid, frame, 0, cmd, &out, &ignored) && strstr(out, wanted))
		err_set(e, ERR_USAGE,
			"the function %s was inlined into its callers, so it cannot be called: compile with -O0, or "
			"write what it computes in its place",
			name);
}
