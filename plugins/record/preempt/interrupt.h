/* SPDX-License-Identifier: MIT */
/* interrupt.h: computations without events are interrupted: recording; and the search for the place on replay. */
#ifndef FRED_RECORD_INTERRUPT_H
#define FRED_RECORD_INTERRUPT_H

#include "record/core/state.h"

void interrupt_late(struct thr *t); /* recording: a signal waits for t's next event, and interrupts it if none comes */
void interrupt_disarm(struct thr *t);
void interrupt_handler(int sig, siginfo_t *si, void *uc); /* of SIG_PREEMPT, in both modes */
void interrupt_take(struct thr *t, ucontext_t *uc); /* in a signal handler: here, and others may go on */

/* ---- seek.c: replay ---- */

void seek_begin(struct thr *t); /* the next record of t is a PREEMPT */
void seek_tick(struct thr *t, ucontext_t *uc);
int seek_trap(siginfo_t *si, ucontext_t *uc); /* 1: this SIGTRAP was for it */
long turn_snap(
	struct replay_ctl *c); /* snap.c: REPLAY_CMD_SNAP: the PID of a copy that has left the timeline; or -errno */

#endif
