/* SPDX-License-Identifier: MIT */
/* show.h: places in the program as JSON: threads, source locations, backtraces. */
#ifndef FRED_REPLAY_SHOW_H
#define FRED_REPLAY_SHOW_H

#include <jansson.h>

#include "gdb/gdb.h"
#include "replay/target.h"

#define SHOW_SHIM "libfred-record.so"

/* Adds process, pid, and processes: how many the recording has. */
void show_process(json_t *result, const struct rec *rec, uint32_t process);
/* {id, tid, name}; name is NULL when unknown. */
json_t *show_thread(const struct target *t, pid_t pid, uint32_t ordinal, pid_t tid);
/*
 * The stack of a thread that GDB is attached to, without the shim's frames: [{level, function, file, line, pc, args,
 * module}]. Functions of libraries have their names and lines where separate debug files of them are installed. NULL: e.
 * *location, unless NULL: the statement, {function, file, line, text}, in the frame of show_user_frame; text is the source
 * line, null when the file cannot be read.
 */
json_t *show_stack(struct gdb *g, pid_t tid, json_t **location, struct err *e);
/* The innermost `most` frames, and without the debug files of libraries: that is quicker. */
json_t *show_stack_top(struct gdb *g, pid_t tid, int most, json_t **location, struct err *e);

/* The statement of a frame, {function, file, line, text}. */
json_t *show_location_of(const struct gdb_frame *f);
/* Adds a text to `notes` of a result: what a user should know of it. */
void show_note(json_t *result, const char *text);
/*
 * What to know of the source files that a result names, in its location, backtrace and threads: adds `notes`, a list of texts,
 * if there are any; and where a file is not what it was, the location has the line of the recording's copy, and `source`: "recording".
 */
void show_sources(json_t *result, const struct rec *rec);

/*
 * The frame whose line a user means: the innermost one with source that is the program's own, not a system
 * header's; else the innermost with any source; else the innermost outside of the shim.
 */
size_t show_user_frame(const struct gdb_frame *frames, size_t n);

#endif
