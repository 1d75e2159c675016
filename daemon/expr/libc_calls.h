/* SPDX-License-Identifier: MIT */
/*
 * libc_calls.h: the types of libc's functions. Without libc's debug information GDB refuses to call them without a
 * cast: 'strcmp' has unknown return type. The same is true of its variables, such as errno. Also the values of macros
 * such as NULL.
 */
#ifndef FRED_EXPR_LIBC_CALLS_H
#define FRED_EXPR_LIBC_CALLS_H

#include <stddef.h>

#include "base/err.h"

/* The type that a function returns, for example "int"; NULL: not known here. */
const char *expr_libc_type(const char *name, size_t len);
/*
 * why: GDB's refusal of expr. If the reason is the type of a function or variable that is known here, or one of the
 * standard macros: returns expr with casts, or with the macro's value, which is the caller's. Else NULL. Pure.
 */
char *expr_libc_supply(const char *expr, const struct err *why);

#endif
