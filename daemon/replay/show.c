/* SPDX-License-Identifier: MIT */
/* show.c: see show.h. */
#include "replay/show.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "reclog/sources.h"

static json_t *text_or_null(const char *s)
{
	return s ? json_text(s, strlen(s)) : json_null();
}

void show_process(json_t *result, const struct rec *rec, uint32_t process)
{
	struct err ignored;
	const struct rec_image *img = rec_image(rec, process, &ignored);

	json_object_set_new(result, "process", json_integer(process));
	json_object_set_new(result, "pid", json_integer(img ? img->head.pid : 0));
	json_object_set_new(result, "processes", json_integer(rec->nimages));
	if (rec->cut)
		show_note(result, "this is a window of a recording: memory that it does not touch is shown as zero");
}

json_t *show_thread_name(const struct thread_name *t)
{
	return json_pack("{s:i, s:i, s:o}", "id", (int)t->ordinal, "tid", (int)t->tid, "name",
			 text_or_null(*t->name ? t->name : NULL));
}

json_t *show_thread(const struct target *t, pid_t pid, uint32_t ordinal, pid_t tid)
{
	struct thread_name name = thread_name(t, pid, ordinal, tid);

	return show_thread_name(&name);
}

static json_t *line_or_null(int line)
{
	return line > 0 ? json_integer(line) : json_null();
}

json_t *show_location(const struct location *l)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:s*}", "function", text_or_null(l->function), "file",
			 text_or_null(l->file), "line", line_or_null(l->line), "text", text_or_null(l->text), "source",
			 l->recorded ? "recording" : NULL);
}

json_t *show_location_of(const struct gdb_frame *f)
{
	struct location l;
	json_t *out;

	location_of(&l, f);
	out = show_location(&l);
	location_fini(&l);
	return out;
}

json_t *show_frames(const struct stack *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->n; i++) {
		const struct gdb_frame *f = &s->frames[i];
		bool handler = f->signal_handler;

		json_array_append_new(
			list, json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "level", (int)i, "function",
					text_or_null(handler ? "<signal handler called>" : f->func), "file",
					text_or_null(frame_file(f)), "line", line_or_null(f->line), "pc",
					json_sprintf("0x%llx", (unsigned long long)f->addr), "args",
					text_or_null(handler ? NULL : f->args), "module", text_or_null(f->module)));
	}
	return list;
}

/* r: what the function that read the stack has returned. */
static json_t *stack_result(struct stack *s, int r, json_t **location)
{
	json_t *list = r ? NULL : show_frames(s);

	if (list && location)
		*location = show_location(&s->location);
	stack_fini(s);
	return list;
}

json_t *show_stack_top(struct gdb *g, pid_t tid, int most, json_t **location, struct err *e)
{
	struct stack s;

	return stack_result(&s, stack_read_top(&s, g, tid, most, e), location);
}

json_t *show_stack(struct gdb *g, pid_t tid, json_t **location, struct err *e)
{
	struct stack s;

	return stack_result(&s, stack_read(&s, g, tid, e), location);
}

static void sources_of_frames(struct sources *s, const json_t *frames)
{
	const json_t *f;
	size_t i;

	json_array_foreach((json_t *)frames, i, f) sources_use(s, json_string_value(json_object_get(f, "file")), NULL);
}

static void source_of_location(struct sources *s, json_t *location)
{
	cleanup_free char *line = NULL;

	if (!recorded_line(s, json_string_value(json_object_get(location, "file")),
			   (int)json_integer_value(json_object_get(location, "line")), &line))
		return;
	json_object_set_new(location, "text", text_or_null(line));
	json_object_set_new(location, "source", json_string("recording"));
}

void show_note(json_t *result, const char *text)
{
	json_t *list = json_object_get(result, "notes");

	if (!list) {
		list = json_array();
		json_object_set_new(result, "notes", list);
	}
	json_array_append_new(list, json_text(text, strlen(text)));
}

void show_sources(json_t *result, const struct rec *rec)
{
	cleanup_strv struct strv notes = {0};
	struct sources s;
	json_t *t;
	size_t i;

	sources_init(&s, rec);
	source_of_location(&s, json_object_get(result, "location"));
	sources_of_frames(&s, json_object_get(result, "backtrace"));
	json_array_foreach(json_object_get(result, "threads"), i, t)
		sources_of_frames(&s, json_object_get(t, "backtrace"));
	sources_notes(&s, &notes);
	sources_fini(&s);
	for (i = 0; i < notes.n; i++)
		show_note(result, notes.s[i]);
}
