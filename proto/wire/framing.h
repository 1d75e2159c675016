/* SPDX-License-Identifier: MIT */
/*
 * framing.h: newline-delimited messages out of a byte stream. JSON texts written by us hold no raw
 * newline, so a line is a message; empty lines are skipped. A line over the limit means that framing is
 * lost: the stream cannot be used any more.
 */
#ifndef FRED_WIRE_FRAMING_H
#define FRED_WIRE_FRAMING_H

#include <stddef.h>
#include <sys/types.h>

#define WIRE_MAX_MESSAGE ((size_t)16 << 20)

struct wire_frame {
	char *data;
	size_t len, cap;
	size_t start; /* where the message that is looked for begins */
	size_t scan; /* no newline in [start, scan) */
	size_t limit; /* the most bytes of a message, without its newline */
};

enum wire_frame_result { WIRE_FRAME_LINE, WIRE_FRAME_MORE, WIRE_FRAME_LOST };

void wire_frame_init(struct wire_frame *f, size_t limit);
void wire_frame_fini(struct wire_frame *f);
/*
 * Reads once from fd. Returns as read(2): the count, 0 at the end, -1 with errno (EAGAIN, EINTR ...;
 * ENOMEM). Lines got before are invalid afterwards.
 */
ssize_t wire_frame_read(struct wire_frame *f, int fd);
/* The next message: *line has *len bytes, no newline, not NUL-terminated, borrowed. */
enum wire_frame_result wire_frame_next(struct wire_frame *f, const char **line, size_t *len);

#endif
