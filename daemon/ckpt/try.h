/* SPDX-License-Identifier: MIT */
/* try.h: does a checkpoint work on this host? A process of two threads is dumped, ended, restored, and continues. */
#ifndef FRED_CKPT_TRY_H
#define FRED_CKPT_TRY_H

#include "base/err.h"

struct ckpt_try {
	double dump_s, restore_s;
};

/* How the caller's own program is executed once more, to be the process that is tried: it calls ckpt_try_answer. */
#define CKPT_TRY_OPTION "--answer"

/*
 * To be called by a cell's pid 1, with a single thread and no other children. ERR_HOST or ERR_INTERNAL: what fails.
 * Processes that it leaves end with the cell.
 */
int ckpt_try(struct ckpt_try *out, struct err *e);
/* Answers as one of the tried process's threads. Returns only if that fails: the exit status. */
int ckpt_try_answer(void);

#endif
