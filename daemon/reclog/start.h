/* SPDX-License-Identifier: MIT */
/*
 * start.h: pNNNN/start: where what is left of a process image in a bounded recording begins. Its events before that are
 * gone; instead there is a checkpoint, behind the first event that is left.
 */
#ifndef FRED_RECLOG_START_H
#define FRED_RECLOG_START_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Where a thread's log goes on. Threads that are not named began later. */
struct rec_start_thread {
	uint32_t thread; /* ordinal */
	uint64_t offset; /* of its first record that is left */
	uint64_t stamp; /* its last one before that */
	bool over; /* it has ended, nothing follows; not kept */
};

struct rec_start {
	uint64_t event; /* the first one that is left: numbers go on; 0: none is left, and there is nothing else */
	uint32_t thread; /* whose event that is */
	uint32_t root; /* the image whose control page the process in the checkpoint has */
	uint64_t checkpoint; /* pNNNN/ckpt/ID */
	struct rec_start_thread *threads; /* by ordinal */
	unsigned nthreads;
};

/* Reads PATH (REC/pNNNN/start), malloc'd; *out is NULL when there is none. Damage is ERR_USAGE. */
int rec_start_read(const char *path, struct rec_start **out, struct err *e);
/* Replaces it; what is there afterwards, also after a power cut, is the old or the new one. */
int rec_start_write(const char *path, const struct rec_start *s, struct err *e);
/* NULL is fine. */
void rec_start_free(struct rec_start *s);
/* NULL: this thread's log begins at its beginning. Borrowed. s may be NULL. */
const struct rec_start_thread *rec_start_of(const struct rec_start *s, uint32_t thread);

#endif
