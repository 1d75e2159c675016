/* SPDX-License-Identifier: MIT */
/* wait.h: waits for a child that shares our terminal, as a shell would. */
#ifndef FRED_SUPERVISOR_WAIT_H
#define FRED_SUPERVISOR_WAIT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* To be called before the child is started: SIGINT and SIGQUIT from the terminal are left to the child. */
void wait_prepare(void);
/*
 * To be called after it was started: blocks the signals that would end this process, including those that the program
 * sends to its parent.
 */
void wait_started(void);
/*
 * Waits for pid, and reaps all other children. A signal that is sent to this process is passed on to pid, except if the
 * program or a process of it sent it: then it was meant for the parent, and the recording continues. *status is as from
 * waitpid. Calls later(arg) once, if the program runs for long; and told(arg) at each SIGCHLD that is not the end of
 * pid, from time to time, and soon again while it returns true.
 */
struct wait_calls {
	void (*later)(void *);
	bool (*told)(void *);
	void *arg;
};
int wait_for_program(pid_t pid, int *status, const struct wait_calls *calls, struct err *e);

/* The parent of a process; 0: it is gone. */
pid_t wait_parent_of(pid_t pid);

#endif
