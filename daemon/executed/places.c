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

/* Of a table: places stay where they are, and entries do not. */
struct place_entry {
	uint64_t pc;
	struct code_place *at;
};

void places_init(struct places *p, const struct rec *rec)
{
	memset(p, 0, sizeof(*p));
	table_init(&p->at, sizeof(struct place_entry));
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
	for (struct place_entry *y = NULL; (y = table_next(&p->at, y));) {
		free(y->at->function);
		free(y->at->file);
		free(y->at->text);
		free(y->at->code);
		free(y->at);
	}
	table_fini(&p->at);
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
	*hash = 0xcbf29ce484222325ull; /* FNV-1a */
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
	if (!p->g || segment_copy_apart(&in->seg, t, &p->copy, e))
		return -1;
	return gdb_attach(p->g, p->copy, e);
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
	struct place_entry *y = table_add(&p->at, pc);

	if (!y->at) {
		y->at = xcalloc(1, sizeof(*y->at));
		y->at->pc = pc;
		ask(p, y->at);
	}
	return y->at;
}

const char *places_code(struct places *p, const struct code_place *at)
{
	struct code_place *x = ((const struct place_entry *)table_find(&p->at, at->pc))->at;
	uint8_t code[INSN_BYTES];
	size_t n;
	char text[128];

	if (x->code)
		return x->code;
	n = trace_read_some(p->copy, x->pc, code, sizeof(code));
	insn_text(code, n, x->pc, text, sizeof(text));
	x->code = xstrdup(text);
	return x->code;
}
