/* SPDX-License-Identifier: MIT */
/*
 * frames.h: the compressed parts of a log (struct rlog_frame), and how to put a whole log together from
 * them and from what its own file still has. Works while the recording is being made, too: parts are
 * compressed before they are removed from the log.
 */
#ifndef FRED_RECLOG_FRAMES_H
#define FRED_RECLOG_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* All complete frames of a file; a last one that a kill has cut short is ignored. */
struct frames {
	const uint8_t *map; /* NULL: there are none */
	uint64_t mapped, size; /* bytes of the file; bytes of its complete frames */
	uint64_t from, end; /* the range of the log that they hold, without gaps */
};

/* "tNNNN.zst" for "tNNNN.log", malloc'd. */
char *frames_path(const char *log);
/* Opens the frames of the log with this path. 0 also if there are none. A gap between frames is ERR_USAGE. */
int frames_open(struct frames *f, const char *log, struct err *e);
void frames_close(struct frames *f);

/*
 * Writes the whole log into the empty file `to`, whose size becomes that of the log, but at least `room`. Damage is
 * ERR_USAGE.
 */
int frames_unpack(const char *log, int to, uint64_t room, struct err *e);

#endif
