/* SPDX-License-Identifier: MIT */
/* held.h: where a thread got what another one waits for, and how it left it behind when it ended. */
#ifndef FRED_EXPLAIN_HELD_H
#define FRED_EXPLAIN_HELD_H

#include "chain/explain.h"
#include "describe/waits.h"

/*
 * Adds a step at the call by which the owner of what `t` waits for got it, and, if the owner has ended, where it left
 * the function that called. Neither, if that is not found. -1: the replay failed.
 */
int held_tell(struct explain *x, const struct waits *w, const struct waits_thread *t, struct err *e);

/*
 * A thread ended with the event `ended`; so did all others that had ever woken a thread which waits now. Adds a step at
 * the line where it left its function. 0; 1: that is not found; -1.
 */
int held_tell_end(struct explain *x, uint64_t ended, struct err *e);

#endif
