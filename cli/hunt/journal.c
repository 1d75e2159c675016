/* SPDX-License-Identifier: MIT */
/* journal.c: see journal.h. */
#include "hunt/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fdio.h"
#include "base/jsonx.h"
#include "base/str.h"

#define SYNC_S 1.0
#define READ_BYTES (1u << 18)

int journal_create(struct journal *j, const char *path, struct err *e)
{
	*j = (struct journal){.fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600),
			      .path = xstrdup(path),
			      .synced_s = clock_s()};
	return j->fd < 0 ? err_errno(e, ERR_HOST, "%s", path) : 0;
}

int journal_sync(struct journal *j, struct err *e)
{
	if (!j->dirty)
		return 0;
	if (fdatasync(j->fd))
		return err_errno(e, ERR_HOST, "%s", j->path);
	j->dirty = false;
	j->synced_s = clock_s();
	return 0;
}

int journal_add(struct journal *j, const json_t *line, bool sync, struct err *e)
{
	cleanup_buf struct buf b = {0};
	off_t end = lseek(j->fd, 0, SEEK_END);

	json_add_to(&b, line);
	buf_add_char(&b, '\n');
	if (end < 0 || write_full(j->fd, b.data, b.len)) {
		err_errno(e, ERR_HOST, "%s", j->path);
		/* if that fails, the incomplete line stays, and readers leave it out */
		if (end >= 0 && ftruncate(j->fd, end))
			buf_clear(&b);
		return -1;
	}
	j->dirty = true;
	return sync || clock_s() - j->synced_s > SYNC_S ? journal_sync(j, e) : 0;
}

void journal_close(struct journal *j)
{
	struct err ignored;

	if (j->fd >= 0) {
		journal_sync(j, &ignored);
		close(j->fd);
	}
	free(j->path);
	*j = (struct journal){.fd = -1};
}

static void one_line(const char *p, size_t len, void (*line)(void *, const json_t *), void *arg, unsigned *lost)
{
	struct err ignored;
	json_auto_t *v = len ? json_parse(p, len, &ignored) : NULL;

	if (json_is_object(v))
		line(arg, v);
	else
		*lost += len > 0;
}

/* The complete lines of b; returns their bytes. */
static size_t lines(const struct buf *b, void (*line)(void *, const json_t *), void *arg, unsigned *lost)
{
	const char *p = b->data, *end = b->data + b->len, *nl;

	while (p < end && (nl = memchr(p, '\n', (size_t)(end - p)))) {
		one_line(p, (size_t)(nl - p), line, arg, lost);
		p = nl + 1;
	}
	return b->len ? (size_t)(p - b->data) : 0;
}

int journal_read(const char *path, uint64_t *offset, void (*line)(void *arg, const json_t *v), void *arg,
		 unsigned *lost, struct err *e)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	cleanup_buf struct buf b = {0};
	uint64_t at = *offset;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_errno(e, ERR_HOST, "%s", path);
	for (;;) {
		ssize_t n = pread_full(fd, buf_reserve(&b, READ_BYTES), READ_BYTES, (off_t)at);
		size_t used;

		if (n < 0)
			return err_errno(e, ERR_HOST, "%s", path);
		if (!n)
			return 0;
		buf_added(&b, (size_t)n);
		at += (uint64_t)n;
		used = lines(&b, line, arg, lost);
		buf_consume(&b, used);
		*offset += used;
	}
}
