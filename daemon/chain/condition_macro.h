/* SPDX-License-Identifier: MIT */
/* condition_macro.h: the macros that a source defines, and an expression with their bodies in their places. Pure. */
#ifndef FRED_CHAIN_CONDITION_MACRO_H
#define FRED_CHAIN_CONDITION_MACRO_H

#include <stddef.h>

#include "base/str.h"

struct macros {
	struct macro *v;
	size_t n;
	struct strv includes; /* the names in quotes that the sources include */
};

/* Adds those of a source; m is zeroed before the first one. */
void macros_read(struct macros *m, const char *source);
void macros_fini(struct macros *m);
/*
 * The expression without the macros whose bodies are known and are expressions that change nothing. malloc'd: a copy,
 * if there are none.
 */
char *macros_expand(const struct macros *m, const char *expr);

#endif
