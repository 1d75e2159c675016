/* SPDX-License-Identifier: MIT */
/*
 * sys_rest.c: recording: completes a transfer that the recorder's own signal has ended early: a write, or a read that
 * waits for all the data that it asks for (MSG_WAITALL, SO_RCVLOWAT: recv(2), socket(7)). A socket's time limit
 * (SO_RCVTIMEO, SO_SNDTIMEO) counts from the beginning of the call, so only the rest of it is used.
 */
#include "record/core/memory.h"
#include "record/core/util.h"
#include "record/store/log.h"
#include "record/sys/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>

#define NS 1000000000ull
#define F_NONBLOCK 2l /* SPLICE_F_NONBLOCK */

enum form { OTHER, PLAIN, VECTOR, MESSAGE };
enum way { NO_WAY, IN, OUT };

/* How a call moves bytes: the descriptor, the memory, and the argument with its flags (0: none). */
static const struct mover {
	short nr;
	uint8_t way, form, fd, flags;
} movers[] = {
	{SYS_read, IN, PLAIN, 0, 0},	  {SYS_readv, IN, VECTOR, 0, 0},     {SYS_recvfrom, IN, PLAIN, 0, 3},
	{SYS_recvmsg, IN, MESSAGE, 0, 2}, {SYS_recvmmsg, IN, OTHER, 0, 0},   {SYS_accept, IN, OTHER, 0, 0},
	{SYS_accept4, IN, OTHER, 0, 0},	  {SYS_write, OUT, PLAIN, 0, 0},     {SYS_writev, OUT, VECTOR, 0, 0},
	{SYS_sendto, OUT, PLAIN, 0, 3},	  {SYS_sendmsg, OUT, MESSAGE, 0, 2}, {SYS_sendmmsg, OUT, OTHER, 0, 0},
	{SYS_connect, OUT, OTHER, 0, 0},  {SYS_sendfile, OUT, OTHER, 0, 0},  {SYS_splice, OUT, OTHER, 2, 0},
};

struct rest {
	struct thr *t;
	const struct mover *m;
	long nr, flags;
	const long *a;
	int fd;
	int socket; /* SOCK_STREAM and so on, 0: none */
	struct iovec one; /* of a call without a vector */
	struct msghdr msg; /* the whole transfer */
	uint64_t control_room;
	uint64_t bytes, want, done; /* want: at least this many, unless it ends */
	int64_t limit; /* the socket's time limit, in ns from the call's beginning; 0: none */
};

static long make(long nr, const long *a)
{
	return raw6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static int only_ours(const struct thr *t)
{
	return t->interrupted == INTERRUPTED_BY_US;
}

static long option(int fd, int name, void *p, unsigned n)
{
	return raw6(SYS_getsockopt, fd, SOL_SOCKET, name, (long)p, (long)&n, 0);
}

/* The time since the call began, that is, since its record. 0: the stamps contain no clock. */
static int64_t elapsed_ns(const struct thr *t)
{
	uint64_t hz = G.control->tsc_hz, ticks;

	if (!hz || G.control->clock)
		return 0;
	ticks = stamp_now() - t->last_stamp;
	return (int64_t)(ticks / hz * NS + ticks % hz * NS / hz);
}

static int64_t limit_of(const struct rest *r)
{
	struct timeval tv = {0, 0};

	if (option(r->fd, r->m->way == IN ? SO_RCVTIMEO : SO_SNDTIMEO, &tv, sizeof(tv)) < 0)
		return 0;
	return (int64_t)((uint64_t)tv.tv_sec * NS + (uint64_t)tv.tv_usec * 1000);
}

static uint64_t least(const struct rest *r)
{
	int low = 1;

	if (r->m->way == OUT || (r->flags & MSG_WAITALL))
		return r->bytes;
	if (option(r->fd, SO_RCVLOWAT, &low, sizeof(low)) < 0 || low < 1)
		low = 1;
	return (uint64_t)low < r->bytes ? (uint64_t)low : r->bytes;
}

static const struct mover *mover_of(long nr)
{
	for (unsigned i = 0; i < sizeof(movers) / sizeof(movers[0]); i++)
		if (movers[i].nr == nr)
			return &movers[i];
	return 0;
}

/* Describes what the call moves as a message. */
static void all_of(struct rest *r)
{
	const long *a = r->a;

	r->msg = (struct msghdr){.msg_iov = &r->one, .msg_iovlen = 1};
	switch (r->m->form) {
	case PLAIN:
		r->one = (struct iovec){(void *)a[1], (size_t)a[2]};
		if (r->nr == SYS_sendto)
			r->msg.msg_name = (void *)a[4], r->msg.msg_namelen = (unsigned)a[5];
		break;
	case VECTOR:
		r->msg.msg_iov = (struct iovec *)a[1];
		r->msg.msg_iovlen = (size_t)a[2];
		break;
	case MESSAGE:
		r->msg.msg_iov = ((struct msghdr *)a[1])->msg_iov;
		r->msg.msg_iovlen = ((struct msghdr *)a[1])->msg_iovlen;
	}
	r->bytes = sys_iov_len(r->msg.msg_iov, r->msg.msg_iovlen, UINT64_MAX);
}

static void begin(struct rest *r, struct thr *t, long nr, const long *a, uint64_t control_room)
{
	*r = (struct rest){.t = t, .m = mover_of(nr), .nr = nr, .a = a, .control_room = control_room};
	if (!r->m)
		return;
	r->fd = (int)a[r->m->fd];
	r->flags = r->m->flags ? a[r->m->flags] : 0;
	if (option(r->fd, SO_TYPE, &r->socket, sizeof(r->socket)) < 0)
		r->socket = 0;
	else
		r->limit = limit_of(r);
}

static int never_waits(const struct rest *r)
{
	return (r->flags & MSG_DONTWAIT) || (raw3(SYS_fcntl, r->fd, F_GETFL, 0) & O_NONBLOCK);
}

/* Waits until the socket is ready. 0, or an error: -ETIMEDOUT at the time limit. */
static long wait_ready(const struct rest *r)
{
	struct pollfd p = {r->fd, r->m->way == IN ? POLLIN : POLLOUT, 0};
	struct timespec ts;
	int64_t left;
	long n;

	do {
		left = r->limit - elapsed_ns(r->t);
		left = left < 0 ? 0 : left;
		ts = (struct timespec){(long)((uint64_t)left / NS), (long)((uint64_t)left % NS)};
		n = raw6(SYS_ppoll, (long)&p, 1, (long)&ts, 0, 8, 0);
	} while (n == -EINTR && only_ours(r->t));
	return n < 0 ? n : n ? 0 : -ETIMEDOUT;
}

/* The next piece; no more than is wanted. */
static struct iovec next_piece(const struct rest *r)
{
	const struct iovec *v = r->msg.msg_iov;
	uint64_t skip = r->done, n, left = r->want - r->done;

	for (; skip >= v->iov_len; v++)
		skip -= v->iov_len;
	n = v->iov_len - skip;
	return (struct iovec){(uint8_t *)v->iov_base + skip, n < left ? n : left};
}

/* The address and the control data belong to the first part. */
static long socket_part(struct rest *r, long flags)
{
	struct iovec v = next_piece(r);
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1}, *whole = (struct msghdr *)r->a[1];
	long ret;

	if (r->m->way == OUT)
		return raw3(SYS_sendmsg, r->fd, &m, flags);
	if (r->m->form != MESSAGE)
		return raw3(SYS_recvmsg, r->fd, &m, flags);
	m.msg_control = whole->msg_control;
	m.msg_controllen = r->control_room;
	ret = raw3(SYS_recvmsg, r->fd, &m, flags);
	if (ret >= 0) {
		whole->msg_controllen = m.msg_controllen;
		whole->msg_flags |= m.msg_flags;
	}
	return ret;
}

static int takes_more(const struct rest *r)
{
	if (r->done >= r->want || !only_ours(r->t))
		return 0;
	return r->nr != SYS_recvmsg || !((struct msghdr *)r->a[1])->msg_controllen;
}

/* Transfers the rest of the data on a stream socket. */
static long socket_rest(struct rest *r)
{
	long ret;

	while (takes_more(r)) {
		ret = r->limit ? wait_ready(r) : 0;
		if (!ret)
			ret = socket_part(r, r->flags | (r->limit ? MSG_DONTWAIT : 0));
		if ((ret == -EINTR && only_ours(r->t)) || (ret == -EAGAIN && r->limit))
			continue;
		if (ret <= 0)
			break;
		r->done += (uint64_t)ret;
	}
	return (long)r->done;
}

/* Nothing was moved yet, and the socket has a time limit: makes the whole call, as soon as it does not wait. */
static long whole(struct rest *r)
{
	long b[6], ret;

	__builtin_memcpy(b, r->a, sizeof(b));
	if (r->m->flags)
		b[r->m->flags] |= MSG_DONTWAIT;
	do {
		ret = wait_ready(r);
		if (ret == -ETIMEDOUT)
			return r->nr == SYS_connect ? -EINPROGRESS : -EAGAIN;
		if (ret)
			return ret;
		ret = make(r->nr, b);
	} while ((ret == -EINTR && only_ours(r->t)) || (ret == -EAGAIN && !never_waits(r)));
	return ret;
}

/* For a pipe or a terminal, which transfer a part when a signal comes. */
static long file_rest(struct rest *r)
{
	struct iovec v;
	long ret;

	while (r->done < r->want && only_ours(r->t)) {
		v = next_piece(r);
		ret = raw3(SYS_write, r->fd, v.iov_base, v.iov_len);
		if (ret == -EINTR && only_ours(r->t))
			continue;
		if (ret <= 0)
			break;
		r->done += (uint64_t)ret;
	}
	return (long)r->done;
}

/*
 * sendfile goes on to the end of the file; splice only with what is in the pipe by now, since it does not wait for
 * more.
 */
static long copied_rest(struct rest *r)
{
	unsigned n = r->nr == SYS_splice ? 4 : 3;
	long b[6], ret;
	int there;

	__builtin_memcpy(b, r->a, sizeof(b));
	while (r->done < (uint64_t)r->a[n] && only_ours(r->t)) {
		b[n] = r->a[n] - (long)r->done;
		if (r->nr == SYS_splice) {
			if (!r->socket || raw3(SYS_ioctl, b[0], FIONREAD, &there) < 0 || there <= 0)
				break;
			b[5] |= F_NONBLOCK;
		}
		ret = make(r->nr, b);
		if (ret == -EINTR && only_ours(r->t))
			continue;
		if (ret <= 0)
			break;
		r->done += (uint64_t)ret;
	}
	return (long)r->done;
}

/* A call that only peeks: repeats all of it. */
static long look_again(struct rest *r, long ret)
{
	while (ret >= 0 && (uint64_t)ret < r->want && only_ours(r->t)) {
		r->t->interrupted = 0;
		ret = make(r->nr, r->a);
	}
	return ret;
}

static long go_on(struct rest *r, long ret)
{
	r->done = (uint64_t)ret;
	if (r->nr == SYS_sendfile || r->nr == SYS_splice)
		return copied_rest(r);
	if (r->m->form == OTHER || (r->socket && r->socket != SOCK_STREAM))
		return ret;
	all_of(r);
	r->want = least(r);
	if (r->done >= r->want)
		return ret;
	if (r->flags & MSG_PEEK)
		return look_again(r, ret);
	if (r->socket)
		return socket_rest(r);
	return r->m->way == OUT ? file_rest(r) : ret;
}

uint64_t sys_control_room(long nr, const long *a)
{
	const struct msghdr *m = (const struct msghdr *)a[1];

	return nr == SYS_recvmsg && (a[2] & MSG_WAITALL) && sys_readable(m, sizeof(*m)) ? m->msg_controllen : 0;
}

long sys_wait_rest(struct thr *t, long nr, const long *a, long ret, uint64_t control_room)
{
	struct rest r;

	begin(&r, t, nr, a, control_room);
	while (ret == -EINTR && only_ours(t))
		ret = r.limit ? whole(&r) : make(nr, a);
	if (!r.m || ret <= 0 || !only_ours(t) || (r.socket && never_waits(&r)))
		return ret;
	return go_on(&r, ret);
}
