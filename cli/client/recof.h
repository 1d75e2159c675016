/* SPDX-License-Identifier: MIT */
/* recof.h: the recordings of a program. */
#ifndef FRED_CLIENT_RECOF_H
#define FRED_CLIENT_RECOF_H

#include "base/err.h"

/* The recording of this program in $FRED_HOME that was made last. malloc'd; NULL: ERR_USAGE, there is none. */
char *recof_program(const char *program, struct err *e);

#endif
