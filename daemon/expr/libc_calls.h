/* SPDX-License-Identifier: MIT */
/*
 * libc_calls.h: what libc's functions return. Without libc's debug information GDB refuses to call them unless the
 * call is cast: 'strcmp' has unknown return type. The same of its variables, such as errno. And values of macros
 * such as NULL.
 */
#ifndef FRED_EXPR_LIBC_CALLS_H
#define FRED_EXPR_LIBC_CALLS_H

#include <stddef.h>

#include "base/err.h"

/* The type that a function returns, "int"; NULL: not known here. */
const char *expr_libc_type(const char *name, size_t len);
/*
 * why: GDB's refusal of expr. If it is about the type of a function or variable that is known here, or one of the
 * standard macros: expr with casts, or with the macro's value, which is the caller's. Else NULL. Pure.
 */
char *expr_libc_supply(const char *expr, const struct err *why);

#endif
