/* SPDX-License-Identifier: MIT */
/*
 * expr.h: the watched expression. GDB compiles it once, in a frame of the stopped target; then it is
 * evaluated on a process's memory in microseconds. Calls are made in a throw-away copy of the process
 * (call.h). What neither can express (registers, functions of floating-point numbers) is evaluated by GDB on such a copy.
 */
#ifndef FRED_EXPR_EXPR_H
#define FRED_EXPR_EXPR_H

#include <stdbool.h>
#include <stdint.h>

#include "expr/compile.h"
#include "gdb/gdb.h"
#include "expr/locals.h"
#include "agent/agent.h"
#include "search/ops.h"
#include "expr/call.h"
#include "replay/target.h"

struct expr {
	char *given; /* as the user wrote it */
	char *text; /* as GDB takes it: calls into libc are cast */
	char *absolute; /* the same for GDB in any frame; NULL: it means this in its frame only */
	char *object; /* the same, of the objects that its frame's pointers point to where it was compiled; NULL: it has none */
	bool unsure; /* GDB cannot tell its type: only evaluating shows whether it means anything */
	struct gdb_locals locals; /* of which frame it uses variables */
	bool compiled;
	struct gdb_expr x;
	bool direct; /* calls are made without GDB; of x only the type is filled */
	bool checked; /* ... and that gave what GDB said */
	struct calls calls;
	/* Which values are true: by default those that are not zero; else all but `unequal_to`. */
	bool by_value;
	int64_t unequal_to;
};

struct expr_value {
	enum search_value truth;
	bool known; /* value is meaningful (compiled expressions) */
	bool invalid; /* SEARCH_ERROR, since GDB does not accept it: no matter of the program's state */
	int64_t value;
	char text[160]; /* as GDB prints it; with SEARCH_ERROR: why it has none */
	struct agent_result words; /* what was read (compiled expressions) */
};

/* For users: the value, or "<why there is none>". malloc'd. */
char *expr_value_text(const struct expr_value *v);

/*
 * GDB is attached to the target. Looks for the innermost frame of thread tid in which the expression has a
 * meaning, then in the other threads. ERR_USAGE with GDB's message if none has.
 */
int expr_init(struct expr *x, struct gdb *g, const char *text, pid_t tid, struct err *e);
void expr_fini(struct expr *x);

/* Evaluates a compiled expression on the memory of pid, which must not be running. Never fails. */
void expr_eval_memory(const struct expr *x, pid_t pid, struct expr_value *out);
/*
 * Evaluates any expression, with GDB if need be, on pid, a copy that nobody needs any more (its child: it stays attached
 * to nothing, the caller kills it). Failing to evaluate is a value (SEARCH_ERROR); -1 when GDB is of no use.
 * timeout_ms: for a call into the program, 0: the default; a call that does not return has no value.
 */
int expr_eval_copy(const struct expr *x, struct gdb *g, pid_t pid, int timeout_ms, struct expr_value *out,
		   struct err *e);
/* Its variables are in registers of that thread's frame: no copy that lacks the thread can tell its value. */
bool expr_needs_thread(const struct expr *x, pid_t tid);
/* By GDB in its frame, of a thread that no copy has: all threads stand. As expr_eval_copy. */
int expr_eval_in_place(const struct expr *x, struct gdb *g, struct target *t, struct expr_value *out, struct err *e);
/*
 * For such an expression, where another thread moves: *out has the values that the variables have now in the place of
 * them. The caller frees it with expr_fini. 1: there is no such frame now.
 */
int expr_freeze(const struct expr *x, struct gdb *g, struct target *t, struct expr *out, struct err *e);
/* Has it no value because the process was killed? -1: that is so (ERR_KILLED). */
int expr_check_alive(const struct expr_value *v, pid_t pid, struct err *e);
/* On the parked target, by the best of these ways. */
int expr_eval(struct expr *x, struct gdb *g, struct target *t, struct expr_value *out, struct err *e);

#endif
