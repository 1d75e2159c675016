/* SPDX-License-Identifier: MIT */
/*
 * rewrite.h: an expression in words that GDB's agent compiler knows. It refuses (GDB 13 to 16) arithmetic
 * and comparisons on enumerations, and thread-local variables. So operands of an enum type get a cast
 * to long, and a thread-local variable becomes the object at its address in the given thread.
 */
#ifndef FRED_GDB_REWRITE_H
#define FRED_GDB_REWRITE_H

#include "gdb/gdb.h"

/* What rewriting asks about a piece of an expression. */
struct rewrite_ops {
	/* Whether this operand has an enumeration type. */
	bool (*is_enum)(void *ctx, const char *operand);
	/* The type of &variable ("int *") and its address, if it is thread-local: 0, both set; else 1. */
	int (*thread_local_at)(void *ctx, const char *variable, char **pointer_type, uint64_t *addr);
};

/*
 * The rewritten expression, the caller's; NULL: nothing in it needs rewriting, or its syntax is beyond
 * this scanner. Pure: all knowledge comes from ops.
 */
char *rewrite_expr(const char *expr, const struct rewrite_ops *ops, void *ctx);

/* The same with GDB's answers in a thread and frame. */
char *gdb_rewrite(struct gdb *g, const char *expr, pid_t tid, int frame);

#endif
