/* SPDX-License-Identifier: MIT */
/* suppress.c: see suppress.h. */
#include "memcheck/suppress.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define TOOL "Memcheck"
#define FRAMES_MAX 24 /* as many as Valgrind takes */

void suppressions_fini(struct suppressions *s)
{
	for (size_t k = 0; k < s->n; k++) {
		free(s->v[k].name);
		free(s->v[k].kind);
		strv_fini(&s->v[k].frames);
	}
	free(s->v);
	*s = (struct suppressions){0};
}

/* ---- reading ---- */

struct reading {
	const char *p; /* what comes next */
	unsigned line;
};

/* The next line that is neither empty nor a comment, without spaces around it, malloc'd; NULL: there is none. */
static char *next_line(struct reading *r)
{
	while (*r->p) {
		size_t n = strcspn(r->p, "\n"), from = 0, to = n;
		const char *at = r->p;

		r->line++;
		r->p += n + (r->p[n] == '\n');
		while (from < to && strchr(" \t\r", at[from]))
			from++;
		while (to > from && strchr(" \t\r", at[to - 1]))
			to--;
		if (to > from && at[from] != '#')
			return str_fmt("%.*s", (int)(to - from), at + from);
	}
	return NULL;
}

static bool is_frame(const char *line)
{
	return !strcmp(line, "...") || str_starts(line, "fun:") || str_starts(line, "obj:") || str_starts(line, "src:");
}

static int wrong(const struct reading *r, const char *what, struct err *e)
{
	return err_set(e, ERR_USAGE, "suppressions, line %u: %s", r->line, what);
}

/* "Memcheck,Other:Kind". *kind NULL: it is none of Memcheck's. */
static int take_kind(const struct reading *r, const char *line, char **kind, struct err *e)
{
	const char *colon = line ? strchr(line, ':') : NULL;
	char *tools;
	bool ours = false;

	if (!colon || !colon[1])
		return wrong(r, "TOOL:KIND is expected after the name", e);
	tools = str_fmt("%.*s", (int)(colon - line), line);
	for (char *rest, *t = strtok_r(tools, ",", &rest); t; t = strtok_r(NULL, ",", &rest))
		ours |= !strcmp(t, TOOL);
	free(tools);
	*kind = ours ? xstrdup(colon + 1) : NULL;
	return 0;
}

/* Lines up to the closing brace. Before the frames there may be one that says more of the kind. */
static int take_frames(struct reading *r, struct suppression *s, struct err *e)
{
	bool extra = s->kind && !strcmp(s->kind, "Param");

	for (char *line; (line = next_line(r)) != NULL;) {
		bool end = !strcmp(line, "}"), frame = is_frame(line);

		if (frame)
			strv_add(&s->frames, line);
		frame |= extra || !s->kind || str_starts(line, "match-leak-kinds:");
		extra = false;
		free(line);
		if (end)
			return s->frames.n || !s->kind ? 0 : wrong(r, "there is no frame", e);
		if (!frame)
			return wrong(r, "fun:, obj:, src:, ... or } is expected", e);
	}
	return wrong(r, "a } is missing", e);
}

/* After the opening brace. */
static int take_one(struct reading *r, struct suppression *s, struct err *e)
{
	char *line;
	int ret;

	s->name = next_line(r);
	if (!s->name)
		return wrong(r, "a name is expected after {", e);
	line = next_line(r);
	ret = take_kind(r, line, &s->kind, e);
	free(line);
	return ret ? -1 : take_frames(r, s, e);
}

static void add(struct suppressions *s, const struct suppression *one)
{
	if (s->n == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 16;
		s->v = xreallocarray(s->v, s->cap, sizeof(*s->v));
	}
	s->v[s->n++] = *one;
}

static void drop(struct suppression *one)
{
	struct suppressions s = {.v = xmalloc(sizeof(*one)), .n = 1};

	s.v[0] = *one;
	suppressions_fini(&s);
}

int suppressions_parse(struct suppressions *s, const char *text, struct err *e)
{
	struct reading r = {.p = text};

	for (char *line; (line = next_line(&r)) != NULL;) {
		struct suppression one = {0};
		bool begins = !strcmp(line, "{");

		free(line);
		if (!begins)
			return wrong(&r, "a { is expected", e);
		if (take_one(&r, &one, e)) {
			drop(&one);
			return -1;
		}
		if (one.kind)
			add(s, &one);
		else
			drop(&one);
	}
	return 0;
}

/* ---- matching ---- */

static bool matches_text(const char *pattern, const char *text)
{
	return text && !fnmatch(pattern, text, 0);
}

static bool matches_source(const char *pattern, const struct suppress_frame *f)
{
	char *with_line = f->file ? str_fmt("%s:%d", f->file, f->line) : NULL;
	bool r = matches_text(pattern, f->file) || matches_text(pattern, with_line);

	free(with_line);
	return r;
}

static bool matches_frame(const char *line, const struct suppress_frame *f)
{
	const char *pattern = line + 4, *slash = strrchr(pattern, '/');

	if (str_starts(line, "fun:"))
		return matches_text(pattern, f->function);
	if (str_starts(line, "obj:"))
		return matches_text(slash ? slash + 1 : pattern, f->module);
	return str_starts(line, "src:") && matches_source(pattern, f);
}

/* Frames of the suppression from k on, and of the stack from i on: what is left of the stack does not matter. */
static bool matches_from(const struct suppression *s, size_t k, const struct suppress_frame *f, size_t n)
{
	for (; k < s->frames.n; k++, f++, n--) {
		if (!strcmp(s->frames.s[k], "...")) {
			for (;; f++, n--) {
				if (matches_from(s, k + 1, f, n))
					return true;
				if (!n)
					return false;
			}
		}
		if (!n || !matches_frame(s->frames.s[k], f))
			return false;
	}
	return true;
}

/* With one of these functions in front of the stack. */
static bool matches_inner(const struct suppression *s, const struct suppress_frame *frames, size_t n,
			  const char *const *inner)
{
	struct suppress_frame *with = xcalloc(n + 1, sizeof(*with));
	bool r = false;

	if (n)
		memcpy(with + 1, frames, n * sizeof(*frames));
	for (; inner && *inner && !r; inner++) {
		with[0] = (struct suppress_frame){.function = *inner, .module = "libc.so.6"};
		r = matches_from(s, 0, with, n + 1);
	}
	free(with);
	return r;
}

/* Value0 is an old name of Cond. */
static bool matches_kind(const char *wanted, const char *kind)
{
	return !strcmp(wanted, kind) || (!strcmp(wanted, "Value0") && !strcmp(kind, "Cond")) ||
	       (!strcmp(kind, SUPPRESS_ANY_ADDR) && str_starts(wanted, "Addr"));
}

bool suppressions_match(struct suppressions *s, const char *kind, const struct suppress_frame *frames, size_t n,
			const char *const *inner)
{
	for (size_t k = 0; k < s->n; k++) {
		struct suppression *one = &s->v[k];

		if (!matches_kind(one->kind, kind) ||
		    (!matches_from(one, 0, frames, n) && !matches_inner(one, frames, n, inner)))
			continue;
		one->count++;
		return true;
	}
	return false;
}

/* ---- writing ---- */

char *suppression_text(const char *kind, const struct suppress_frame *frames, size_t n, const char *inner)
{
	struct buf b = {0};

	buf_addf(&b, "{\n   <insert_a_suppression_name_here>\n   " TOOL ":%s\n",
		 strcmp(kind, SUPPRESS_ANY_ADDR) != 0 ? kind : "Addr1");
	if (!strcmp(kind, "Param"))
		buf_addf(&b, "   %s(buf)\n", inner);
	if (inner)
		buf_addf(&b, "   fun:%s\n", inner);
	for (size_t k = 0; k < n && k < FRAMES_MAX; k++) {
		if (frames[k].function)
			buf_addf(&b, "   fun:%s\n", frames[k].function);
		else
			buf_addf(&b, "   obj:*%s\n", frames[k].module ? frames[k].module : "");
	}
	buf_add_str(&b, "}\n");
	return buf_steal(&b);
}
