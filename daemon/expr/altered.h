/* SPDX-License-Identifier: MIT */
/*
 * altered.h: functions whose calling convention the compiler has changed, since it knows all their calls. A call as the
 * source says then returns a wrong value.
 */
#ifndef FRED_EXPR_ALTERED_H
#define FRED_EXPR_ALTERED_H

#include <stdbool.h>
#include <stdint.h>

#include "expr/compile.h"
#include "gdb/gdb.h"

/* To be called first. From then on, the calls that this GDB makes are examined. */
int expr_altered_begin(struct gdb *g, const struct expr_place *at, struct err *e);
/* Has GDB called such a function since this was last asked, by any name or operator? Then why is ERR_USAGE. */
bool expr_altered_called(struct gdb *g, struct err *why);
/*
 * The function that begins at the address: *refusal is NULL when it may be called, or says why not, by this name (the
 * caller's). gcc names it with .isra, .constprop or .part; clang leaves its name, but its arguments come in other
 * registers. 1: GDB does not tell. -1: GDB failed.
 */
int expr_altered(struct gdb *g, const struct expr_place *at, uint64_t address, const char *name, char **refusal,
		 struct err *e);
/*
 * The same for all `functions` that GDB finds by these words, in any scope: "size", "Ledger::size". *refusal is about
 * the first one that may not be called. 1: GDB knows none.
 */
int expr_altered_named(struct gdb *g, const struct expr_place *at, const char *functions, const char *name,
		       char **refusal, struct err *e);
/* What follows the scopes of a name: "size" in "Stack<a::b>::size". */
const char *expr_last_part(const char *name);

#endif
