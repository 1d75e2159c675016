/* SPDX-License-Identifier: MIT */
/* own.h: the parts of fred that belong to this executable: beside it in the build tree, or where they were installed.
 */
#ifndef FRED_BASE_OWN_H
#define FRED_BASE_OWN_H

#include "base/err.h"

/*
 * The first of the places that can be read: paths relative to the executable's folder, or absolute; the last is NULL.
 * malloc'd, or NULL: ERR_HOST, and the message names `what`.
 */
char *own_file(const char *what, const char *const *places, struct err *e);

#endif
