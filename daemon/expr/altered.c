/* SPDX-License-Identifier: MIT */
/* altered.c: see altered.h. */
#include "expr/altered.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

/* The script defines its names in a dictionary of its own, since scripts of libraries have names, too. */
static const char script[] =
#include "altered.py.inc"
	;

static int ask(struct gdb *g, const struct expr_place *at, const char *cmd, char **out, struct err *e)
{
	if (!gdb_console_at(g, at->tid, at->frame, 0, cmd, out, e))
		return 0;
	return gdb_dead(g) ? -1 : 1;
}

int expr_altered_begin(struct gdb *g, const struct expr_place *at, struct err *e)
{
	cleanup_free char *text = NULL, *cmd = NULL, *known = NULL;
	int r = ask(g, at, "python print('fred_altered' in globals())", &known, e);

	if (r || str_starts(known, "True"))
		return r < 0 ? -1 : 0;
	text = gdb_python_text(script);
	cmd = str_fmt("python exec(\"fred_altered = {}\\n"
		      "exec(%s, fred_altered)\\n"
		      "fred_altered['refused'] = []\\n"
		      "fred_altered['Calls'](lambda why: fred_altered['refused'].append(why) if why else None)\")",
		      text);
	return ask(g, at, cmd, NULL, e) < 0 ? -1 : 0;
}

static char *first_line(const char *text)
{
	return *text && *text != '\n' ? xstrndup(text, strcspn(text, "\n")) : NULL;
}

int expr_altered(struct gdb *g, const struct expr_place *at, uint64_t address, const char *name, char **refusal,
		 struct err *e)
{
	cleanup_free char *quoted = gdb_python_text(name);
	cleanup_free char *cmd = str_fmt("python print(fred_altered['why_not'](%" PRIu64 ", %s) or '')", address,
					 quoted),
			  *text = NULL;
	int r = ask(g, at, cmd, &text, e);

	*refusal = r ? NULL : first_line(text);
	return r;
}

bool expr_altered_called(struct gdb *g, struct err *why)
{
	cleanup_free char *text = NULL, *first = NULL;
	struct err ignored;

	if (gdb_console(g, "python print(*fred_altered['refused'][:1]); fred_altered['refused'].clear()", &text,
			&ignored))
		return false;
	first = first_line(text);
	if (first)
		err_set(why, ERR_USAGE, "%s", first);
	return first;
}

const char *expr_last_part(const char *name)
{
	const char *last = name;
	int depth = 0;

	for (const char *p = name; *p; p++) {
		depth += (*p == '<') - (*p == '>');
		if (!depth && str_starts(p, "::"))
			last = p + 2;
	}
	return last;
}

int expr_altered_named(struct gdb *g, const struct expr_place *at, const char *functions, const char *name,
		       char **refusal, struct err *e)
{
	cleanup_free char *location = gdb_python_text(functions), *last = gdb_python_text(expr_last_part(functions));
	cleanup_free char *look = str_fmt("python print(*fred_altered['entries'](%s, %s))", location, last);
	cleanup_free char *entries = NULL;
	cleanup_strv struct strv v = {0};
	int r = ask(g, at, look, &entries, e);

	*refusal = NULL;
	if (r)
		return r;
	strv_split(&v, entries, " \n");
	for (size_t i = 0; i < v.n && r >= 0 && !*refusal; i++)
		r = expr_altered(g, at, strtoull(v.s[i], NULL, 10), name, refusal, e);
	return r < 0 ? -1 : 0;
}
