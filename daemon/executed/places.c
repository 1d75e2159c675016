/* SPDX-License-Identifier: MIT */
/* places.c: see places.h. */
#include "executed/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "insn/insn.h"
#include "replay/stack.h"

#define CAP_FIRST 1024 /* a power of two */
#define HASH 0x9e3779b97f4a7c15ull

void places_init(struct places *p, const struct rec *rec)
{
	memset(p, 0, sizeof(*p));
	sources_init(&p->sources, rec);
}

static void drop_copy(struct places *p)
{
	struct err ignored;

	if (!p->copy)
		return;
	if (!gdb_dead(p->g))
		gdb_detach(p->g, &ignored);
	target_snap_kill(p->copy);
	p->copy = 0;
}

void places_fini(struct places *p)
{
	drop_copy(p);
	gdb_free(p->g);
	sources_fini(&p->sources);
	for (size_t k = 0; k < p->cap; k++) {
		struct code_place *x = p->v[k];

		if (!x)
			continue;
		free(x->function);
		free(x->file);
		free(x->text);
		free(x->code);
		free(x);
	}
	free(p->v);
	memset(p, 0, sizeof(*p));
}

/* Of the lines of its mappings that are executable. */
static int code_of(pid_t pid, uint64_t *hash, struct err *e)
{
	char path[32], line[4400];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return err_errno(e, ERR_INTERNAL, "%s", path);
	*hash = HASH;
	while (fgets(line, sizeof(line), f)) {
		const char *rights = strchr(line, ' ');

		if (!rights || rights[3] != 'x')
			continue;
		for (const char *c = line; *c; c++)
			*hash = (*hash ^ (uint8_t)*c) * 0x100000001b3ull;
	}
	fclose(f);
	return 0;
}

int places_see(struct places *p, const struct segcur *in, struct trace *t, struct err *e)
{
	uint64_t now;

	if (code_of(t->pid, &now, e))
		return -1;
	if (p->copy && now == p->mapped)
		return 0;
	drop_copy(p);
	p->mapped = now;
	if (!p->g)
		p->g = gdb_new(NULL, e);
	if (!p->g || segment_copy(&in->seg, t, &p->copy, e))
		return -1;
	return gdb_attach(p->g, p->copy, e);
}

static struct code_place **slot_of(struct places *p, uint64_t pc)
{
	size_t k = (size_t)(pc * HASH >> 20) & (p->cap - 1);

	while (p->v[k] && p->v[k]->pc != pc)
		k = (k + 1) & (p->cap - 1);
	return &p->v[k];
}

static void grow(struct places *p)
{
	struct code_place **old = p->v;
	size_t n = p->cap;

	p->cap = n ? n * 2 : CAP_FIRST;
	p->v = xcalloc(p->cap, sizeof(struct code_place *));
	for (size_t k = 0; k < n; k++)
		if (old[k])
			*slot_of(p, old[k]->pc) = old[k];
	free(old);
}

/* "puts@plt" is a call of puts. */
static char *name_of(const char *func)
{
	const char *plt = func ? strstr(func, "@plt") : NULL;

	if (!func)
		return NULL;
	return plt && !plt[4] ? xstrndup(func, (size_t)(plt - func)) : xstrdup(func);
}

static void ask(struct places *p, struct code_place *x)
{
	struct gdb_line line = {0};
	struct gdb_frame f = {.addr = x->pc};
	struct location l = {0};
	struct err ignored;
	char *text = NULL;

	if (!p->copy || gdb_line_at(p->g, x->pc, &line, &ignored))
		return;
	f.func = line.func;
	f.file = line.file;
	f.fullname = line.fullname;
	f.line = line.line;
	location_of(&l, &f);
	x->function = name_of(line.func);
	x->line = line.file ? line.line : 0;
	x->file = line.file ? xstrdup(frame_file(&f)) : NULL;
	if (x->file && recorded_line(&p->sources, x->file, x->line, &text))
		x->text = text;
	else if (l.text)
		x->text = xstrdup(l.text);
	location_fini(&l);
	gdb_line_fini(&line);
}

const struct code_place *places_at(struct places *p, uint64_t pc)
{
	struct code_place **slot;

	if (p->n * 2 >= p->cap)
		grow(p);
	slot = slot_of(p, pc);
	if (!*slot) {
		*slot = xcalloc(1, sizeof(**slot));
		(*slot)->pc = pc;
		p->n++;
		ask(p, *slot);
	}
	return *slot;
}

const char *places_code(struct places *p, const struct code_place *at)
{
	struct code_place *x = *slot_of(p, at->pc);
	uint8_t code[INSN_BYTES];
	struct err ignored;
	size_t n = sizeof(code);
	char text[128];

	if (x->code)
		return x->code;
	while (n && trace_read(p->copy, x->pc, code, n, &ignored))
		n--;
	insn_text(code, n, x->pc, text, sizeof(text));
	x->code = xstrdup(text);
	return x->code;
}
