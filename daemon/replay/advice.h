/* SPDX-License-Identifier: MIT */
/* advice.h: what to type where a replay does not match its recording. */
#ifndef FRED_REPLAY_ADVICE_H
#define FRED_REPLAY_ADVICE_H

#include "base/buf.h"
#include "replay/target.h"

/*
 * Adds to a message about a replay that has come as far as *t: how to look at the part that holds, and, where threads ran side by
 * side, the command that records all of it one thread at a time.
 */
void advice_add(const struct target *t, struct err *e);
/* A word for a shell, with a blank in front: in quotes, unless it has nothing in it that means something there. */
void advice_add_word(struct buf *b, const char *word);

/* Sets e: somebody, or the kernel, has killed the process (ERR_KILLED). -1. */
int advice_say_killed(const struct target *t, struct err *e);
/* The process of *t has ended before the replay's end, with this wait status. Returns -1. */
int advice_say_ended(const struct target *t, int status, struct err *e);

#endif
