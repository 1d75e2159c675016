/* SPDX-License-Identifier: MIT */
/*
 * stepper.h: moves all threads of a process forwards for a debugger; one of them may be stepped, until its state is
 * visible to a user (visibility/visibility.h). The caller decides what other stops mean.
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
	pid_t tid; /* the thread that steps; 0: none */
	/* used internally */
	uint64_t before; /* the last instruction of that thread */
	bool handler; /* ... and whether a handler began with it */
	struct shim_call shim_call;
};

/* To be called while all threads are stopped: finds out how the stepped one has got to its place. */
int stepper_begin(struct stepper *s, struct err *e);
/* Resumes all threads, with breakpoints in the text and watchpoints set. */
int stepper_resume(struct stepper *s, struct err *e);
/* Resumes one stopped thread in the way in which it ran before. */
int stepper_go_on(struct stepper *s, struct group_thread *th, struct err *e);
/* Executes one instruction of a thread, with its signal, while the others stay and no breakpoint is in the text. */
int stepper_off(struct stepper *s, struct group_thread *th, struct trace_stop *stop, struct err *e);
/* 1: at this stop, the stepped thread is in a visible state. 0: it is not; -1 with e set. */
int stepper_sees(struct stepper *s, struct group_thread *th, const struct trace_stop *stop, struct err *e);
/* The watchpoint that this stop is for; NULL: none. */
const struct group_slot *stepper_watch(const struct stepper *s, const struct trace_stop *stop);

#endif
