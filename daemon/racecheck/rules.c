/* SPDX-License-Identifier: MIT */
/* rules.c: see rules.h. */
#include "racecheck/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "racecheck/names.h"

void rules_init(struct rules *r, const struct rec *rec)
{
	memset(r, 0, sizeof(*r));
	modules_init(&r->modules);
	sources_init(&r->sources, rec);
}

void rules_fini(struct rules *r)
{
	for (size_t i = 0; i < r->nfiles; i++) {
		free(r->files[i].path);
		buf_fini(&r->files[i].text);
		atomics_fini(&r->files[i].names);
	}
	free(r->files);
	atomics_fini(&r->common);
	sources_fini(&r->sources);
	modules_fini(&r->modules);
	memset(r, 0, sizeof(*r));
}

/* ---- source files ---- */

static void read_text(struct rules *r, const char *path, struct buf *out)
{
	cleanup_free char *clean = path[0] == '/' ? path_clean(path) : NULL;
	const struct source *s = clean ? sources_find(&r->sources, clean) : NULL;
	cleanup_fclose FILE *f = NULL;
	struct err ignored;
	char piece[4096];
	size_t n;

	if (s && s->bytes && !source_read(&r->sources, s, out, &ignored))
		return;
	f = fopen(path, "re");
	while (f && out->len < SOURCE_MAX && (n = fread(piece, 1, sizeof(piece), f)) > 0)
		buf_add(out, piece, n);
}

static struct rules_file *file_of(struct rules *r, const char *path)
{
	struct rules_file *f;

	for (size_t i = 0; i < r->nfiles; i++)
		if (!strcmp(r->files[i].path, path))
			return &r->files[i];
	if (r->nfiles == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 16;
		r->files = xreallocarray(r->files, r->cap, sizeof(*r->files));
	}
	f = &r->files[r->nfiles++];
	*f = (struct rules_file){.path = xstrdup(path)};
	read_text(r, path, &f->text);
	atomics_scan(&f->names, (const char *)f->text.data, f->text.len);
	return f;
}

static bool is_header(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && (!strcmp(dot, ".h") || !strcmp(dot, ".hh") || !strcmp(dot, ".hpp") || !strcmp(dot, ".hxx"));
}

/* The macros and objects of all headers from which the program was made. */
static const struct atomics *common(struct rules *r)
{
	for (size_t i = 0; !r->have_common && i < r->sources.n; i++) {
		struct buf text = {0};

		if (!is_header(r->sources.v[i].name))
			continue;
		read_text(r, r->sources.v[i].name, &text);
		atomics_scan(&r->common, (const char *)text.data, text.len);
		buf_fini(&text);
	}
	r->have_common = true;
	return &r->common;
}

/* Is it a header of the C++ library, or of a compiler, with its atomic operations? All operations there are atomic. */
static bool is_atomic_header(const char *path)
{
	static const char *const names[] = {"atomic", "atomic_base.h", "atomicity.h", "atomic_wait.h", "stdatomic.h"};
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(base, names[i]))
			return true;
	return false;
}

static bool line_of(const struct buf *text, int line, const char **s, size_t *len)
{
	const char *p = (const char *)text->data, *end = p + text->len, *q;

	for (; p && p < end && line > 1; line--) {
		p = memchr(p, '\n', (size_t)(end - p));
		p = p ? p + 1 : end;
	}
	if (!p || p >= end)
		return false;
	q = memchr(p, '\n', (size_t)(end - p));
	*s = p;
	*len = (size_t)((q ? q : end) - p);
	return true;
}

/* Does an OpenMP pragma make this line's operations atomic? */
static bool is_by_pragma(const struct buf *text, int line)
{
	const char *s;
	size_t len;

	return (line_of(text, line, &s, &len) && atomics_pragma(s, len) == ATOMICS_HERE) ||
	       (line > 1 && line_of(text, line - 1, &s, &len) && atomics_pragma(s, len) == ATOMICS_NEXT);
}

struct asked_code {
	struct code_file *code;
	uint64_t pc;
};

static bool is_plain(void *ctx, const char *const *names, size_t n)
{
	const struct asked_code *p = ctx;

	return name_is_plain(p->code, p->pc, names, n);
}

enum rules_atomic rules_atomic(struct rules *r, pid_t pid, uint64_t pc, uint64_t addr)
{
	struct code_file *code = modules_at(&r->modules, pid, pc), *data = modules_at(&r->modules, pid, addr);
	const struct atomics_types types = {is_plain, &(struct asked_code){code, pc}};
	struct name name = {0};
	const struct rules_file *f;
	enum rules_atomic out;
	const char *path, *s;
	size_t len;
	int line;

	path = code ? module_line(code, pc, &line) : NULL;
	if (!path)
		return code && code->system ? RULES_TRUSTED : RULES_UNKNOWN;
	if (is_atomic_header(path))
		return RULES_ATOMIC;
	if (data)
		name_of_static(data, addr, &name);
	f = file_of(r, path);
	if (name.atomic || is_by_pragma(&f->text, line))
		out = RULES_ATOMIC;
	else if (!line_of(&f->text, line, &s, &len))
		out = RULES_UNKNOWN;
	else
		out = atomics_line(&f->names, common(r), s, len, name.variable, &types) ? RULES_ATOMIC : RULES_PLAIN;
	name_fini(&name);
	return out;
}

/* Have the sources of the program's own fences? */
static bool has_fences(struct rules *r)
{
	bool any = false;

	for (size_t i = 0; !r->fences_known && i < r->sources.n && !r->fences; i++) {
		struct buf text = {0};

		if (path_is_system(r->sources.v[i].name))
			continue;
		read_text(r, r->sources.v[i].name, &text);
		any |= text.len > 0;
		r->fences = !text.len || atomics_fences((const char *)text.data, text.len);
		buf_fini(&text);
	}
	r->fences |= !r->fences_known && !any;
	r->fences_known = true;
	return r->fences;
}

bool rules_has_relaxed(struct rules *r)
{
	return !has_fences(r);
}

/*
 * The innermost line outside the implementation of atomic operations, which may be inlined or called; NULL: not known.
 */
static const char *line_outside(struct rules *r, pid_t pid, uint64_t pc, const uint64_t *calls, uint32_t n, int *line)
{
	for (uint32_t k = 0;; k++) {
		struct code_file *code = modules_at(&r->modules, pid, pc);
		const char *path = code ? module_line_outside(code, pc, is_atomic_header, line) : NULL;

		if (!path || !is_atomic_header(path))
			return path;
		if (k == n)
			return NULL;
		pc = calls[k];
	}
}

bool rules_is_relaxed(struct rules *r, pid_t pid, uint64_t pc, const uint64_t *calls, uint32_t n)
{
	const struct rules_file *f;
	const char *path, *s;
	size_t len;
	int line;

	path = line_outside(r, pid, pc, calls, n, &line);
	if (!path)
		return false;
	f = file_of(r, path);
	return line_of(&f->text, line, &s, &len) && atomics_relaxed(&f->names, common(r), s, len) && !has_fences(r);
}
