/* SPDX-License-Identifier: MIT */
/* type.h: the type of an expression, as far as it is needed to show a value as GDB does. */
#ifndef FRED_EXPR_TYPE_H
#define FRED_EXPR_TYPE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "gdb/gdb.h"

enum expr_type_kind {
	EXPR_TYPE_INT,
	EXPR_TYPE_BOOL,
	EXPR_TYPE_CHAR,
	EXPR_TYPE_ENUM,
	EXPR_TYPE_POINTER, /* up to here: scalar */
	EXPR_TYPE_FLOAT,
	EXPR_TYPE_AGGREGATE, /* struct, union, class, array */
	EXPR_TYPE_FUNCTION,
	EXPR_TYPE_OTHER, /* void, complex, vector, 128-bit integers ... */
};

struct expr_type {
	enum expr_type_kind kind;
	unsigned size; /* bytes; 0: unknown */
	bool is_signed; /* INT, CHAR, ENUM */
	bool is_reference; /* a C++ reference to a kind */
	char *name; /* as written, "size_t" */
	char *definition; /* without typedefs: "unsigned long", "enum col {RED, GREEN = 5}" */
};

/*
 * The type of an expression in a thread and frame; the expression is not evaluated, so no memory of
 * the program is needed. Returns as gdb_eval: -1 with ERR_USAGE for a syntax error or unknown symbol.
 */
int expr_type_of(struct gdb *g, const char *expr, pid_t tid, int frame, struct expr_type *type, struct err *e);
void expr_type_fini(struct expr_type *type);

/* Is it a number or address that fits into a register, and not a reference? */
bool expr_type_is_scalar(const struct expr_type *type);
/* Is it a float or double, or a reference to one? */
bool expr_type_is_floating(const struct expr_type *type);
/* Is it a 128-bit integer, or a reference to one? */
bool expr_type_is_wide(const struct expr_type *type);

/* Sets the kind and signedness from GDB's text of a type without typedefs. Pure. */
void expr_type_classify(struct expr_type *type);
/* A value as GDB's print shows it ("-3", "97 'a'", "GREEN", "0x4c3010", "true"). The caller's. Pure. */
char *expr_type_format(const struct expr_type *type, int64_t value);

#endif
