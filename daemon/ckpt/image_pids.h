/* SPDX-License-Identifier: MIT */
/* image_pids.h: the PIDs that an image will take when it is restored. */
#ifndef FRED_CKPT_IMAGE_PIDS_H
#define FRED_CKPT_IMAGE_PIDS_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct image_pids {
	pid_t *process; /* mm-PID.img: the processes */
	size_t processes;
	pid_t *thread; /* core-TID.img: all their threads */
	size_t threads;
};

/* From the names of an image folder's files. Fails when there is no image in it. */
int image_pids_read(const char *dir, struct image_pids *p, struct err *e);
void image_pids_fini(struct image_pids *p);
/* ERR_INTERNAL when one of them belongs to a living process, or to a child not yet waited for. */
int image_pids_check_free(const struct image_pids *p, struct err *e);
/* Kills and reaps what a failed restore has left of the processes: children of ours. */
void image_pids_clear(const struct image_pids *p);

#endif
