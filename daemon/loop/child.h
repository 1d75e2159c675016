/* SPDX-License-Identifier: MIT */
/* child.h: a child process as an event source (pidfd_open(2)). */
#ifndef FRED_LOOP_CHILD_H
#define FRED_LOOP_CHILD_H

#include <sys/types.h>

#include "loop/loop.h"

struct loop_child {
	struct loop_source source;
	struct loop *loop;
	pid_t pid;
	/* Called once, after the child was reaped; code is CLD_EXITED, CLD_KILLED or CLD_DUMPED. */
	void (*fn)(struct loop_child *c, int code, int status);
};

/* Watches a child of this process. pidfd is taken over; -1: one is opened. On failure it is closed. */
int loop_child_init(struct loop_child *c, struct loop *l, pid_t pid, int pidfd,
		    void (*fn)(struct loop_child *c, int code, int status), struct err *e);
/* Sends a signal; a child already gone is no error. */
void loop_child_kill(struct loop_child *c, int signo);
/* Stops watching, neither kills nor reaps. May be called twice. */
void loop_child_fini(struct loop_child *c);

#endif
