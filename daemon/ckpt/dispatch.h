/* SPDX-License-Identifier: MIT */
/*
 * dispatch.h: Syscall User Dispatch of a target around a dump and a restore. CRIU 4.2 does not save it, and the system
 * calls that CRIU makes in a target while it dumps would be dispatched. Needs Linux 6.4 or later when the target uses
 * it.
 */
#ifndef FRED_CKPT_DISPATCH_H
#define FRED_CKPT_DISPATCH_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/sud.h"

struct dispatch_thread {
	pid_t tid;
	struct sud_config config;
};

/* The threads of a process and its descendants that use it. Zero-initialised: none. */
struct dispatch {
	struct dispatch_thread *v;
	size_t n;
};

/* Switches it off in all threads of pid and of its descendants, and says in *d where it was on. -1: ERR_HOST. */
int dispatch_suspend(pid_t pid, struct dispatch *d, struct err *e);
/* Switches it on again in the threads of *d. */
int dispatch_resume(const struct dispatch *d, struct err *e);
void dispatch_fini(struct dispatch *d);

/* Write it to DIR/dispatch, and read it from there. A folder without that file: none. */
int dispatch_write(const struct dispatch *d, const char *dir, struct err *e);
int dispatch_read(struct dispatch *d, const char *dir, struct err *e);

#endif
