/* SPDX-License-Identifier: MIT */
/*
 * statics.h: static variables of functions, named FUNCTION::VARIABLE, that GDB does not find: all calls of the function
 * are inlined, or the variable is declared in an inner block. And variables that the compiler left out.
 */
#ifndef FRED_EXPR_STATICS_H
#define FRED_EXPR_STATICS_H

#include "gdb/gdb.h"

/*
 * 0: *out (the caller's) is the expression with the addresses of such static variables in place of their names. 1:
 * there are none. -1: GDB failed. This needs a GDB with Python, as Debian's.
 */
int expr_name_statics(struct gdb *g, const char *expr, char **out, struct err *e);
/*
 * -1 with ERR_USAGE: the expression names a variable that the program has nowhere, in memory or in a register, as seen
 * from a thread and frame. A variable without a value at this place alone is no error: 0.
 */
int expr_check_optimized(struct gdb *g, const char *expr, pid_t tid, int frame, struct err *e);
/* GDB knows no symbol of that name (e): if it is a function that was inlined everywhere, e says so, and what to do. */
void expr_tell_inlined(struct gdb *g, pid_t tid, int frame, struct err *e);

#endif
