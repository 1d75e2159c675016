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
	char *given; /* the user's text */
	char *text; /* for GDB: with casts for calls into libc */
	/* text with addresses in place of variables, so that it means the same in any frame; NULL: not possible */
	char *absolute;
	char *in_frame; /* text as GDB must get it in the expression's frame; NULL: unchanged */
	/*
	 * as absolute, but about the objects that the frame's pointers pointed to when it was compiled; NULL: there are
	 * none
	 */
	char *object;
	bool unsure; /* GDB does not know its type: only evaluating it shows whether it means anything */
	struct expr_locals locals; /* the frame whose variables it uses */
	bool compiled;
	struct expr_code x;
	bool direct; /* fred makes the calls without GDB; of x only the type is filled */
	bool checked; /* ... and a value was compared with GDB's */
	unsigned vain[2]; /* how often GDB had no value to compare with; [1]: ... and the calls had none either */
	unsigned checks; /* how often the value by interpreting was compared with the one by running */
	struct calls calls;
	/* Which values are true: by default those that are not zero; else all but `unequal_to`. */
	bool by_value;
	int64_t unequal_to;
	struct expr_patience *patience; /* for its calls */
};

struct expr_value {
	enum search_value truth;
	bool known; /* value is set (only for compiled expressions) */
	bool invalid; /* SEARCH_ERROR in any state of the program, since GDB does not accept the expression */
	bool endless; /* SEARCH_ERROR: its call did not return within the limit */
	bool ended; /* SEARCH_ERROR: the copy was killed here, because its call would have waited for ever */
	int64_t value;
	char text[160]; /* as GDB prints the value; with SEARCH_ERROR: why there is none */
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
/* From now on x shares this patience, which belongs to another expression of the same command. */
void expr_share_patience(struct expr *x, struct expr_patience *p);

/* Compiles an expression with 128-bit integers, with which GDB does not compute (GDB_TOO_WIDE). 1: it cannot be; e says
 * why. -1: GDB failed. */
int expr_init_wide(struct expr *x, struct gdb *g, const char *text, const struct expr_place *at, struct err *e);

/* Evaluates a compiled expression on the memory of pid, which must not be running. Never fails. */
void expr_eval_memory(const struct expr *x, pid_t pid, struct expr_value *out);
/*
 * The same also for expressions with calls, if these can be interpreted: pid is not run, and no copy is needed. 1: not
 * possible.
 */
int expr_eval_still(const struct expr *x, pid_t pid, struct expr_value *out);
/* Can expr_eval_still be tried? */
bool expr_is_still(const struct expr *x);
/*
 * Evaluates any expression in pid, a copy of the process that the caller kills afterwards; with GDB if need be. An
 * expression without a value is a result (SEARCH_ERROR); -1: GDB failed.
 * timeout_ms: of a call into the program, 0: the default; a call that does not return has no value. The default becomes
 * less once one did not return, and after many of them it is an error (ERR_USAGE).
 */
int expr_eval_copy(const struct expr *x, struct gdb *g, pid_t pid, int timeout_ms, struct expr_value *out,
		   struct err *e);
/*
 * Are its variables in registers of a frame of another thread than tid? Then a copy that has only tid does not show its
 * value.
 */
bool expr_needs_thread(const struct expr *x, const struct target *t, pid_t tid);
/*
 * Evaluates such an expression by GDB in its frame in the target itself, all of whose threads are stopped. As
 * expr_eval_copy.
 */
int expr_eval_in_place(const struct expr *x, struct gdb *g, struct target *t, struct expr_value *out, struct err *e);
/*
 * *out: such an expression with the present values of its variables put in, for a segment in which another thread
 * moves. The caller frees it with expr_fini. 1: the frame does not exist now.
 */
int expr_freeze(const struct expr *x, struct gdb *g, struct target *t, struct expr *out, struct err *e);
/* Returns -1 (ERR_KILLED) if the expression has no value because the process was killed. */
int expr_check_alive(const struct expr_value *v, pid_t pid, struct err *e);
/* Evaluates the expression on the parked target in the quickest of these ways that is possible. */
int expr_eval(struct expr *x, struct gdb *g, struct target *t, struct expr_value *out, struct err *e);

#endif
