/* SPDX-License-Identifier: MIT */
/* moments.c: see moments.h. */
#include "instrument/moments.h"

#include <stdlib.h>
#include <string.h>

#include "base/maps.h"
#include "replay/show.h"

#define U(x) ((unsigned long long)(x))

static char *name_of(const char *path)
{
	return path[0] == '/' ? xstrdup(strrchr(path, '/') + 1) : NULL;
}

/* *gone: it is no longer mapped, and something else may be there. */
static char *module_of(const struct moment_describer *d, const struct moment *m, uint64_t pc, bool *gone)
{
	const struct code_mapping *was = code_at(d->code, pc, m->code);
	struct mapping v;

	*gone = was && was->until;
	if (*gone)
		return name_of(was->path);
	return maps_find(d->nav->t.pid, pc, &v) ? name_of(v.path) : NULL;
}

/* The frames by GDB's knowledge of the code; it is attached to the process. */
static void resolve(const struct moment_describer *d, const struct moment *m, struct stack *s)
{
	const struct kept_stack *k = d->stacks->v[m->stack];

	s->frames = xcalloc(k->n + 1, sizeof(*s->frames));
	for (uint32_t i = 0; i < k->n; i++) {
		struct gdb_frame *f = &s->frames[i];
		struct gdb_line line = {0};
		struct err ignored;
		bool gone;

		f->level = (int)i;
		f->addr = k->pc[i];
		f->module = module_of(d, m, f->addr, &gone);
		if (!gone && !gdb_line_at(d->g, f->addr, &line, &ignored)) {
			f->func = str_dup(line.func);
			f->file = str_dup(line.file);
			f->fullname = str_dup(line.fullname);
			f->line = line.line;
		}
		gdb_line_fini(&line);
		s->n++;
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
	return d->g && !gdb_attach(d->g, nav->t.pid, e) ? 0 : -1;
}

void moment_describer_fini(struct moment_describer *d)
{
	gdb_free(d->g);
	strv_fini(&d->notes);
}
