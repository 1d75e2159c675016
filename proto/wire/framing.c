/* SPDX-License-Identifier: MIT */
/* framing.c: see framing.h. Each byte is scanned once and, on average, moved once. */
#include "wire/framing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK ((size_t)64 << 10)
#define KEEP ((size_t)1 << 20) /* an empty buffer larger than this is freed */

void wire_frame_init(struct wire_frame *f, size_t limit)
{
	memset(f, 0, sizeof(*f));
	f->limit = limit;
}

void wire_frame_fini(struct wire_frame *f)
{
	free(f->data);
	wire_frame_init(f, f->limit);
}

/* Drops the messages already returned. */
static void compact(struct wire_frame *f)
{
	if (!f->start)
		return;
	f->len -= f->start;
	f->scan -= f->start;
	if (f->len)
		memmove(f->data, f->data + f->start, f->len);
	f->start = 0;
	if (!f->len && f->cap > KEEP) {
		free(f->data);
		f->data = NULL;
		f->cap = 0;
	}
}

static int make_room(struct wire_frame *f, size_t room)
{
	size_t cap = f->cap ? f->cap : CHUNK;
	char *grown;

	compact(f);
	if (f->cap - f->len >= room)
		return 0;
	while (cap - f->len < room)
		cap *= 2;
	grown = realloc(f->data, cap);
	if (!grown) {
		errno = ENOMEM;
		return -1;
	}
	f->data = grown;
	f->cap = cap;
	return 0;
}

ssize_t wire_frame_read(struct wire_frame *f, int fd)
{
	ssize_t n;

	if (make_room(f, CHUNK))
		return -1;
	n = read(fd, f->data + f->len, f->cap - f->len);
	if (n > 0)
		f->len += (size_t)n;
	return n;
}

enum wire_frame_result wire_frame_next(struct wire_frame *f, const char **line, size_t *len)
{
	while (f->scan < f->len) {
		char *nl = memchr(f->data + f->scan, '\n', f->len - f->scan);
		size_t end = nl ? (size_t)(nl - f->data) : f->len;

		if (end - f->start > f->limit)
			return WIRE_FRAME_LOST;
		f->scan = nl ? end + 1 : end;
		if (!nl)
			break;
		*line = f->data + f->start;
		*len = end - f->start;
		f->start = f->scan;
		if (*len)
			return WIRE_FRAME_LINE;
	}
	return WIRE_FRAME_MORE;
}
