/* SPDX-License-Identifier: MIT */
/*
 * stepper.h: moves all threads of a process forwards for a debugger, one of them perhaps by single steps, until that
 * one is at a state that is visible to a user (visibility/visibility.h). What else a stop means is up to the caller.
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
	/* stepper's own */
	uint64_t before; /* the last instruction of that thread */
	bool handler; /* ... and whether a handler began with it */
	struct shim_call shim_call;
};

/* To be called while all threads are stopped: finds out how the stepped one got to where it is. */
int stepper_begin(struct stepper *s, struct err *e);
/* Resumes all threads, with breakpoints in the text and watchpoints set. */
int stepper_resume(struct stepper *s, struct err *e);
/* Resumes one stopped thread, as it ran before. */
int stepper_go_on(struct stepper *s, struct group_thread *th, struct err *e);
/* Executes one instruction of a thread, with its signal, while the others stay and no breakpoint is in the text. */
int stepper_off(struct stepper *s, struct group_thread *th, struct trace_stop *stop, struct err *e);
/* 1: with this stop the stepped thread is at a visible state. 0, or -1 with e set. */
int stepper_sees(struct stepper *s, struct group_thread *th, const struct trace_stop *stop, struct err *e);
/* The watchpoint that this stop is for; NULL: none. */
const struct group_slot *stepper_watch(const struct stepper *s, const struct trace_stop *stop);

#endif
