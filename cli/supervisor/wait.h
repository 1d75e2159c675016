/* SPDX-License-Identifier: MIT */
/* wait.h: waits for a child that shares our terminal, as a shell would. */
#ifndef FRED_SUPERVISOR_WAIT_H
#define FRED_SUPERVISOR_WAIT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* Before the child is started: the terminal's SIGINT and SIGQUIT are left to the child. */
void wait_prepare(void);
/* After it was started: signals that would end this process are blocked, among them those that the program sends to its
 * parent. */
void wait_started(void);
/*
 * Waits for pid, and reaps all other children. A signal sent to this process is passed on to pid, unless the program or
 * a process of it sent it: those mean their parent, and the recording goes on. *status as from waitpid. Calls
 * later(arg) once, if the program runs for long; and told(arg) at each SIGCHLD that is not the end of pid, from time to
 * time, and soon again while it returns true.
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
