/* SPDX-License-Identifier: MIT */
/*
 * hidden_run.h: a step over a call into the shim. Most take some hundred instructions, and are made by single steps:
 * whatever a thread comes to, it is seen. One that takes long, as when a library is loaded, goes on at full speed, with
 * int3s where it may come out of what is hidden: at the frame outside, and at all indirect jumps and calls that it may
 * come to (hidden_code.h), of which a single step shows where they lead. Nobody else may execute these int3s: so no
 * thread and no process is made meanwhile.
 */
#ifndef FRED_VISIBILITY_HIDDEN_RUN_H
#define FRED_VISIBILITY_HIDDEN_RUN_H

#include "trace/group.h"
#include "visibility/breakpoints.h"
#include "visibility/shim_frames.h"

#define HIDDEN_STEPS 1000 /* by single steps, before it goes on at full speed */

struct hidden_run {
	/* borrowed */
	struct shim_frames *shim_frames;
	const struct visibility *visibility;
	const struct breaks *breaks; /* those that are inserted; NULL: none are */
	unsigned steps; /* in a row that led to no visible state */
};

enum hidden_end {
	HIDDEN_NOT = 0, /* it has not moved, or only as far as it got: it goes on by single steps */
	HIDDEN_SEEN, /* it is at a visible state */
	HIDDEN_STOPPED, /* it has stopped for a reason that nobody has seen yet */
};

/*
 * th, a thread of a group, has made a step that led to no visible state; the others are stopped meanwhile. *call is
 * kept up to date, and zeroed at a visible state. Returns enum hidden_end, or -1 with e set. With HIDDEN_STOPPED,
 * group_wait will tell of the stop, and the thread may be gone.
 */
int hidden_run(struct hidden_run *h, struct group *g, struct group_thread *th, struct shim_call *call, struct err *e);

#endif
