/* SPDX-License-Identifier: MIT */
/*
 * frames.h: the compressed parts of a log (struct rlog_frame), and a log made whole of them and of what its own file still
 * has. Good for a recording that is being made: parts are compressed before they are cut out of the log.
 */
#ifndef FRED_RECLOG_FRAMES_H
#define FRED_RECLOG_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* All whole frames of a file; the last one may have been cut short by a kill, and does not count. */
struct frames {
	const uint8_t *map; /* NULL: there are none */
	uint64_t mapped, size; /* of the file; of its whole frames */
	uint64_t from, end; /* what they hold of the log: there are no gaps */
};

/* "tNNNN.zst" for "tNNNN.log", malloc'd. */
char *frames_path(const char *log);
/* Those of the log of this path. No file: none, 0. Frames that do not follow each other are ERR_USAGE. */
int frames_open(struct frames *f, const char *log, struct err *e);
void frames_close(struct frames *f);

/*
 * Writes all of the log into the empty file `to`, whose size becomes that of the log, at least `room`. Damage is
 * ERR_USAGE.
 */
int frames_unpack(const char *log, int to, uint64_t room, struct err *e);

#endif
