/* SPDX-License-Identifier: MIT */
/*
 * deadlock.h: finds threads of recorded processes that wait for each other, notes which, and ends a program all of
 * whose threads do. It examines the processes from outside, from time to time, in every mode; with one thread at a
 * time, the recorder itself detects that all threads wait (plugins/record: deadlock.c).
 */
#ifndef FRED_SUPERVISOR_DEADLOCK_H
#define FRED_SUPERVISOR_DEADLOCK_H

#include <stdbool.h>
#include <sys/types.h>

#include "describe/waits.h"
#include "rlog/rlog.h"

/* What was seen of one process. */
struct deadlock_seen {
	struct waits last;
	unsigned looks; /* consecutive ones with the same result */
	bool told;
};

struct deadlock {
	struct rlog_control *control;
	pid_t pid; /* the program */
	struct deadlock_seen seen[RLOG_WAITING]; /* of control->waiting */
	unsigned looks; /* consecutive ones that found all threads asleep, where the recorder has noted a deadlock */
};

/*
 * Examines the processes once. When several consecutive calls find the same, it adds notes that name threads, locks and
 * lines; if all threads wait, and neither a signal handler nor another process can wake one, it ends the program by
 * SIGABRT. True: to be called again soon; else from time to time.
 */
bool deadlock_look(struct deadlock *d);
void deadlock_fini(struct deadlock *d);

#endif
