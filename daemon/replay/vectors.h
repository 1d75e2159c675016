/* SPDX-License-Identifier: MIT */
/*
 * vectors.h: a hash of what a thread has in the floating-point and vector registers, all that this processor has of
 * them (XSAVE; Intel's manual, volume 1, chapter 13). A thread that stands in the recorder has there what it had at its
 * call, since the recorder leaves them alone. Left out is where the last floating-point instruction was: not all
 * processors keep it.
 */
#ifndef FRED_REPLAY_VECTORS_H
#define FRED_REPLAY_VECTORS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Stops thread tid of process pid for a moment, also inside a system call, which then goes on. */
int vectors_hash(pid_t pid, pid_t tid, uint64_t *hash, struct err *e);

#endif
