/* SPDX-License-Identifier: MIT */
/*
 * wait.h: waiting until a replaying target changes a word of the shared page, or dies, whichever comes first; without
 * polling, and without losing a signal. The SIGCHLD handler counts in a second futex word; futex_waitv (Linux 5.16)
 * waits on both.
 */
#ifndef FRED_CELL_WAIT_H
#define FRED_CELL_WAIT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum cell_wait {
	CELL_WAIT_ERROR = -1, /* errno */
	CELL_WAIT_NOTIFIED = 0, /* *word is not `old` any more */
	CELL_WAIT_ENDED = 1, /* the target is dead and reaped: *wait_status as from waitpid */
	CELL_WAIT_STOPPED = 2, /* a signal has stopped it: *wait_status */
	CELL_WAIT_TIMEOUT = 3,
	CELL_WAIT_CHILD = 4, /* with target 0: SIGCHLD came */
};

/* Installs the SIGCHLD handler (SA_RESTART). cell_start has done it for a cell's pid 1. */
int cell_wait_setup(struct err *e);
/*
 * Waits until *futex_word (on a page that the target maps too) differs from `old`, or the child `target` dies or
 * stops, or timeout_ms (-1: none) have passed. If both happened, the changed word is reported, and the death by the
 * next call. target 0: no child to look at, any SIGCHLD that comes during the call ends it. Returns enum cell_wait.
 */
int cell_wait_notify(uint32_t *futex_word, uint32_t old, pid_t target, int timeout_ms, int *wait_status);

#endif
