/* SPDX-License-Identifier: MIT */
/*
 * frame_alive.h: does the frame exist whose variables an expression uses? Their addresses were taken where the expression
 * was compiled; at other times something else lies there.
 */
#ifndef FRED_EXPR_FRAME_ALIVE_H
#define FRED_EXPR_FRAME_ALIVE_H

#include <stdbool.h>
#include <sys/types.h>

#include "expr/locals.h"

/*
 * In process pid, which does not run, or a copy of it that has the thread in question alone: is the frame on its
 * thread's stack, and past the declaration of the variables? True when no frame is used.
 */
bool live_locals(const struct gdb_locals *l, pid_t pid);

#endif
