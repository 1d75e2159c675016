/* SPDX-License-Identifier: MIT */
/*
 * undo_log.h: the debug history of a session (FReD, section 2.1): where the program stood at each prompt of the
 * debugger. It is appended to a file. `undo` goes to an earlier one of these places; since they are exact, no command
 * is repeated.
 */
#ifndef FRED_SESSIONSTATE_UNDO_LOG_H
#define FRED_SESSIONSTATE_UNDO_LOG_H

#include "timetravel/mark.h"

struct undo_log {
	struct mark *v; /* the last entry is the last prompt's */
	unsigned n;
	int fd; /* -1: no file */
};

/*
 * Continues the file, which is made if need be; NULL: in memory only. A record that a crash has left incomplete is
 * dropped.
 */
int undo_log_open(struct undo_log *p, const char *path, struct err *e);
void undo_log_close(struct undo_log *p);
/* Adds a prompt of the debugger, with the program here; does nothing if it has not moved. */
int undo_log_prompt(struct undo_log *p, const struct mark *here, struct err *e);
/* Where the program stood n commands ago; NULL and e set: there were fewer. */
const struct mark *undo_log_find(const struct undo_log *p, uint64_t n, struct err *e);
/* Removes the last n commands, which have been undone: the program stands `here`. */
int undo_log_forget(struct undo_log *p, uint64_t n, const struct mark *here, struct err *e);

#endif
