/* SPDX-License-Identifier: MIT */
/* eval.c: expressions as GDB evaluates them. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "gdb/gdb.h"
#include "gdb/gdb_int.h"
#include "gdb/mi_quote.h"

/* A command of GDB's is one line; in an expression a line break means the same as a blank. */
static char *one_line(const char *expr)
{
	char *s = xstrdup(expr);

	for (char *p = s; *p; p++)
		if (*p == '\n' || *p == '\r')
			*p = ' ';
	return s;
}

static int evaluate(struct gdb *g, const char *expr, pid_t tid, int frame, int timeout_ms, char **value, struct err *e)
{
	cleanup_mi_reply struct mi_reply r = {0};
	cleanup_free char *scope = NULL, *q = mi_quote(expr);
	const char *text;
	int w;

	if (gdb_scope(g, tid, frame, &scope, e))
		return -1;
	w = gdb_cmd(g, timeout_ms, &r, e, "-data-evaluate-expression %s %s", scope, q);
	if (w > 0)
		return gdb_refusal(mi_reply_error(&r), e);
	if (w < 0)
		return -1;
	text = mi_str(r.result->results, "value");
	if (!text)
		return err_set(e, ERR_INTERNAL, "GDB gave no value for: %.200s", expr);
	if (!strcmp(text, "<optimized out>"))
		return gdb_refusal("the value has been optimized out", e);
	*value = xstrdup(text);
	return 0;
}

int gdb_eval(struct gdb *g, const char *expr, pid_t tid, int frame, int timeout_ms, char **value, struct err *e)
{
	cleanup_free char *line = one_line(expr), *text = NULL, *object = NULL;
	int r;

	if (!line[strspn(line, " \t")])
		return err_set(e, ERR_USAGE, "an empty expression");
	r = evaluate(g, line, tid, frame, timeout_ms, &text, e);
	if (r)
		return r;
	if (!str_starts(text, "@0x")) {
		*value = steal_ptr(&text);
		return 0;
	}
	/* a C++ reference: MI shows only the address, `print` also the object */
	object = str_fmt("*&(%s)", line);
	return evaluate(g, object, tid, frame, timeout_ms, value, e);
}

/* The word that follows a text in what a command prints, up to a quote or full stop. NULL: the text is not there. */
static char *word_after(struct gdb *g, pid_t tid, int frame, const char *cmd, const char *after)
{
	cleanup_free char *text = NULL;
	struct err ignored;
	const char *p;

	if (gdb_console_at(g, tid, frame, 0, cmd, &text, &ignored))
		return NULL;
	p = strstr(text, after);
	return p ? xstrndup(p + strlen(after), strcspn(p + strlen(after), "\".\n")) : NULL;
}

static bool has_source(struct gdb *g, pid_t tid, int frame)
{
	struct gdb_frame *frames;
	struct err ignored;
	bool has;
	size_t n;

	if (gdb_backtrace(g, tid, frame + 1, &frames, &n, &ignored))
		return false;
	has = (size_t)frame < n && frames[frame].file;
	gdb_frames_free(frames, n);
	return has;
}

int gdb_keep_language(struct gdb *g, pid_t tid, int frame, struct err *e)
{
	cleanup_free char *name = NULL, *cmd = NULL;
	struct err ignored;

	if (!gdb_console(g, "set language auto", NULL, &ignored) && has_source(g, tid, frame))
		name = word_after(g, tid, frame, "show language", "currently ");
	else if (!gdb_console(g, "list main", NULL, &ignored))
		name = word_after(g, tid, frame, "info source", "Source language is ");
	cmd = name ? str_fmt("set language %s", name) : NULL;
	if (cmd && gdb_console(g, cmd, NULL, &ignored) && !gdb_dead(g))
		gdb_console(g, "set language auto", NULL, &ignored);
	return gdb_check(g, e);
}

int gdb_eval_bool(struct gdb *g, const char *expr, pid_t tid, int frame, int timeout_ms, bool *value, struct err *e)
{
	cleanup_free char *negated = str_fmt("!(%s)", expr), *text = NULL;
	int r = gdb_eval(g, negated, tid, frame, timeout_ms, &text, e);

	if (r)
		return r;
	if (strcmp(text, "0") && strcmp(text, "1") && strcmp(text, "false") && strcmp(text, "true"))
		return err_set(e, ERR_USAGE, "neither true nor false: %.200s", expr);
	*value = !strcmp(text, "0") || !strcmp(text, "false");
	return 0;
}
