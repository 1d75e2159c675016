/* SPDX-License-Identifier: MIT */
/*
 * refusal.h: why GDB has refused a command. GDB has no error codes, so reasons are told from the texts of its messages
 * (not translated: LC_ALL=C), here and nowhere else. The reason is part of an error that a function of daemon/gdb has
 * set, also after that was wrapped.
 */
#ifndef FRED_GDB_REFUSAL_H
#define FRED_GDB_REFUSAL_H

#include "base/err.h"

enum gdb_reason {
	GDB_REFUSED = 0, /* none of these, or no refusal */
	GDB_NO_VALUE, /* in this state of the program: memory not mapped, a call that crashed ... */
	GDB_OPTIMIZED_OUT, /* the same: the variable has no place, at least here */
	GDB_NO_SYMBOL, /* a name has no meaning in this frame; it may have one in another frame */
	GDB_NO_RETURN_TYPE, /* the type of a function without debug information is unknown */
	GDB_NO_TYPE, /* the type of a variable without debug information is unknown */
	GDB_IS_TYPE, /* a type was given where an expression is needed */
	GDB_TOO_WIDE, /* GDB 13 does not compute with 128-bit integers */
	GDB_NOT_RUNNING, /* there is no process any more */
};

/*
 * Sets e from GDB's message. Returns GDB_UNAVAILABLE (e: ERR_NOT_FOUND) for the reasons that speak of the program's
 * state, else -1 (ERR_USAGE).
 */
int gdb_refusal(const char *message, struct err *e);
enum gdb_reason gdb_reason_of(const struct err *e);
/* The name that GDB_NO_SYMBOL, GDB_NO_RETURN_TYPE or GDB_NO_TYPE is about, malloc'd; NULL: there is none. */
char *gdb_refused_name(const struct err *e);

#endif
