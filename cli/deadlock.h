/* SPDX-License-Identifier: MIT */
/* deadlock.h: ends a recorded program whose threads all wait for each other, for ever (plugins/record/deadlock.c). */
#ifndef FRED_CLI_DEADLOCK_H
#define FRED_CLI_DEADLOCK_H

#include <stdbool.h>
#include <sys/types.h>

#include "rlog/rlog.h"

struct deadlock {
	const struct rlog_control *control;
	pid_t pid; /* the program */
	unsigned looks; /* in a row that found it so */
};

/*
 * When the recorder tells something, and some time after that as long as this returns true. Where the recorder says that all
 * threads wait for ever, and several looks have found each of them asleep, the program ends by SIGABRT.
 */
bool deadlock_look(struct deadlock *d);

#endif
