/* SPDX-License-Identifier: MIT */
/* moments.c: see moments.h. */
#include "instrument/moments.h"

#include <stdlib.h>
#include <string.h>

#include "base/maps.h"
#include "base/path.h"
#include "replay/show.h"

#define U(x) ((unsigned long long)(x))

static char *name_of(const char *path)
{
	return path[0] == '/' ? xstrdup(strrchr(path, '/') + 1) : NULL;
}

/* *gone: the code is no longer mapped, and other code may be there. */
static char *module_of(const struct moment_describer *d, const struct moment *m, uint64_t pc, bool *gone)
{
	const struct code_mapping *was = code_at(d->code, pc, m->code);
	struct mapping v;

	*gone = was && was->until;
	if (*gone)
		return name_of(was->path);
	return maps_find(d->nav->t.pid, pc, &v) ? name_of(v.path) : NULL;
}

static struct gdb_frame *add_frame(struct stack *s, uint64_t pc, const char *module, const char *func)
{
	struct gdb_frame *f;

	s->frames = xreallocarray(s->frames, s->n + 1, sizeof(*s->frames));
	f = &s->frames[s->n];
	*f = (struct gdb_frame){.level = (int)s->n, .addr = pc, .module = str_dup(module), .func = str_dup(func)};
	s->n++;
	return f;
}

/* The frames of functions that the one of this address is inlined in: GDB has their names, and DWARF where they are. */
static void add_around(struct moment_describer *d, struct stack *s, uint64_t pc, const char *module,
		       const struct gdb_line *line)
{
	struct module_call calls[MODULE_INLINED];
	struct code_file *m = line->around.n ? modules_at(&d->modules, d->nav->t.pid, pc) : NULL;
	size_t n = m ? module_inlined(m, pc, calls) : 0;

	for (size_t k = 0; k < n && k < line->around.n && calls[k].path; k++) {
		struct gdb_frame *f = add_frame(s, pc, module, line->around.s[k]);

		f->file = xstrdup(calls[k].path);
		f->fullname = calls[k].path[0] == '/' ? path_clean(calls[k].path) : NULL;
		f->line = calls[k].line;
	}
}

/* Finds the frames by GDB, which is attached to the process. */
static void resolve(struct moment_describer *d, const struct moment *m, struct stack *s)
{
	const struct kept_stack *k = d->stacks->v[m->stack];

	for (uint32_t i = 0; i < k->n; i++) {
		struct gdb_line line = {0};
		struct gdb_frame *f;
		struct err ignored;
		bool gone;
		char *module = module_of(d, m, k->pc[i], &gone);

		if (!gone)
			gdb_line_at(d->g, k->pc[i], &line, &ignored);
		f = add_frame(s, k->pc[i], module, line.func);
		f->file = str_dup(line.file);
		f->fullname = str_dup(line.fullname);
		f->line = line.line;
		add_around(d, s, k->pc[i], module, &line);
		gdb_line_fini(&line);
		free(module);
	}
	if (s->n)
		location_of(&s->location, &s->frames[stack_user_frame(s->frames, s->n)]);
}

static json_t *thread_json(struct moment_describer *d, const struct moment *moment)
{
	struct timeline_where w;
	struct err ignored;
	pid_t tid = target_tid(&d->nav->t, moment->thread);

	if (!tid && !timeline_find(d->nav->t.tl, moment->event + 1, &w, &ignored))
		tid = w.tid;
	return show_thread(&d->nav->t, d->nav->t.pid, moment->thread, tid);
}

/* Notes belong to the result, each once. */
static void take_notes(struct moment_describer *d, json_t *o)
{
	json_t *note;
	size_t k;

	json_array_foreach(json_object_get(o, "notes"), k, note) if (!strv_has(&d->notes, json_string_value(note)))
		strv_add(&d->notes, json_string_value(note));
	json_object_del(o, "notes");
}

json_t *moment_json(struct moment_describer *d, const struct moment *moment)
{
	json_t *position = json_pack("{s:I, s:I, s:o}", "event", (json_int_t)moment->event, "events_total",
				     (json_int_t)nav_total(d->nav), "thread", thread_json(d, moment)),
	       *o = json_object();
	struct stack s = {0};

	if (moment->pc) {
		json_object_set_new(position, "pc", json_sprintf("0x%llx", U(moment->pc)));
		json_object_set_new(position, "hits", json_integer((json_int_t)moment->hits));
		json_object_set_new(o, "at",
				    json_sprintf("%llu/0x%llx#%llu", U(moment->event), U(moment->pc), U(moment->hits)));
	} else {
		json_object_set_new(o, "at", json_sprintf("%llu", U(moment->event)));
	}
	json_object_set_new(o, "position", position);
	resolve(d, moment, &s);
	json_object_set_new(o, "location", show_location(&s.location));
	json_object_set_new(o, "backtrace", show_frames(&s));
	stack_fini(&s);
	show_sources(o, d->rec);
	take_notes(d, o);
	return o;
}

int moment_describer_open(struct moment_describer *d, const struct rec *rec, struct nav *nav,
			  const struct stacks *stacks, const struct code *code, struct err *e)
{
	*d = (struct moment_describer){.rec = rec, .nav = nav, .stacks = stacks, .code = code, .g = gdb_new(NULL, e)};
	modules_init(&d->modules);
	d->modules.root = nav->t.own_root;
	return d->g && !gdb_attach(d->g, nav->t.pid, e) ? 0 : -1;
}

void moment_describer_fini(struct moment_describer *d)
{
	gdb_free(d->g);
	modules_fini(&d->modules);
	strv_fini(&d->notes);
}
