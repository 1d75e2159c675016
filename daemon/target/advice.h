/* SPDX-License-Identifier: MIT */
/* advice.h: what messages advise the user to do when a replay does not match its recording, or ends early. */
#ifndef FRED_TARGET_ADVICE_H
#define FRED_TARGET_ADVICE_H

#include "base/buf.h"
#include "target/target.h"

/*
 * Adds to a message about the replay *t: how to search the part that was replayed, and, if threads ran in parallel, the
 * command that records the program one thread at a time.
 */
void advice_add(const struct target *t, struct err *e);
/* A blank and a word for a shell, in quotes if it holds anything that a shell would interpret. */
void advice_add_word(struct buf *b, const char *word);

/* Sets e (ERR_KILLED): the process was killed from outside, by a user or the kernel. Returns -1. */
int advice_say_killed(const struct target *t, struct err *e);
/* The process of *t has ended before the replay's end, with this wait status. Returns -1. */
int advice_say_ended(const struct target *t, int status, struct err *e);

#endif
