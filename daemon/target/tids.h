/* SPDX-License-Identifier: MIT */
/*
 * tids.h: where the kernel chooses TIDs (cell/plain.h), threads have other ones after their process was started again.
 * Code that has noted a thread by its TID finds the thread that has its place now.
 */
#ifndef FRED_TARGET_TIDS_H
#define FRED_TARGET_TIDS_H

#include <stdint.h>
#include <sys/types.h>

#include "rlog/replay.h"

struct tids {
	struct tid_was {
		pid_t tid;
		uint32_t process, thread; /* image and ordinal */
	} * v; /* in the order in which they were first seen */
	unsigned n;
};

/* Notes the TIDs of the threads of the process with this control page. */
void tids_note(struct tids *h, const struct replay_ctl *c);
/*
 * The present TID of the thread that had this one; the same TID if it was not noted, or if the thread does not exist
 * now.
 */
pid_t tids_now(const struct tids *h, const struct replay_ctl *c, pid_t tid);
void tids_fini(struct tids *h);

#endif
