/* SPDX-License-Identifier: MIT */
/* undo_log.c: see undo_log.h. The file is an array of records, each with a checksum: it is only appended to, and cut.
 */
#include "sessionstate/undo_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/crc32c.h"
#include "base/fdio.h"
#include "base/str.h"

struct record {
	uint32_t crc, size; /* of what follows */
	struct mark mark;
};

static void append(struct undo_log *p, const struct mark *s)
{
	p->v = xreallocarray(p->v, p->n + 1, sizeof(p->v[0]));
	p->v[p->n++] = *s;
}

static int read_all(struct undo_log *p, struct err *e)
{
	struct record r;
	ssize_t got;

	while ((got = pread_full(p->fd, &r, sizeof(r), (off_t)(p->n * sizeof(r)))) == (ssize_t)sizeof(r)) {
		if (r.size != sizeof(r.mark) || r.crc != crc32c(0, &r.mark, sizeof(r.mark)))
			break;
		append(p, &r.mark);
	}
	if (got < 0 || ftruncate(p->fd, (off_t)(p->n * sizeof(r))))
		return err_errno(e, ERR_INTERNAL, "the history");
	return 0;
}

int undo_log_open(struct undo_log *p, const char *path, struct err *e)
{
	*p = (struct undo_log){.fd = -1};
	if (!path)
		return 0;
	p->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (p->fd < 0)
		return err_errno(e, ERR_HOST, "%s", path);
	return read_all(p, e) ? err_wrap(e, "%s", path) : 0;
}

void undo_log_close(struct undo_log *p)
{
	if (p->fd >= 0)
		close(p->fd);
	free(p->v);
	*p = (struct undo_log){.fd = -1};
}

static int write_last(struct undo_log *p, struct err *e)
{
	struct record r = {.size = sizeof(r.mark), .mark = p->v[p->n - 1]};

	r.crc = crc32c(0, &r.mark, sizeof(r.mark));
	if (p->fd < 0 || !pwrite_full(p->fd, &r, sizeof(r), (off_t)((p->n - 1) * sizeof(r))))
		return 0;
	return err_errno(e, ERR_HOST, "the history cannot be saved");
}

int undo_log_prompt(struct undo_log *p, const struct mark *here, struct err *e)
{
	if (p->n && mark_same(&p->v[p->n - 1], here))
		return 0;
	append(p, here);
	return write_last(p, e);
}

const struct mark *undo_log_find(const struct undo_log *p, uint64_t n, struct err *e)
{
	if (p->n && n < p->n)
		return &p->v[p->n - 1 - n];
	if (p->n > 1)
		err_set(e, ERR_USAGE, "only %u command%s moved the program", p->n - 1, p->n == 2 ? " has" : "s have");
	else
		err_set(e, ERR_USAGE, "no command has moved the program");
	return NULL;
}

int undo_log_forget(struct undo_log *p, uint64_t n, const struct mark *here, struct err *e)
{
	p->n -= (unsigned)n;
	p->v[p->n - 1] = *here;
	if (p->fd >= 0 && ftruncate(p->fd, (off_t)(p->n * sizeof(struct record))))
		return err_errno(e, ERR_HOST, "the history cannot be saved");
	return write_last(p, e);
}
