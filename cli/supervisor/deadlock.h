/* SPDX-License-Identifier: MIT */
/*
 * deadlock.h: names threads of recorded processes that wait for each other, and ends a program all of whose threads do so, for ever.
 * It looks at them from outside, from time to time, in every mode; recorded one thread at a time, the recorder finds the latter
 * by itself and says so (plugins/record/deadlock.c).
 */
#ifndef FRED_SUPERVISOR_DEADLOCK_H
#define FRED_SUPERVISOR_DEADLOCK_H

#include <stdbool.h>
#include <sys/types.h>

#include "reclog/waits.h"
#include "rlog/rlog.h"

/* What was seen of one process. */
struct deadlock_seen {
	struct waits last;
	unsigned looks; /* in a row that found the same */
	bool told;
};

struct deadlock {
	struct rlog_control *control;
	pid_t pid; /* the program */
	struct deadlock_seen seen[RLOG_WAITING]; /* of control->waiting */
	unsigned looks; /* in a row that found all threads asleep, where the recorder says that they wait for ever */
};

/*
 * Some looks in a row must find the same. Then there are notes that name threads, locks and lines; and where all threads wait, and
 * neither a handler nor another process can help, the program ends by SIGABRT. To be called again soon while this returns true,
 * else now and then.
 */
bool deadlock_look(struct deadlock *d);
void deadlock_fini(struct deadlock *d);

#endif
