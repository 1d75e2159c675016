/* SPDX-License-Identifier: MIT */
/*
 * show.h: the JSON objects of what stack.h reads, as fredctl(1) describes them: threads, source locations, backtraces.
 */
#ifndef FRED_REPLAY_SHOW_H
#define FRED_REPLAY_SHOW_H

#include <jansson.h>

#include "replay/stack.h"

/* Adds process, pid, and processes: how many the recording has. */
void show_process(json_t *result, const struct rec *rec, uint32_t process);
/* {id, tid, name}; name is null when unknown. */
json_t *show_thread_name(const struct thread_name *t);
json_t *show_thread(const struct target *t, pid_t pid, uint32_t ordinal, pid_t tid);
/* {function, file, line, text}, and source: "recording" where the text is from there. */
json_t *show_location(const struct location *l);
json_t *show_location_of(const struct gdb_frame *f);
/* JSON: [{level, function, file, line, pc, args, module}] */
json_t *show_frames(const struct stack *s);
/*
 * As stack_read and stack_read_top: returns the frames, and in *location (unless it is NULL) the statement. NULL:
 * error.
 */
json_t *show_stack(struct gdb *g, pid_t tid, json_t **location, struct err *e);
json_t *show_stack_top(struct gdb *g, pid_t tid, int most, json_t **location, struct err *e);
/* Adds a text to `notes` of a result: what a user should know of it. */
void show_note(json_t *result, const char *text);
/*
 * Tells the user of source files that a result names, in its location, backtrace and threads: adds `notes`, a list of
 * texts, if there are any. Where a file is not what it was, the location gets the line of the recording's copy, and
 * `source`: "recording".
 */
void show_sources(json_t *result, const struct rec *rec);

#endif
