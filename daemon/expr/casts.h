/* SPDX-License-Identifier: MIT */
/*
 * casts.h: casts between a C++ class and its base classes. GDB's agent compiler changes the type and not the address,
 * which is right for the first base class only.
 */
#ifndef FRED_EXPR_CASTS_H
#define FRED_EXPR_CASTS_H

#include "expr/compile.h"

/*
 * *out: the expression with the distance added in casts of pointers; NULL: there is nothing to add. 1: the distance is
 * not a constant (the base class is virtual), or the cast is one of a reference: then GDB must evaluate it. -1: GDB
 * failed.
 */
int expr_spell_casts(struct gdb *g, const char *expr, const struct expr_place *at, char **out, struct err *e);
/*
 * -1 (ERR_USAGE): the expression has a dynamic_cast. GDB 13 uses the address of the table of its class where that of
 * the object is wanted.
 */
int expr_check_casts(const char *expr, struct err *e);

#endif
