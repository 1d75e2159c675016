/* SPDX-License-Identifier: MIT */
/*
 * session_state.h: what outlives a session's worker, in the session's folder:
 *
 *   position       the last stop (struct mark), mapped: noted at each stop, whole at any moment
 *   history        where the program stood at each prompt (sessionstate/undo_log.h)
 *   program.json   for people and commands: position, bookmarks, checkpoints; replaced at each prompt
 *
 * A session without a folder keeps nothing, and works as well.
 */
#ifndef FRED_DEBUG_SESSION_STATE_H
#define FRED_DEBUG_SESSION_STATE_H

#include "debug/debug.h"

/* Opens what is there, or begins. NULL: no folder. session_state_close in any case. */
int session_state_open(struct debug *d, const char *dir, struct err *e);
void session_state_close(struct debug *d);
/*
 * To where the program stood at the last prompt, or (stop) at the last stop, which may be within a command of the debugger's.
 * 1: there was none. The user is told when the state is not met again exactly.
 */
int session_state_return(struct debug *d, bool stop, struct err *e);
/* The debugger has been told of a stop. */
void session_state_stop(struct debug *d);

/* As monitor commands: the debugger is at its prompt. */
int session_state_prompt(struct debug *d, const char *args, struct buf *out, struct err *e);
/* undo [N] */
int session_state_undo(struct debug *d, const char *args, struct buf *out, struct err *e);
/* program.json is written anew. */
int session_state_write(struct debug *d, struct err *e);

#endif
