/* SPDX-License-Identifier: MIT */
/* mi_reason.c: see mi_reason.h. */
#include "frontend/mi_reason.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"

#define STOPPED "*stopped"
#define REASON ",reason=\"no-history\""

static bool contains(const char *line, size_t len, const char *what)
{
	return memmem(line, len, what, strlen(what)) != NULL;
}

static bool starts(const char *line, size_t len, const char *what)
{
	return len >= strlen(what) && !memcmp(line, what, strlen(what));
}

void mi_reason_line(struct mi_reason *m, const char *line, size_t len, struct buf *out)
{
	size_t head = strlen(STOPPED);

	if (starts(line, len, "*running"))
		m->at_end = false;
	if (starts(line, len, "~\"") && contains(line, len, "No more reverse-execution history."))
		m->at_end = true;
	if (m->at_end && starts(line, len, STOPPED)) {
		m->at_end = false;
		if (!starts(line + head, len - head, ",reason=")) {
			buf_add_str(out, STOPPED REASON);
			line += head;
			len -= head;
		}
	}
	buf_add(out, line, len);
}

/* Edits all whole lines of `in`; at the end of the file also the rest. */
static void edit(struct mi_reason *m, struct buf *in, bool rest, struct buf *out)
{
	const char *end;

	while (in->len && ((end = memchr(in->data, '\n', in->len)) || rest)) {
		size_t len = end ? (size_t)(end - in->data) + 1 : in->len;

		mi_reason_line(m, in->data, len, out);
		buf_consume(in, len);
	}
}

static _Noreturn void copy(int from)
{
	cleanup_buf struct buf in = {0}, out = {0};
	struct mi_reason m = {0};
	ssize_t n;

	do {
		n = read(from, buf_reserve(&in, 65536), 65536);
		if (n < 0 && errno == EINTR)
			continue;
		buf_added(&in, n > 0 ? (size_t)n : 0);
		/* a prompt has no line end while GDB waits */
		edit(&m, &in, n <= 0 || (in.len == 6 && !memcmp(in.data, "(gdb) ", 6)), &out);
		if (write_full(1, out.data, out.len))
			_exit(0);
		buf_clear(&out);
	} while (n > 0 || (n < 0 && errno == EINTR));
	_exit(0);
}

int mi_reason_start(pid_t *pid, int *fd, struct err *e)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC))
		return err_errno(e, ERR_HOST, "pipe");
	*pid = fork();
	if (!*pid) {
		close(p[1]);
		close(0);
		copy(p[0]);
	}
	close(p[0]);
	*fd = p[1];
	return *pid < 0 ? err_fork(e, "fork") : 0;
}
