/* SPDX-License-Identifier: MIT */
/*
 * user_checkpoints.h: checkpoints that the user asks for: an exact position, and an image of the process (CRIU) at the
 * event before it, so that the way to this place and to those after it is short.
 */
#ifndef FRED_SESSIONSTATE_USER_CHECKPOINTS_H
#define FRED_SESSIONSTATE_USER_CHECKPOINTS_H

#include "sessionstate/session_state.h"

/* Makes one where the program stands; out gets a text for the user. */
int user_checkpoints_take(struct session_state *s, struct buf *out, struct err *e);
/* names: separated by blanks or commas; none: all. */
int user_checkpoints_delete(struct session_state *s, const char *names, struct err *e);

#endif
