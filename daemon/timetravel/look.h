/* SPDX-License-Identifier: MIT */
/* look.h: a recorded process at any position, inside a segment too, for GDB to inspect. */
#ifndef FRED_TIMETRAVEL_LOOK_H
#define FRED_TIMETRAVEL_LOOK_H

#include <jansson.h>
#include <stdbool.h>

#include "gdb/gdb.h"
#include "replay/navigate.h"
#include "timetravel/cursor.h"

struct look {
	struct rec *rec;
	struct nav nav;
	bool have_nav;
	struct gdb *g;
	struct timeline_point at;
	struct cursor cursor; /* when at.pc: stands there, in a copy; the process itself stays at the event before */
	uint32_t thread; /* ordinal and TID of the thread that moved last */
	pid_t tid;
};

/* Goes to params' `rec`, `process` and `at` and starts GDB. look_fini in any case. */
int look_goto(struct look *l, const json_t *params, struct op_ctx *ctx, struct err *e);
void look_fini(struct look *l);

/*
 * Has GDB attach to the process itself, with all its threads: they stand at the event at.event, also when the position
 * is inside the segment after it. No copies can be made any more.
 */
int look_attach(struct look *l, struct err *e);
/*
 * Has GDB attach to a throw-away copy, which stands at the position, has the current thread alone, and in which calls
 * into the program can run. GDB must not be attached. look_drop ends it.
 */
int look_attach_copy(struct look *l, pid_t *copy, struct err *e);
int look_drop(struct look *l, pid_t copy, struct err *e);
/* The frame of the program's own code. tid 0: the only thread of a copy. */
int look_user_frame(struct look *l, pid_t tid, int *frame, struct err *e);

/* {event, events_total, thread} and inside a segment pc and hits. */
json_t *look_position(const struct look *l);

#endif
