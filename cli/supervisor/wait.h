/* SPDX-License-Identifier: MIT */
/* wait.h: waits for a child that shares our terminal, as a shell would. */
#ifndef FRED_SUPERVISOR_WAIT_H
#define FRED_SUPERVISOR_WAIT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* Before the child is started: the terminal's SIGINT and SIGQUIT are for the child, not for us. */
void wait_prepare(void);
/* As soon as it was started: signals that would end us wait, those that the program sends to its parent among them. */
void wait_started(void);
/*
 * Waits for pid, reaping whatever else becomes our child. A signal that someone sends to us is passed on, unless that is the
 * program itself or a process of it, which did not mean itself: to record goes on is all that we do for it. *status as from waitpid. When it takes longer, does later(arg) meanwhile, once; and told(arg) at
 * each SIGCHLD that is not the end of pid and now and then, and again soon while it returns true.
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
