/* SPDX-License-Identifier: MIT */
/*
 * forked.h: forked checkpoints: states of the replaying process to which it can go back as long as this worker lives,
 * where CRIU makes no checkpoints (cell/plain.h). Each is a fork of the process, which stands still; its other threads
 * are noted (trace/threads.h), and are made in another fork of it when it is gone back to.
 */
#ifndef FRED_REPLAY_FORKED_H
#define FRED_REPLAY_FORKED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "target/target.h"

#define FORKED_MAX 24u

struct forked;

struct forked_list {
	struct forked *v[FORKED_MAX + 1]; /* by event, rising */
	unsigned n;
};

/*
 * Makes a checkpoint of the target's state, in which all threads wait. 1: not possible, since the process is in a state
 * that a fork does not have (a signal is pending, or memory that forks do not inherit), or writes its output. When
 * there are too many checkpoints, the one between the closest neighbours is dropped; distance is measured relative to
 * how far away they are from here.
 */
int forked_take(struct forked_list *l, struct target *t, struct err *e);
/* The event of the last checkpoint at or before the event; of the first one after it. false: there is none. */
bool forked_before(const struct forked_list *l, uint64_t event, uint64_t *at);
bool forked_after(const struct forked_list *l, uint64_t event, uint64_t *at);
/* Ends the target's process, and replaces it by a copy of the one at this event. */
int forked_restore(struct forked_list *l, uint64_t event, struct target *t, struct err *e);
/* Nothing happens if there is none at this event. */
void forked_drop(struct forked_list *l, uint64_t event);
void forked_drop_all(struct forked_list *l);

#endif
