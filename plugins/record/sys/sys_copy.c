/* SPDX-License-Identifier: MIT */
/*
 * sys_copy.c: sendfile, splice, tee and copy_file_range to standard output or error. A replay has neither the file nor
 * the pipe, so the data that these calls copy is recorded, too, after the call. Data from a file is read again after
 * the call. Data from a pipe or a socket is gone by then, so it is read before the call without being consumed, and the
 * call is limited to that length; such calls may always copy less than was asked for. (Another reader of the same pipe
 * may consume some of the data in between.)
 */
#include "record/core/state.h"
#include "record/event/ev.h"
#include "record/event/turn.h"
#include "record/sys/sys.h"

#include <errno.h>
#include <sys/socket.h>

#define PART (64u << 10) /* bytes in one event */
#define PEEK (64u << 10) /* the most that is read ahead from a socket */
#define NONBLOCK 2l /* SPLICE_F_NONBLOCK */

struct copied {
	uint64_t size; /* of this mapping */
	uint64_t n; /* bytes */
	uint8_t bytes[];
};

/* A transfer: from where, to where, how much. */
struct way {
	int in, out;
	long *offset; /* the offset in `in`; NULL: its file position */
	unsigned len_at; /* which argument is the length */
};

static struct way way_of(long nr, const long *a)
{
	switch (nr) {
	case SYS_sendfile:
		return (struct way){(int)a[1], (int)a[0], (long *)a[2], 3};
	case SYS_tee:
		return (struct way){(int)a[0], (int)a[1], 0, 2};
	}
	return (struct way){(int)a[0], (int)a[2], (long *)a[1], 4};
}

static unsigned kind_of(int fd)
{
	uint64_t st[18];

	return raw2(SYS_fstat, fd, st) < 0 ? 0 : ((uint32_t *)st)[6] & 0170000;
}

static struct copied *room(struct thr *t, uint64_t n)
{
	uint64_t size = (sizeof(struct copied) + n + 4095) & ~4095ull;
	struct copied *c = raw_mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (raw_failed(c))
		return 0;
	c->size = size;
	t->copied = c;
	return c;
}

static void drop(struct thr *t)
{
	if (t->copied)
		raw2(SYS_munmap, t->copied, t->copied->size);
	t->copied = 0;
}

/* Did a wait return this because of the recorder's signal alone? */
static int ended_by_us(const struct thr *t, long ret)
{
	return ret == -EINTR && t->interrupted == INTERRUPTED_BY_US;
}

/*
 * For a pipe: waits as the call would, and duplicates its contents into a pipe of the recorder's, which is as large.
 * Returns the number of bytes, or the call's error.
 */
static long see_pipe(struct thr *t, const struct way *w, long len, long flags)
{
	long size = raw2(SYS_fcntl, w->in, F_GETPIPE_SZ), n, got;
	struct copied *c;
	int p[2];

	if (size <= 0 || raw2(SYS_pipe2, p, O_CLOEXEC) < 0)
		return -EMFILE;
	raw3(SYS_fcntl, p[0], F_SETPIPE_SZ, size);
	do
		n = raw4(SYS_tee, w->in, p[1], len, flags & NONBLOCK);
	while (ended_by_us(t, n));
	c = n > 0 ? room(t, (uint64_t)n) : 0;
	while (c && c->n < (uint64_t)n && (got = raw3(SYS_read, p[0], c->bytes + c->n, (uint64_t)n - c->n)) > 0)
		c->n += (uint64_t)got;
	raw_close(p[0]);
	raw_close(p[1]);
	return n;
}

static long see_socket(struct thr *t, const struct way *w, long len, long flags)
{
	struct copied *c = room(t, len < PEEK ? (uint64_t)len : PEEK);
	long n;

	if (!c)
		return -ENOMEM;
	do
		n = raw6(SYS_recvfrom, w->in, (long)c->bytes, len < PEEK ? len : PEEK,
			 MSG_PEEK | (flags & NONBLOCK ? MSG_DONTWAIT : 0), 0, 0);
	while (ended_by_us(t, n));
	if (n > 0)
		c->n = (uint64_t)n;
	else
		drop(t);
	return n;
}

/* ret bytes of a file were copied: reads them again. */
static void see_file(struct thr *t, const struct way *w, long ret)
{
	long at = w->offset ? *w->offset - ret : raw3(SYS_lseek, w->in, 0, 1 /* SEEK_CUR */) - ret, n;
	struct copied *c = at >= 0 ? room(t, (uint64_t)ret) : 0;

	while (c && c->n < (uint64_t)ret) {
		n = raw4(SYS_pread64, w->in, c->bytes + c->n, (uint64_t)ret - c->n, at + (long)c->n);
		if (n <= 0)
			break;
		c->n += (uint64_t)n;
	}
}

long sys_copy(struct thr *t, long nr, const long *a)
{
	struct way w = way_of(nr, a);
	long b[6] = {a[0], a[1], a[2], a[3], a[4], a[5]}, len = a[w.len_at], n, ret;
	long flags = nr == SYS_splice ? a[5] : nr == SYS_tee ? a[3] : 0;
	unsigned from = len > 0 && sys_show_output(w.out, 0) ? kind_of(w.in) : 0;

	drop(t);
	t->interrupted = 0;
	if (from == 0100000 || from == 0060000) { /* a file, or a disk */
		ret = sys_wait_call(t, nr, a);
		if (ret > 0)
			see_file(t, &w, ret);
		return ret;
	}
	if (from != 0010000 && from != 0140000)
		return sys_wait_call(t, nr, a);
	n = from == 0010000 ? see_pipe(t, &w, len, flags) : see_socket(t, &w, len, flags);
	if (n == -EINTR)
		return n;
	if (n > 0)
		b[w.len_at] = n < len ? n : len;
	ret = sys_wait_call(t, nr, b);
	if (t->copied && ret >= 0 && t->copied->n > (uint64_t)ret)
		t->copied->n = (uint64_t)ret;
	if (ret <= 0)
		drop(t);
	return ret;
}

static void log_part(struct thr *t, const uint8_t *p, uint64_t n)
{
	int64_t zero = 0;

	ev(t, RLOG_CALL, 0, RLOG_CALL_COPIED, 0);
	ev_done(t);
	ev_callret(t, &zero, p, &n);
}

static void show_part(struct thr *t, unsigned long fd, uint64_t stamp)
{
	const uint8_t *p;
	uint64_t n = 0;
	int64_t zero;

	ev(t, RLOG_CALL, 0, RLOG_CALL_COPIED, 0);
	ev_done(t);
	p = ev_callret(t, &zero, 0, &n);
	sys_show_copied(stamp, fd, p, n);
}

void sys_copy_log(struct thr *t, long nr, const long *a, long ret)
{
	unsigned long out = (unsigned long)way_of(nr, a).out;
	struct copied *c = t->copied;
	uint64_t stamp = t->last_stamp;

	if (ret <= 0)
		return;
	if (G.mode != SHIM_RECORD) {
		while (turn_next_call_is(t, RLOG_CALL_COPIED))
			show_part(t, out, stamp);
		return;
	}
	for (uint64_t at = 0; c && at < c->n; at += PART)
		log_part(t, c->bytes + at, c->n - at < PART ? c->n - at : PART);
	drop(t);
}
