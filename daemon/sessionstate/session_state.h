/* SPDX-License-Identifier: MIT */
/*
 * session_state.h: what a debugging session keeps for the case that its worker dies, in the session's folder:
 *
 *  position       the last stop (struct mark): mapped, written at each stop, valid at any moment
 *  history        where the program stood at each prompt (sessionstate/undo_log.h)
 *  program.json   position, bookmarks and checkpoints, for people and commands; replaced at each prompt
 *
 * A session without a folder saves nothing, and is otherwise the same. Functions return 0, or -1 with e set.
 */
#ifndef FRED_SESSIONSTATE_SESSION_STATE_H
#define FRED_SESSIONSTATE_SESSION_STATE_H

#include "sessionstate/bookmarks.h"
#include "sessionstate/undo_log.h"

struct session_state {
	struct cursor *cursor; /* borrowed: its positions are kept */
	struct undo_log undo_log;
	struct bookmarks bookmarks, checkpoints;
	struct mark here; /* where the program stood when the debugger saw it last; words 0: not known */
	bool inexact; /* session_state_return found only a similar state, which the user is to be told */
	struct session_state_slot *slots; /* the file `position`; NULL: no folder */
	char *program; /* path of program.json; NULL: no folder */
};

/* Opens the saved state, or begins a new one. dir NULL: no folder. Call session_state_close in any case. */
int session_state_open(struct session_state *s, struct cursor *cursor, const char *dir, struct err *e);
void session_state_close(struct session_state *s);
/*
 * Moves the program to the last prompt, or (stop) to the last stop, which may be in the middle of a debugger's command.
 * 1: there was none.
 */
int session_state_return(struct session_state *s, bool stop, struct err *e);
/* Notes a stop that has been reported to the debugger. */
void session_state_stop(struct session_state *s);
/* Notes that the debugger is at its prompt. */
int session_state_prompt(struct session_state *s, struct err *e);
/* Moves the program to where it stood n commands ago. *exact: it is that state, and not only the most similar one. */
int session_state_undo(struct session_state *s, uint64_t n, bool *exact, struct err *e);
/* Replaces program.json. */
int session_state_write(struct session_state *s, struct err *e);

#endif
