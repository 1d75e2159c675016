/* SPDX-License-Identifier: MIT */
/*
 * compress.h: compresses logs, outside of the recorded program: while it runs, what its threads are done with, by a thread
 * that gets the processor only when nobody else wants it; the rest when it has ended. See struct rlog_frame.
 */
#ifndef FRED_RECFILES_COMPRESS_H
#define FRED_RECFILES_COMPRESS_H

#include "base/err.h"

struct compressor;

/* Begins with a recording that is being made. NULL: it cannot; nothing is lost by that. */
struct compressor *compressor_start(const char *rec);
/* Ends that, in some milliseconds. NULL is fine. */
void compressor_stop(struct compressor *s);
/*
 * Compresses logs to which nobody writes any more, cut to what was written, for about `seconds`; what is not reached
 * then stays as it is.
 */
int compress_rest(const char *rec, double seconds, struct err *e);

#endif
