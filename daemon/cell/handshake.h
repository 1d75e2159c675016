/* SPDX-License-Identifier: MIT */
/*
 * handshake.h: between the process that starts a cell and the cell's first one, over a SOCK_SEQPACKET socket. The child
 * arms its parent-death signal, says so, and waits for an answer; an answer proves that the parent lived after the
 * arming, so no cell outlives its daemon. Then it reports a struct err: the outcome of its set-up.
 */
#ifndef FRED_CELL_HANDSHAKE_H
#define FRED_CELL_HANDSHAKE_H

#include "base/err.h"

/* In the child: sets all signals to their default actions, and unblocks all. */
void handshake_default_signals(void);
/* In the child, before all else. */
int handshake_arm(int sock, struct err *e);
/*
 * In the child, when it is set up (or, if `failed`, could not be: *e says why): tells the parent, and runs init(arg),
 * whose result is the exit status.
 */
_Noreturn void handshake_run(int sock, int failed, const struct err *e, int (*init)(void *arg), void *arg);
/* In the parent: returns the outcome of the set-up, 0 or -1. 1: the child ended before it could report one. */
int handshake_wait(int sock, struct err *e);
/* Sets e to how such a child ended. Returns -1. */
int handshake_died(int status, struct err *e);

#endif
