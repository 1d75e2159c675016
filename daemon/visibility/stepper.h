/* SPDX-License-Identifier: MIT */
/*
 * stepper.h: all threads of a process go forwards for a debugger, one of them perhaps by single steps, until it is at a
 * state that is visible to a user (visibility/visibility.h). What else a stop means is the caller's.
 */
#ifndef FRED_VISIBILITY_STEPPER_H
#define FRED_VISIBILITY_STEPPER_H

#include "trace/group.h"
#include "visibility/breakpoints.h"
#include "visibility/shim_frames.h"

struct stepper {
	/* borrowed */
	struct group *group;
	struct breaks *breaks;
	struct shim_frames *shim_frames;
	struct visibility *visibility;
	pid_t tid; /* who steps; 0: nobody */
	/* stepper's own */
	uint64_t before; /* the last instruction of that thread */
	bool handler; /* ... and whether a handler began with it */
	struct shim_call shim_call;
};

/* All threads stand: how the stepped one got to where it is. */
int stepper_begin(struct stepper *s, struct err *e);
/* All go on, with breakpoints in the text and watchpoints set. */
int stepper_resume(struct stepper *s, struct err *e);
/* One stopped thread goes on, as it did before. */
int stepper_go_on(struct stepper *s, struct group_thread *th, struct err *e);
/* It makes one instruction, with its signal, while the others stay and no breakpoint is in the text. */
int stepper_off(struct stepper *s, struct group_thread *th, struct trace_stop *stop, struct err *e);
/* 1: with this stop the stepped thread is at a visible state. 0, or -1 with e set. */
int stepper_sees(struct stepper *s, struct group_thread *th, const struct trace_stop *stop, struct err *e);
/* The watchpoint that this stop is of; NULL: none. */
const struct group_slot *stepper_watch(const struct stepper *s, const struct trace_stop *stop);

#endif
