/* SPDX-License-Identifier: MIT */
/* move.h: the debugger resumes the program: where it stops, and what the debugger is told of that. */
#ifndef FRED_DEBUG_MOVE_H
#define FRED_DEBUG_MOVE_H

#include "rsp/stub.h"

/* rsp_ops.resume; arg is a struct debug. */
int debug_resume(void *d, enum rsp_resume how, int id, struct rsp_stop *stop, struct err *e);

#endif
