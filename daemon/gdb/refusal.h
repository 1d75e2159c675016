/* SPDX-License-Identifier: MIT */
/*
 * refusal.h: why GDB has refused a command. GDB gives no error codes, so its messages are told apart by their
 * (untranslated: LC_ALL=C) texts, here and nowhere else. The reason stands in an error that one of daemon/gdb's
 * functions has set, for as long as that is only wrapped.
 */
#ifndef FRED_GDB_REFUSAL_H
#define FRED_GDB_REFUSAL_H

#include "base/err.h"

enum gdb_reason {
	GDB_REFUSED = 0, /* none of these, or no refusal */
	GDB_NO_VALUE, /* in this state of the program: memory not mapped, a call that crashed ... */
	GDB_OPTIMIZED_OUT, /* the same: the variable is nowhere, at this place at least */
	GDB_NO_SYMBOL, /* a name has no meaning in this frame; it may have one in another */
	GDB_NO_RETURN_TYPE, /* of a function without debug information */
	GDB_NO_TYPE, /* of a variable without debug information */
	GDB_IS_TYPE, /* a type was given where an expression is wanted */
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
