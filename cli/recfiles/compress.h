/* SPDX-License-Identifier: MIT */
/*
 * compress.h: compresses logs from outside of the recorded program. While it runs, a thread of idle priority compresses
 * the parts that its threads have finished; the rest is compressed when it has ended. See struct rlog_frame.
 */
#ifndef FRED_RECFILES_COMPRESS_H
#define FRED_RECFILES_COMPRESS_H

#include "base/err.h"

struct compressor;

/* Starts on a recording that is being made. NULL: it could not, and the logs stay as they are. */
struct compressor *compressor_start(const char *rec);
/* Stops within some milliseconds. s may be NULL. */
void compressor_stop(struct compressor *s);
/*
 * Compresses logs that have been truncated to what was written (running.h), for about `seconds`; what is left then
 * stays uncompressed.
 */
int compress_rest(const char *rec, double seconds, struct err *e);

#endif
