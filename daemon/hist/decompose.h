/* SPDX-License-Identifier: MIT */
/*
 * decompose.h: the expansion of a history's last command into finer ones, and with it the reverse
 * commands (FReD section 4, "Implementation of Reverse-XXX"): [continue, next, next] and a
 * reverse-step become [continue, next, step, next]. A step back is always the same history without
 * its last, finest command.
 */
#ifndef FRED_HIST_DECOMPOSE_H
#define FRED_HIST_DECOMPOSE_H

#include "hist/cursor.h"

/*
 * Replaces the last single command of h by finer ones that lead to the same place, of which the
 * last is a single `step`, or a `stepi` where no `step` ends there or when finest is HIST_STEPI.
 * The others are as coarse as can be. The cursor belongs to h; the process moves. ERR_INTERNAL when
 * the place is not met again (the replay is not deterministic).
 */
int hist_decompose(struct hist *h, struct hist_cursor *c, enum hist_cmd finest, struct err *e);

/* Each changes h to the history that ends at the wanted place and moves the process there.
 * ERR_NOT_FOUND: h is empty, nothing is changed. They stop at the beginning of the history. */
int hist_reverse_step(struct hist *h, struct hist_cursor *c, struct err *e);
int hist_reverse_stepi(struct hist *h, struct hist_cursor *c, struct err *e);
/* To before the last statement of this function or its callers; calls are jumped over. */
int hist_reverse_next(struct hist *h, struct hist_cursor *c, struct err *e);
/* To before the call of this function. ERR_NOT_FOUND in the outermost frame. */
int hist_reverse_finish(struct hist *h, struct hist_cursor *c, struct err *e);
/* To the previous stop of a coarse command (continue, finish, until), or the beginning. */
int hist_reverse_continue(struct hist *h, struct hist_cursor *c, struct err *e);
/* Takes back the last n commands. */
int hist_undo(struct hist *h, struct hist_cursor *c, uint64_t n, struct err *e);

#endif
