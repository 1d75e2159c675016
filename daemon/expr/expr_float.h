/* SPDX-License-Identifier: MIT */
/*
 * expr_float.h: expressions with floating-point numbers or 128-bit integers, which GDB does not compile. They are split
 * at the operators that involve these; GDB compiles the operands, and the addresses of the numbers.
 */
#ifndef FRED_EXPR_EXPR_FLOAT_H
#define FRED_EXPR_EXPR_FLOAT_H

#include <stddef.h>
#include <stdint.h>

#include "expr/compile.h"
#include "expr/locals.h"
#include "gdb/gdb.h"

/*
 * Compiles a text that expr_compile has refused (EXPR_NOT_COMPILABLE) to agent bytecode (agent/agent.h) whose value
 * is an integer. 0: *code is the caller's, *locals is the frame whose variables are used, *cast "(TYPE)0" where
 * it is a cast to that type, else as it was (the caller's; cast may be NULL). 1: it has no such numbers, or
 * is not made of + - * / % & | ^ ~ << >> < <= > >= == != && || ! and casts between them: e says why. -1: GDB failed.
 */
int expr_float_compile(struct gdb *g, const char *text, const struct expr_place *at, uint8_t **code, size_t *len,
		       struct expr_locals *locals, char **cast, struct err *e);

/* The same with the type of the value. */
int expr_float_code(struct gdb *g, const char *text, const struct expr_place *at, struct expr_code *code,
		    struct err *e);
/* Has GDB refused the expression since it does not compute with 128-bit integers? r: as expr_compile. */
bool expr_is_too_wide(int r, const struct err *e);

#endif
