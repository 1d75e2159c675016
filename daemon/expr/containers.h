/* SPDX-License-Identifier: MIT */
/*
 * containers.h: methods of libstdc++'s containers, strings and pointers as plain members: v.size() becomes the
 * difference of two pointers. So they need no call (the compiler has often left none to call), and are compiled
 * (compile.h) where GDB alone would have to look each time.
 */
#ifndef FRED_EXPR_CONTAINERS_H
#define FRED_EXPR_CONTAINERS_H

#include "gdb/gdb.h"

/* 0: *out (the caller's) is the expression without such methods. 1: there are none. -1: GDB failed. */
int expr_without_containers(struct gdb *g, const char *expr, pid_t tid, int frame, char **out, struct err *e);

#endif
