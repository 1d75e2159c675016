/* SPDX-License-Identifier: MIT */
/* check.h: can fred record this program? Checked before any file is made. */
#ifndef FRED_SUPERVISOR_CHECK_H
#define FRED_SUPERVISOR_CHECK_H

#include "base/err.h"

/* Finds a program as execvp(3) does. malloc'd, or NULL: ERR_USAGE. */
char *check_find_program(const char *name, struct err *e);
/*
 * Is it a dynamically linked 64-bit glibc program (or a script of one) that runs with our own rights? ERR_USAGE
 * naming the reason if not.
 */
int check_recordable(const char *path, struct err *e);

#endif
