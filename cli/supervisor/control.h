/* SPDX-License-Identifier: MIT */
/* control.h: makes and reads the control page of a recording that is being made. */
#ifndef FRED_SUPERVISOR_CONTROL_H
#define FRED_SUPERVISOR_CONTROL_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "rlog/rlog.h"

/* Creates REC/control, allocated on disk, and maps it shared. NULL on failure. Unmap with control_unmap. */
struct rlog_control *control_create(const char *rec, enum rlog_sched sched, uint64_t chaos_seed,
				    enum rlog_malloc malloc_mode, struct err *e);
void control_unmap(struct rlog_control *c);
/* The i-th note as one line of text, malloc'd; "": it was withdrawn; NULL: there is no i-th note. */
char *control_note(const struct rlog_control *c, unsigned i);
/* Has the recorder noted a deadlock of all threads? */
bool control_is_deadlock(const struct rlog_control *c);
/* Withdraws notes of deadlocks: the program has ended by itself. */
void control_forget_deadlocks(struct rlog_control *c);
/* Withdraws the notes of what threads of this process wait for. */
void control_drop_waits(struct rlog_control *c, uint32_t process);
/* Adds a note of fredctl to those of the recorder. process, number: as in struct rlog_note, or 0. */
void control_add_note(struct rlog_control *c, enum rlog_note_kind kind, uint32_t process, int64_t number,
		      const char *text);

#endif
