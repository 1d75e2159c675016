/* SPDX-License-Identifier: MIT */
/*
 * compile.h: has GDB compile an expression to agent bytecode (agent/agent.h), in the scope of a thread's frame. It
 * is then evaluated on the process's memory without GDB.
 *
 * Variables of the frame become their addresses when the expression is compiled (rewrite.h), so that
 * at other times the same memory is read, as with `watch -location`; `this` keeps its value. The
 * bytecode uses no registers.
 *
 * Compiled: globals, statics ('file.c'::v, func::v), locals in memory, thread-local variables (of that
 * thread), members (. -> this-> and implicit ones), array elements, bit-fields, casts, integer
 * and pointer arithmetic, comparisons, && || ! ?:, addresses, function pointers, enumerations.
 * Not: floating point, calls, assignments, structs and arrays as values, variables in registers, what
 * starts with $, locals of unnamed types.
 */
#ifndef FRED_EXPR_COMPILE_H
#define FRED_EXPR_COMPILE_H

#include "expr/locals.h"
#include "expr/type.h"
#include "gdb/gdb.h"

#define EXPR_NOT_COMPILABLE 1

/* A frame of a thread, in which expressions are compiled. Valid as long as the program does not move. */
struct expr_place {
	pid_t tid;
	int frame;
	char *line; /* the argument of `maint agent-eval` for its source line; "": it has none */
};

struct expr_code {
	struct expr_type type; /* the type of the expression as it was given */
	uint8_t *code; /* agent bytecode */
	size_t len;
	struct expr_locals locals;
};

/* -1: GDB failed. expr_place_fini frees. */
int expr_place_init(struct expr_place *p, struct gdb *g, pid_t tid, int frame, struct err *e);
void expr_place_fini(struct expr_place *p);
#define cleanup_place __attribute__((cleanup(expr_place_fini)))

/*
 * Compiles. Returns
 *   0  done: expr_code_fini frees
 *   1  (EXPR_NOT_COMPILABLE) a valid expression that the bytecode cannot express: evaluate it with
 *      gdb_eval. e is GDB's reason (ERR_NOT_FOUND)
 *  -1  ERR_USAGE: a syntax error or an unknown symbol; others as gdb.h
 */
int expr_compile(struct gdb *g, const char *expr, const struct expr_place *at, struct expr_code *out, struct err *e);
/* The address of a float, double or 128-bit integer (expr_type_is_floating, expr_type_is_wide), the value of anything
 * else. */
int expr_compile_number(struct gdb *g, const char *expr, const struct expr_place *at, struct expr_code *out,
			struct err *e);
void expr_code_fini(struct expr_code *x);

#endif
