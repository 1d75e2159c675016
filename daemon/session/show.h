/* SPDX-License-Identifier: MIT */
/* show.h: places in the program as JSON: threads, source locations, backtraces. */
#ifndef FRED_SESSION_SHOW_H
#define FRED_SESSION_SHOW_H

#include <jansson.h>

#include "gdb/gdb.h"
#include "session/target.h"

#define SHOW_SHIM "libfred-record.so"

/* {id, tid, name}; name is NULL when unknown. */
json_t *show_thread(const struct target *t, pid_t pid, uint32_t ordinal, pid_t tid);
/* {function, file, line, text}; text is the source line, null when the file cannot be read. */
json_t *show_location(const char *function, const char *file, const char *fullname, int line);
/* [{level, function, file, line, pc}], without the shim's frames at the inner end. */
json_t *show_backtrace(const struct gdb_frame *frames, size_t n);

/*
 * The frame whose line a user means: the innermost one with source that is the program's own, not a system
 * header's; else the innermost with any source; else the innermost outside of the shim.
 */
size_t show_user_frame(const struct gdb_frame *frames, size_t n);

#endif
