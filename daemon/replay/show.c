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
}

json_t *show_thread(const struct target *t, pid_t pid, uint32_t ordinal, pid_t tid)
{
	char path[64], name[32] = "";
	cleanup_fclose FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid,
		 (int)(tid == target_tid(t, ordinal) && pid != t->pid ? pid : tid));
	f = fopen(path, "re");
	if (f && fgets(name, sizeof(name), f))
		name[strcspn(name, "\n")] = '\0';
	return json_pack("{s:i, s:i, s:o}", "id", (int)ordinal, "tid", (int)tid, "name",
			 text_or_null(*name ? name : NULL));
}

/* A line without the blanks around it; NULL: there is none. */
static char *line_of(FILE *f, int line)
{
	cleanup_free char *s = NULL;
	size_t cap = 0;
	char *p;

	for (int i = 0; f && i < line; i++)
		if (getline(&s, &cap, f) < 0)
			return NULL;
	if (!s)
		return NULL;
	p = s + strspn(s, " \t");
	p[strcspn(p, "\r\n")] = '\0';
	return strdup(p);
}

static char *source_line(const char *path, int line)
{
	cleanup_fclose FILE *f = path && line > 0 ? fopen(path, "re") : NULL;

	return line_of(f, line);
}

/* A relative one cannot be opened from here: then as it was compiled. */
static const char *path_of(const struct gdb_frame *f)
{
	return f->fullname && *f->fullname == '/' ? f->fullname : f->file;
}

/* The statement: of the instruction itself, or of the call in the program that led to it. */
json_t *show_location_of(const struct gdb_frame *f)
{
	cleanup_free char *text = source_line(f->fullname, f->line);

	return json_pack("{s:o, s:o, s:o, s:o}", "function", text_or_null(f->func), "file",
			 text_or_null(path_of(f)), "line",
			 f->line > 0 ? json_integer(f->line) : json_null(), "text", text_or_null(text));
}

static bool is_shim(const struct gdb_frame *f)
{
	return f->module && !strncmp(f->module, SHOW_SHIM, strlen(SHOW_SHIM));
}

static json_t *show_backtrace(const struct gdb_frame *frames, size_t n)
{
	json_t *list = json_array();
	size_t first = 0;
	int level = 0;

	/* the shim and the signal frame of its trap stand in for the system call */
	for (size_t i = 0; i < n; i++)
		if (is_shim(&frames[i]))
			first = i + 1;
		else if (frames[i].signal_handler && first == i)
			first = i + 1;
		else
			break;
	/* how libc starts a thread has no names without its debug files */
	while (n > first + 1 && !frames[n - 1].func && !frames[n - 1].file)
		n--;
	for (size_t i = first; i < n; i++) {
		char pc[24];

		if (is_shim(&frames[i]))
			continue;
		snprintf(pc, sizeof(pc), "0x%llx", (unsigned long long)frames[i].addr);
		json_array_append_new(
			list, json_pack("{s:i, s:o, s:o, s:o, s:s, s:o, s:o}", "level", level++, "function",
					text_or_null(frames[i].signal_handler ? "<signal handler called>"
									      : frames[i].func),
					"file",
					text_or_null(path_of(&frames[i])),
					"line",
					frames[i].line > 0 ? json_integer(frames[i].line) : json_null(),
					"pc", pc, "args",
					text_or_null(frames[i].signal_handler ? NULL : frames[i].args), "module",
					text_or_null(frames[i].module)));
	}
	return list;
}

static bool is_system(const char *path)
{
	return !strncmp(path, "/usr/include/", 13) || !strncmp(path, "/usr/lib/", 9);
}

size_t show_user_frame(const struct gdb_frame *frames, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!is_shim(&frames[i]) && frames[i].fullname && frames[i].line > 0 &&
		    !is_system(frames[i].fullname))
			return i;
	return n ? (size_t)gdb_frames_user(frames, n, SHOW_SHIM) : 0;
}

/* The shim has none. */
static bool lacks_debug_file(const struct gdb_frame *frames, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!frames[i].file && !frames[i].signal_handler && frames[i].module && !is_shim(&frames[i]))
			return true;
	return false;
}

/* With the debug files of libraries, which are read for this alone: it takes 0.1 s. */
static int name_libraries(struct gdb *g, pid_t tid, struct gdb_frame **frames, size_t *n, struct err *e)
{
	gdb_frames_free(*frames, *n);
	*frames = NULL;
	*n = 0;
	if (gdb_debug_files(g, true, e) || gdb_backtrace(g, tid, 0, frames, n, e))
		return -1;
	return 0;
}

json_t *show_stack_top(struct gdb *g, pid_t tid, int most, json_t **location, struct err *e)
{
	struct gdb_frame *frames = NULL;
	json_t *list = NULL;
	size_t n = 0;

	if (gdb_backtrace(g, tid, most, &frames, &n, e))
		return NULL;
	if (!gdb_add_args(g, tid, frames, n, e)) {
		*location = show_location_of(&frames[show_user_frame(frames, n)]);
		list = show_backtrace(frames, n);
	}
	gdb_frames_free(frames, n);
	return list;
}

json_t *show_stack(struct gdb *g, pid_t tid, json_t **location, struct err *e)
{
	struct gdb_frame *frames = NULL;
	json_t *list = NULL;
	size_t n = 0;

	if (gdb_backtrace(g, tid, 0, &frames, &n, e))
		return NULL;
	if (location)
		*location = show_location_of(&frames[show_user_frame(frames, n)]);
	if ((!lacks_debug_file(frames, n) || !name_libraries(g, tid, &frames, &n, e)) &&
	    !gdb_add_args(g, tid, frames, n, e) && !gdb_debug_files(g, false, e))
		list = show_backtrace(frames, n);
	else if (location)
		json_decref(*location);
	gdb_frames_free(frames, n);
	return list;
}

static void sources_of_frames(struct sources *s, const json_t *frames)
{
	const json_t *f;
	size_t i;

	json_array_foreach((json_t *)frames, i, f)
		sources_use(s, json_string_value(json_object_get(f, "file")), NULL);
}

static void source_of_location(struct sources *s, json_t *location)
{
	cleanup_buf struct buf text = {0};
	cleanup_fclose FILE *f = NULL;
	cleanup_free char *line = NULL;

	if (!sources_use(s, json_string_value(json_object_get(location, "file")), &text))
		return;
	f = text.len ? fmemopen(text.data, text.len, "r") : NULL;
	line = line_of(f, (int)json_integer_value(json_object_get(location, "line")));
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
