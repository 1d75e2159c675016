/* SPDX-License-Identifier: MIT */
/* descriptor.h: a system call was refused, as its file descriptor had been closed. */
#ifndef FRED_EXPLAIN_DESCRIPTOR_H
#define FRED_EXPLAIN_DESCRIPTOR_H

#include "chain/explain.h"

/*
 * The cursor stands at a call of the library that makes a system call. Was that call refused with EBADF for a
 * descriptor that had been open before? Adds a step at the call that closed it last, and says why the chain ends. 0; 1:
 * no, and the cursor is still there; -1.
 */
int descriptor_explain(struct explain *x, struct err *e);

#endif
