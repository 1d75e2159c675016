/* SPDX-License-Identifier: MIT */
/*
 * excerpt.h: makes a recording that has a window of another one: one process image from an event on, with the logs up
 * to a later event. It begins with a checkpoint, as a bounded recording does (reclog/start.h).
 */
#ifndef FRED_CUT_EXCERPT_H
#define FRED_CUT_EXCERPT_H

#include "reclog/rec.h"
#include "reclog/timeline.h"

/* Of a recording that has no bound: a replay makes room for logs as if it had one (target/logs.h). */
#define EXCERPT_LOG_LIMIT (1ull << 40)

/*
 * Writes all but the checkpoint into the folder dir, which exists: control page, images, logs, copies of files,
 * pNNNN/start and meta.json. tl: of the process in rec; start: from timeline_start_at, with root and checkpoint set.
 * to: the last event; a later one is taken if threads would otherwise come in another order, *to is that one then.
 */
int excerpt_write(const struct rec *rec, struct timeline *tl, const struct rec_start *start, uint64_t *to,
		  const char *dir, struct err *e);
/* The name in REC/files of the copy that a call read from, malloc'd. */
char *excerpt_copy_name(const struct rlog_ref *ref);
/* Lists all files anew in its meta.json. */
int excerpt_seal(const char *dir, struct err *e);

#endif
