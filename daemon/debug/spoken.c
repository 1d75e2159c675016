/* SPDX-License-Identifier: MIT */
/* spoken.c: see spoken.h. */
#include "debug/spoken.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/str.h"
#include "replay/segment.h"

#define WRITE_BASE 32u /* in struct _IO_FILE; after it _IO_write_ptr */
#define NAME_BELOW 8192u /* bytes below the stack pointer: arguments of a call are above that */
#define TEXT_MAX (1u << 20) /* the most that is shown of one call's output */

/* Adds the text in stdio's buffer. */
static void add_held(pid_t pid, uint64_t out, struct buf *b)
{
	cleanup_free char *data = NULL;
	struct err ignored;
	uint64_t word[2];

	if (!out || trace_read(pid, out + WRITE_BASE, word, sizeof(word), &ignored) || word[1] <= word[0] ||
	    word[1] - word[0] > TEXT_MAX)
		return;
	data = xmalloc(word[1] - word[0]);
	if (!trace_read(pid, word[0], data, word[1] - word[0], &ignored))
		buf_add(b, data, word[1] - word[0]);
}

static int call(struct trace *copy, uint64_t gadget, long nr, uint64_t a, uint64_t b, int *result, struct err *e)
{
	const uint64_t args[6] = {a, b};
	int64_t ret;

	if (trace_syscall(copy, gadget, nr, args, &ret, e))
		return -1;
	*result = (int)ret;
	return ret < 0 ? err_set(e, ERR_INTERNAL, "system call %ld in the copy: %s", nr, strerror((int)-ret)) : 0;
}

/* To a new file. *file: the descriptor by which it stays open. */
static int redirect(struct trace *copy, uint64_t gadget, uint64_t name, int fd, int *file, struct err *e)
{
	int ignored;

	return call(copy, gadget, SYS_memfd_create, name, MFD_CLOEXEC, file, e) ||
			       call(copy, gadget, SYS_dup2, (uint64_t)*file, (uint64_t)fd, &ignored, e)
		       ? -1
		       : 0;
}

static int begin_one(struct spoken *s, struct trace *copy, uint64_t gadget, uint64_t name, int i, struct err *e)
{
	char path[64];
	int file;

	if (redirect(copy, gadget, name, i + 1, &file, e))
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)copy->pid, file);
	s->fd[i] = open(path, O_RDONLY | O_CLOEXEC);
	return s->fd[i] < 0 ? err_errno(e, ERR_INTERNAL, "%s", path) : 0;
}

int spoken_begin(struct spoken *s, struct trace *copy, uint64_t out, struct err *e)
{
	struct user_regs_struct r;
	uint64_t gadget, name;

	if (s->pid == copy->pid)
		return 0;
	spoken_fini(s);
	if (segment_find_gadget(copy->pid, &gadget, e) || trace_get_regs(copy, &r, e))
		return -1;
	name = r.rsp - NAME_BELOW;
	s->pid = copy->pid;
	s->fd[0] = s->fd[1] = -1;
	if (!trace_write(copy->pid, name, "calls", sizeof("calls"), e) && !begin_one(s, copy, gadget, name, 0, e) &&
	    !begin_one(s, copy, gadget, name, 1, e)) {
		add_held(copy->pid, out, &s->held);
		return 0;
	}
	spoken_fini(s);
	return -1;
}

static void add_written(struct spoken *s, int i, struct buf *text)
{
	cleanup_free char *data = NULL;
	uint64_t from = s->read[i];
	struct stat st;

	if (fstat(s->fd[i], &st) || (uint64_t)st.st_size <= from || (uint64_t)st.st_size - from > TEXT_MAX)
		return;
	s->read[i] = (uint64_t)st.st_size;
	data = xmalloc(s->read[i] - from);
	if (pread_full(s->fd[i], data, s->read[i] - from, (off_t)from) == (ssize_t)(s->read[i] - from))
		buf_add(text, data, s->read[i] - from);
}

static bool begins_with(const struct buf *b, const struct buf *start)
{
	return b->len >= start->len && (!start->len || !memcmp(b->data, start->data, start->len));
}

/* The text that was written, without what stdio's buffer held before it, and with what it holds now. */
static void add_out(const struct spoken *s, const struct buf *written, const struct buf *now, struct buf *text)
{
	size_t skip = begins_with(now, &s->held) ? s->held.len : 0;
	const char *old = skip || !s->held.len || !written->len
				  ? NULL
				  : memmem(written->data, written->len, s->held.data, s->held.len);
	size_t before = old ? (size_t)(old - written->data) : written->len;

	buf_add(text, written->data, before);
	if (old)
		buf_add(text, old + s->held.len, written->len - before - s->held.len);
	if (now->len > skip)
		buf_add(text, now->data + skip, now->len - skip);
}

void spoken_take(struct spoken *s, uint64_t out, struct buf *text)
{
	cleanup_buf struct buf written = {0}, now = {0};

	if (!s->pid)
		return;
	add_written(s, 0, &written);
	add_held(s->pid, out, &now);
	add_out(s, &written, &now, text);
	buf_clear(&s->held);
	buf_add(&s->held, now.data, now.len);
	add_written(s, 1, text);
}

void spoken_fini(struct spoken *s)
{
	for (int i = 0; s->pid && i < 2; i++)
		if (s->fd[i] >= 0)
			close(s->fd[i]);
	buf_fini(&s->held);
	*s = (struct spoken){0};
}
