/* SPDX-License-Identifier: MIT */
/*
 * expr.h: the watched expression. GDB compiles it once, in a frame of the stopped target; then it is
 * evaluated on a process's memory in microseconds. Calls are made in a throw-away copy of the process
 * (call.h). What neither can express (registers, functions that take floating-point numbers) GDB evaluates in such a
 * copy.
 */
#ifndef FRED_EXPR_EXPR_H
#define FRED_EXPR_EXPR_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/agent.h"
#include "expr/call.h"
#include "expr/compile.h"
#include "expr/locals.h"
#include "gdb/gdb.h"
#include "search/ops.h"
#include "target/target.h"

struct expr {
	char *given; /* as the user wrote it */
	char *text; /* as GDB takes it: calls into libc are cast */
	char *absolute; /* the same with addresses for variables, so that it means this in any frame; NULL: it cannot */
	char *in_frame; /* as GDB evaluates it in its frame; NULL: as it is */
	char *object; /* as absolute, of the objects that the frame's pointers pointed to when it was compiled; NULL:
			 there are none */
	bool unsure; /* GDB cannot tell its type: only evaluating shows whether it means anything */
	struct expr_locals locals; /* the frame whose variables it uses */
	bool compiled;
	struct expr_code x;
	bool direct; /* calls are made without GDB; of x only the type is filled */
	bool checked; /* ... and the value was once compared with GDB's */
	unsigned vain[2]; /* how often GDB had no value to compare with; [1]: where the calls gave none, too */
	unsigned checks; /* how often what calls_still says was compared with running them */
	struct calls calls;
	/* Which values are true: by default those that are not zero; else all but `unequal_to`. */
	bool by_value;
	int64_t unequal_to;
	struct expr_patience *patience; /* with its calls */
};

struct expr_value {
	enum search_value truth;
	bool known; /* value is meaningful (compiled expressions) */
	bool invalid; /* SEARCH_ERROR, and in any state of the program, since GDB does not accept it */
	bool endless; /* SEARCH_ERROR: its call did not return within the limit */
	bool ended; /* SEARCH_ERROR: the copy was killed here, because its call would have waited for ever */
	int64_t value;
	char text[160]; /* as GDB prints it; with SEARCH_ERROR: why it has none */
	bool told; /* words are all that the value depends on */
	struct agent_result words; /* what was read (expr_eval_still) */
};

/* For users: the value, or "<why there is none>". malloc'd. */
char *expr_value_text(const struct expr_value *v);

/*
 * GDB is attached to the target. Looks for the innermost frame of thread tid in which the expression has a
 * meaning, then in the other threads. ERR_USAGE with GDB's message if none has.
 */
int expr_init(struct expr *x, struct gdb *g, const char *text, pid_t tid, struct err *e);
void expr_fini(struct expr *x);
/* From now on x has a part of this patience, that of another expression of the same command, in place of its own. */
void expr_share_patience(struct expr *x, struct expr_patience *p);

/* Compiles an expression with 128-bit integers, with which GDB does not compute (GDB_TOO_WIDE). 1: it cannot be; e says
 * why. -1: GDB failed. */
int expr_init_wide(struct expr *x, struct gdb *g, const char *text, const struct expr_place *at, struct err *e);

/* Evaluates a compiled expression on the memory of pid, which must not be running. Never fails. */
void expr_eval_memory(const struct expr *x, pid_t pid, struct expr_value *out);
/*
 * The same of expressions with calls too, as far as those can be interpreted: nothing of pid is run, and no copy is
 * needed. 1: it cannot be evaluated that way.
 */
int expr_eval_still(const struct expr *x, pid_t pid, struct expr_value *out);
/* May expr_eval_still be tried? */
bool expr_is_still(const struct expr *x);
/*
 * Evaluates any expression in pid, a copy of the process that the caller kills afterwards; with GDB if need be. An
 * expression without a value is a result (SEARCH_ERROR); -1: GDB failed.
 * timeout_ms: of a call into the program, 0: the default; a call that does not return has no value. The default becomes
 * less once one did not return, and after many of them it is an error (ERR_USAGE).
 */
int expr_eval_copy(const struct expr *x, struct gdb *g, pid_t pid, int timeout_ms, struct expr_value *out,
		   struct err *e);
/* Are its variables in registers of a frame of another thread of the target than tid? Then a copy with tid alone does
 * not tell its value. */
bool expr_needs_thread(const struct expr *x, const struct target *t, pid_t tid);
/* Such an expression, by GDB in its frame of the target itself, all threads of which are stopped. As expr_eval_copy. */
int expr_eval_in_place(const struct expr *x, struct gdb *g, struct target *t, struct expr_value *out, struct err *e);
/*
 * *out: such an expression with the present values of the variables in their places, for a segment in which another
 * thread moves. The caller frees it with expr_fini. 1: the frame does not exist now.
 */
int expr_freeze(const struct expr *x, struct gdb *g, struct target *t, struct expr *out, struct err *e);
/* -1 (ERR_KILLED): it has no value because the process was killed. */
int expr_check_alive(const struct expr_value *v, pid_t pid, struct err *e);
/* On the parked target, by the quickest of these ways that the expression allows. */
int expr_eval(struct expr *x, struct gdb *g, struct target *t, struct expr_value *out, struct err *e);

#endif
