/* SPDX-License-Identifier: MIT */
/* descriptor.c: see descriptor.h. The recorded system calls tell which one closed the descriptor last. */
#include "explain/descriptor.h"

#include <errno.h>
#include <linux/close_range.h>
#include <sys/syscall.h>

#include "chain/inspect.h"
#include "rlog/rlog.h"
#include "timetravel/cursor_int.h"

/* The first argument of these is their only descriptor. */
static const unsigned short takes_one[] = {
	SYS_read,	 SYS_write,	 SYS_pread64,	SYS_pwrite64, SYS_readv,      SYS_writev,     SYS_preadv,
	SYS_pwritev,	 SYS_preadv2,	 SYS_pwritev2,	SYS_lseek,    SYS_fstat,      SYS_fsync,      SYS_fdatasync,
	SYS_ftruncate,	 SYS_fallocate,	 SYS_fadvise64, SYS_ioctl,    SYS_fcntl,      SYS_flock,      SYS_dup,
	SYS_dup2,	 SYS_dup3,	 SYS_fchmod,	SYS_fchown,   SYS_getdents64, SYS_fchdir,     SYS_sendto,
	SYS_recvfrom,	 SYS_sendmsg,	 SYS_recvmsg,	SYS_sendmmsg, SYS_recvmmsg,   SYS_accept,     SYS_accept4,
	SYS_listen,	 SYS_bind,	 SYS_connect,	SYS_shutdown, SYS_getsockopt, SYS_setsockopt, SYS_getsockname,
	SYS_getpeername, SYS_epoll_wait, SYS_close,
};

/* The descriptor that the event was refused for; -1: it was not. */
static int refused(const struct reader_event *ev)
{
	if (ev->rec.kind != RLOG_SYS || ev->rec.nops < 3 || !ev->has_result || !ev->result.nops ||
	    (int64_t)ev->result.op[0] != -EBADF)
		return -1;
	for (size_t i = 0; i < sizeof(takes_one) / sizeof(takes_one[0]); i++)
		if (ev->rec.op[0] == takes_one[i])
			return (int)ev->rec.op[1];
	return -1;
}

/* Does the event close it? */
static bool closes(const struct reader_event *ev, int fd)
{
	const uint64_t *op = ev->rec.op;

	if (ev->rec.kind != RLOG_SYS || !ev->has_result || !ev->result.nops || fd < 0)
		return false;
	/* close gives the descriptor up whatever it returns, but for this */
	if (op[0] == SYS_close && ev->rec.nops > 2)
		return (int)op[1] == fd && (int64_t)ev->result.op[0] != -EBADF;
	return op[0] == SYS_close_range && ev->rec.nops > 4 && !ev->result.op[0] && !(op[3] & CLOSE_RANGE_CLOEXEC) &&
	       (unsigned)fd >= (unsigned)op[1] && (unsigned)fd <= (unsigned)op[2];
}

/* The last event before `before` in which the process closed it; 0: none. */
static int last_close(struct explain *x, uint64_t before, int fd, uint64_t *number, struct err *e)
{
	struct timeline_event ev;
	struct timeline_walk w;
	int got;

	*number = 0;
	if (timeline_walk_init(&w, x->nav.t.tl, 1, e))
		return -1;
	while ((got = timeline_walk_next(&w, &ev, e)) > 0 && ev.where.number < before)
		if (ev.where.process == x->process && closes(&ev.ev, fd))
			*number = ev.where.number;
	timeline_walk_fini(&w);
	return got < 0 ? -1 : 0;
}

int descriptor_explain(struct explain *x, struct err *e)
{
	uint64_t at = cursor_event(&x->t) + 1, number;
	struct timeline_event ev;
	struct inspect p = {0};
	int fd, got;

	if (at > nav_total(&x->nav) || timeline_read(x->nav.t.tl, at, &ev, e))
		return 1;
	fd = refused(&ev.ev);
	if (fd < 0)
		return 1;
	if (last_close(x, at, fd, &number, e))
		return -1;
	if (!number)
		return 1;
	got = cursor_goto_end(&x->t, number - 1, e);
	if (got)
		return got < 0 ? -1 : 1;
	if (inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	inspect_step(&p, STEP_CLOSE, NULL, NULL, NULL,
		     "the descriptor %d was closed here (event %llu), and used afterwards (event %llu)", fd,
		     (unsigned long long)number, (unsigned long long)at);
	inspect_close(&p);
	explain_end(x, END_CLOSED, "the descriptor was used after it was closed");
	return 0;
}
