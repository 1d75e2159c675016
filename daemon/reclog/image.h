/* SPDX-License-Identifier: MIT */
/*
 * image.h: pNNNN/image of a recording: how one process image came to be, and how to start it again.
 */
#ifndef FRED_RECLOG_IMAGE_H
#define FRED_RECLOG_IMAGE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "reclog/start.h"
#include "rlog/rlog.h"

struct rec_image {
	uint32_t ordinal;
	struct rlog_image head;
	char *execfn, *exe, *cwd; /* "" for a FORK image */
	char **argv, **envp; /* NULL-terminated, never NULL themselves */
	uint32_t *threads; /* ordinals of the threads whose logs exist, ascending */
	unsigned nthreads;
	char *strings; /* what the above point into */
	struct rlog_begin begin;
	bool has_begin;
	struct rec_start *start; /* where it begins in a bounded recording; NULL: at its beginning */
};

/* The PID that it has in a replay. */
static inline pid_t rec_image_pid(const struct rec_image *img)
{
	return img->head.cell_pid ? (pid_t)img->head.cell_pid : (pid_t)img->head.pid;
}

/* Reads and checks PATH (REC/pNNNN/image). Threads stay empty. Damage is ERR_USAGE. */
int rec_image_read(struct rec_image *img, const char *path, uint32_t ordinal, struct err *e);
void rec_image_fini(struct rec_image *img);

#endif
