/* SPDX-License-Identifier: MIT */
/*
 * start.h: pNNNN/start: where the remaining part of a process image begins in a bounded recording
 * (--max-log). Earlier events are gone; instead there is a checkpoint right after the first remaining
 * event.
 */
#ifndef FRED_RECLOG_START_H
#define FRED_RECLOG_START_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Where a thread's remaining log begins. Threads that are not listed were created later. */
struct rec_start_thread {
	uint32_t thread; /* ordinal */
	uint64_t offset; /* of its first remaining record */
	uint64_t stamp; /* its last stamp before that */
	bool over; /* it has ended, nothing follows; not stored in the file */
};

struct rec_start {
	/* the first remaining event; event numbers do not change. 0: none remains, and all below is unset */
	uint64_t event;
	uint32_t thread; /* the thread of that event */
	uint32_t root; /* the image whose control page the process in the checkpoint uses */
	uint64_t checkpoint; /* pNNNN/ckpt/ID */
	struct rec_start_thread *threads; /* by ordinal */
	unsigned nthreads;
};

/* Reads PATH (REC/pNNNN/start), malloc'd; *out is NULL when there is none. Damage is ERR_USAGE. */
int rec_start_read(const char *path, struct rec_start **out, struct err *e);
/* Replaces the file atomically, also with regard to a power cut. */
int rec_start_write(const char *path, const struct rec_start *s, struct err *e);
/* NULL is fine. */
void rec_start_free(struct rec_start *s);
/* NULL: this thread's log begins at its beginning. Borrowed. s may be NULL. */
const struct rec_start_thread *rec_start_of(const struct rec_start *s, uint32_t thread);

#endif
