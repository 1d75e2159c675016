/* SPDX-License-Identifier: MIT */
/*
 * copies.h: makes holes in the copies of files of an excerpt where the window needs nothing. Of ELF files, what a
 * debugger reads of them stays: headers, symbols, debug and unwind information.
 */
#ifndef FRED_CUT_COPIES_H
#define FRED_CUT_COPIES_H

#include "cut/touched.h"
#include "reclog/rec.h"
#include "reclog/timeline.h"

/* No process may run from these copies. tl: the timeline whose calls may read from them. *kept, *all: bytes. */
int copies_prune(const struct rec *excerpt, struct timeline *tl, const struct touched *x, uint64_t *kept, uint64_t *all,
		 struct err *e);
/* Fills the holes again, from the recording that the window was taken from. */
int copies_restore(const char *excerpt, const struct rec *from, struct err *e);

#endif
