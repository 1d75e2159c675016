/* SPDX-License-Identifier: MIT */
/* stack.c: see stack.h. */
#include "replay/stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "describe/caller.h"
#include "reclog/sources.h"
#include "rlog/replay.h"

#define LOOKUPS 4u /* frames in headers whose line is looked up again: each time, the program's file is opened */

struct thread_name thread_name(const struct target *t, pid_t pid, uint32_t ordinal, pid_t tid)
{
	struct thread_name out = {.ordinal = ordinal, .tid = target_shown_tid(t, ordinal, tid)};
	/* a copy has one thread, which bears its PID */
	pid_t there = tid == target_tid(t, ordinal) && pid != t->pid ? pid : tid;
	cleanup_free char *path = str_fmt("/proc/%d/task/%d/comm", (int)pid, (int)there);
	cleanup_fclose FILE *f = fopen(path, "re");

	if (!f && pid != t->pid) { /* where PIDs are not the recorded ones, the process's TID has changed since */
		str_set(&path, "/proc/%d/comm", (int)pid);
		f = fopen(path, "re");
	}
	if (f && fgets(out.name, sizeof(out.name), f))
		out.name[strcspn(out.name, "\n")] = '\0';
	return out;
}

/* A source line without the blanks around it, malloc'd; NULL: there is none. */
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
	return xstrdup(p);
}

const char *frame_file(const struct gdb_frame *f)
{
	return f->fullname && *f->fullname == '/' ? f->fullname : f->file;
}

void location_of(struct location *l, const struct gdb_frame *f)
{
	cleanup_fclose FILE *file = f->fullname && f->line > 0 ? fopen(f->fullname, "re") : NULL;

	*l = (struct location){
		.function = str_dup(f->func),
		.file = str_dup(frame_file(f)),
		.line = f->line > 0 ? f->line : 0,
		.text = line_of(file, f->line),
	};
}

void location_fini(struct location *l)
{
	free(l->function);
	free(l->file);
	free(l->text);
	*l = (struct location){0};
}

bool stack_is_shim(const struct gdb_frame *f)
{
	return f->module && str_starts(f->module, RLOG_SHIM_NAME);
}

/* Keeps only the frames that a user is to see. */
static void hide_frames(struct stack *s)
{
	size_t first = 0, end = s->n, kept = 0;

	/* the shim and the signal frame of its trap stand in for the system call */
	for (size_t i = 0; i < s->n && (stack_is_shim(&s->frames[i]) || (s->frames[i].signal_handler && first == i));
	     i++)
		first = i + 1;
	/* the functions by which libc starts a thread have no names without libc's debug files */
	while (end > first + 1 && !s->frames[end - 1].func && !s->frames[end - 1].file)
		end--;
	for (size_t i = 0; i < s->n; i++)
		if (i < first || i >= end || stack_is_shim(&s->frames[i]))
			gdb_frame_fini(&s->frames[i]);
		else
			s->frames[kept++] = s->frames[i];
	s->n = kept;
}

void stack_mend_lines(struct gdb *g, struct gdb_frame *frames, size_t n)
{
	unsigned looked_up = 0;

	for (size_t i = 0; i < n && looked_up < LOOKUPS; i++) {
		struct gdb_frame *f = &frames[i];
		bool inlines =
			i > 0 && stack_is_inlined(frames, n, i - 1); /* its line is where it has another function */
		char *file;
		int line;

		if (inlines || stack_is_shim(f) || !f->fullname || !path_is_system(f->fullname))
			continue;
		looked_up++;
		/* of a caller, the address is after the call */
		file = caller_line(gdb_target(g), f->addr - (i > 0 && !frames[i - 1].signal_handler), &line);
		if (file && *file == '/' && line > 0 && !path_is_system(file)) {
			str_set(&f->file, "%s", file);
			str_set(&f->fullname, "%s", file);
			f->line = line;
		}
		free(file);
	}
}

bool stack_is_inlined(const struct gdb_frame *frames, size_t n, size_t level)
{
	return level + 1 < n && frames[level].addr == frames[level + 1].addr;
}

size_t stack_own_frame(const struct gdb_frame *frames, size_t n, size_t from)
{
	for (size_t i = from; i < n; i++)
		if (!stack_is_shim(&frames[i]) && frames[i].fullname && frames[i].line > 0 &&
		    !path_is_system(frames[i].fullname))
			return i;
	return n;
}

size_t stack_user_frame(const struct gdb_frame *frames, size_t n)
{
	size_t own = stack_own_frame(frames, n, 0);

	return own < n ? own : n ? (size_t)gdb_frames_user(frames, n, RLOG_SHIM_NAME) : 0;
}

/* The shim has none. */
static bool lacks_debug_file(const struct gdb_frame *frames, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!frames[i].file && !frames[i].signal_handler && frames[i].module && !stack_is_shim(&frames[i]))
			return true;
	return false;
}

/* With the debug files of libraries, which are read for this alone: it takes 0.1 s. */
static int name_libraries(struct stack *s, struct gdb *g, pid_t tid, struct err *e)
{
	gdb_frames_free(s->frames, s->n);
	s->frames = NULL;
	s->n = 0;
	if (gdb_debug_files(g, true, e) || gdb_backtrace(g, tid, 0, &s->frames, &s->n, e))
		return -1;
	stack_mend_lines(g, s->frames, s->n);
	return 0;
}

static int read_frames(struct stack *s, struct gdb *g, pid_t tid, int most, struct err *e)
{
	*s = (struct stack){0};
	if (gdb_backtrace(g, tid, most, &s->frames, &s->n, e))
		return -1;
	stack_mend_lines(g, s->frames, s->n);
	location_of(&s->location, &s->frames[stack_user_frame(s->frames, s->n)]);
	return 0;
}

int stack_read_top(struct stack *s, struct gdb *g, pid_t tid, int most, struct err *e)
{
	if (read_frames(s, g, tid, most, e) || gdb_add_args(g, tid, s->frames, s->n, e))
		return -1;
	hide_frames(s);
	return 0;
}

int stack_read(struct stack *s, struct gdb *g, pid_t tid, struct err *e)
{
	if (read_frames(s, g, tid, 0, e) || (lacks_debug_file(s->frames, s->n) && name_libraries(s, g, tid, e)) ||
	    gdb_add_args(g, tid, s->frames, s->n, e) || gdb_debug_files(g, false, e))
		return -1;
	hide_frames(s);
	return 0;
}

void stack_fini(struct stack *s)
{
	gdb_frames_free(s->frames, s->n);
	location_fini(&s->location);
	*s = (struct stack){0};
}

bool recorded_line(struct sources *s, const char *file, int line, char **text)
{
	cleanup_buf struct buf kept = {0};
	cleanup_fclose FILE *f = NULL;

	if (!sources_use(s, file, &kept))
		return false;
	f = kept.len ? fmemopen(kept.data, kept.len, "r") : NULL;
	*text = line_of(f, line);
	return true;
}

void stack_use_sources(struct stack *s, const struct rec *rec, struct strv *notes)
{
	struct location *l = &s->location;
	struct sources sources;
	char *text;

	sources_init(&sources, rec);
	if (recorded_line(&sources, l->file, l->line, &text)) {
		free(l->text);
		l->text = text;
		l->recorded = true;
	}
	for (size_t i = 0; i < s->n; i++)
		sources_use(&sources, frame_file(&s->frames[i]), NULL);
	sources_notes(&sources, notes);
	sources_fini(&sources);
}
