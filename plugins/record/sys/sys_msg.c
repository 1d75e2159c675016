/* SPDX-License-Identifier: MIT */
/* sys_msg.c: system calls with many or nested outputs: several messages at once, vmsplice, native AIO. */
#include "record/core/memory.h"
#include "record/core/state.h"
#include "record/core/tell.h"
#include "record/core/util.h"
#include "record/event/turn.h"
#include "record/sched/wait.h"
#include "record/store/log.h"
#include "record/sys/sys.h"

#include <linux/aio_abi.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* ---- outputs by a walk ---- */

static unsigned varint_len(uint64_t v)
{
	unsigned n = 1;

	for (; v >= 0x80; v >>= 7)
		n++;
	return n;
}

void outs_add(struct outs *o, void *p, uint64_t n)
{
	uint64_t got;

	if (!p || !n)
		return;
	switch (o->mode) {
	case OUTS_COUNT:
		o->total += varint_len(n) + n;
		return;
	case OUTS_WRITE:
		o->to = rlog_put(o->to, n);
		put_bytes(o->to, p, n);
		o->to += n;
		return;
	case OUTS_READ:
		o->from = rlog_get(o->from, o->end, &got);
		if (!o->from || got != n || n > (uint64_t)(o->end - o->from))
			shim_fail("a system call's outputs do not fit its record");
		put_bytes(p, o->from, n);
		shim_tell_written(p, n);
		o->from += n;
		return;
	}
}

/* n bytes in all, spread over an iovec */
static void outs_iov(struct outs *o, const struct iovec *v, unsigned long cnt, uint64_t n)
{
	for (uint64_t k; cnt && n; v++, cnt--, n -= k) {
		k = v->iov_len < n ? v->iov_len : n;
		outs_add(o, v->iov_base, k);
	}
}

static void rec_walk(struct thr *t, const long *a, long ret, outs_walk *walk, void *arg)
{
	struct outs o = {.mode = OUTS_COUNT};
	uint8_t *p0, *p;

	walk(&o, a, ret, arg);
	p0 = log_reserve(t, 24 + o.total);
	if (!p0)
		return;
	p = rlog_put(p0 + 1, rlog_zigzag(ret));
	p = rlog_put(p, o.total);
	o.mode = OUTS_WRITE;
	o.to = p;
	walk(&o, a, ret, arg);
	t->log.cur = o.to;
	__atomic_store_n(p0, RLOG_SYSRET, __ATOMIC_RELEASE);
}

static long record_walked(struct thr *t, long nr, const long *a, outs_walk *walk, void *arg)
{
	long ret;

	wait_begin_event(t);
	ret = sys_wait_call(t, nr, a);
	wait_end(t);
	rec_walk(t, a, ret, walk, arg);
	return ret;
}

static long replay_walked(struct thr *t, long nr, const long *a, outs_walk *walk, void *arg)
{
	struct outs o = {.mode = OUTS_READ};
	struct rlog_rec r;

	turn_done(t);
	turn_take(t, &r, RLOG_SYSRET);
	o.from = r.payload;
	o.end = r.payload + r.payload_len;
	walk(&o, a, (long)r.op[0], arg);
	sys_show(t, nr, a, (long)r.op[0]);
	return (long)r.op[0];
}

long sys_do_walk(struct thr *t, long nr, const long *a, unsigned nargs, uint32_t check, outs_walk *walk, void *arg)
{
	uint64_t op[10];
	unsigned n = sys_pack(op, nr, a, nargs, check);

	if (G.mode != SHIM_REPLAY) {
		sys_rec(t, op, n);
		return record_walked(t, nr, a, walk, arg);
	}
	sys_replay(t, op, n);
	return replay_walked(t, nr, a, walk, arg);
}

/* ---- several messages at once ---- */

static void walk_recvmmsg(struct outs *o, const long *a, long ret, void *arg)
{
	struct mmsghdr *v = (struct mmsghdr *)a[1];

	(void)arg;
	for (long i = 0; i < ret; i++) {
		struct msghdr *m = &v[i].msg_hdr;

		outs_add(o, &v[i].msg_len, 4);
		outs_add(o, &m->msg_namelen, 4);
		outs_add(o, &m->msg_controllen, 8);
		outs_add(o, &m->msg_flags, 4);
		outs_add(o, m->msg_name, m->msg_namelen);
		outs_add(o, m->msg_control, m->msg_controllen);
		outs_iov(o, m->msg_iov, m->msg_iovlen, sys_iov_len(m->msg_iov, m->msg_iovlen, v[i].msg_len));
	}
	outs_add(o, ret == -14 ? 0 : (void *)a[4], 16);
}

static void walk_sendmmsg(struct outs *o, const long *a, long ret, void *arg)
{
	struct mmsghdr *v = (struct mmsghdr *)a[1];

	(void)arg;
	for (long i = 0; i < ret; i++)
		outs_add(o, &v[i].msg_len, 4);
}

long sys_mmsg(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	const struct mmsghdr *v = (const struct mmsghdr *)a[1];
	uint32_t crc = 0;

	if (nr == SYS_recvmmsg)
		return sys_do_walk(t, nr, a, 5, 0, walk_recvmmsg, 0);
	for (long i = 0; i < a[2] && i < 1024 && sys_readable(&v[i], sizeof(v[i])); i++)
		crc = sys_check_iov(crc, v[i].msg_hdr.msg_iov, v[i].msg_hdr.msg_iovlen);
	return sys_do_walk(t, nr, a, 4, crc, walk_sendmmsg, 0);
}

/* ---- vmsplice: writes to the program's memory when the descriptor is a pipe's reading end ---- */

static void walk_vmsplice(struct outs *o, const long *a, long ret, void *arg)
{
	if (ret > 0 && (o->mode == OUTS_READ ? o->from < o->end : *(int *)arg))
		outs_iov(o, (const struct iovec *)a[1], (unsigned long)a[2], (uint64_t)ret);
}

long sys_vmsplice(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	int reads = 0;
	uint32_t crc = 0;

	if (sys_readable((const void *)a[1], 16))
		crc = sys_check_iov(0, (const struct iovec *)a[1], (unsigned long)a[2]);
	if (G.mode == SHIM_RECORD)
		reads = (raw3(SYS_fcntl, a[0], F_GETFL, 0) & O_ACCMODE) == O_RDONLY;
	return sys_do_walk(t, SYS_vmsplice, a, 4, crc, walk_vmsplice, &reads);
}

/* ---- native AIO ---- */

/*
 * The ID of a context is the address of a ring that the kernel maps into the process; libaio reads it to save a call.
 * If its magic number is missing, libaio does not use it, and all results come through io_getevents.
 */
struct aio_ring {
	uint32_t id, nr, head, tail, magic, compat, incompat, header_length;
};
#define RINGS 16
static struct ring {
	uint64_t at, len;
} rings[RINGS];

static void walk_setup(struct outs *o, const long *a, long ret, void *arg)
{
	struct ring *r = arg;

	if (ret < 0)
		return;
	outs_add(o, (void *)a[1], 8);
	outs_add(o, r, sizeof(*r));
}

static struct ring *find_ring(uint64_t at)
{
	for (int i = 0; i < RINGS; i++)
		if (rings[i].at == at)
			return &rings[i];
	return 0;
}

static void measure_ring(uint64_t at, struct ring *r)
{
	struct aio_ring *ring = (struct aio_ring *)at;

	r->at = at;
	r->len = (ring->header_length + ring->nr * sizeof(struct io_event) + 4095) & ~4095ull;
	ring->magic = 0;
}

/* Adds the ring to those that are known. */
static long add_ring(struct ring *slot, const struct ring *r, long ret)
{
	if (ret == 0)
		*slot = *r;
	return ret;
}

long record_io_setup(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	struct ring r = {0}, *slot = find_ring(0);
	uint64_t op[10];
	long ret;

	if (!slot)
		return -11; /* EAGAIN */
	sys_rec(t, op, sys_pack(op, nr, a, 2, 0));
	ret = raw2(nr, a[0], a[1]);
	if (ret == 0)
		measure_ring(*(uint64_t *)a[1], &r);
	rec_walk(t, a, ret, walk_setup, &r);
	return add_ring(slot, &r, ret);
}

/* The program gets plain memory in place of the ring. */
long replay_io_setup(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	struct ring r = {0}, *slot = find_ring(0);
	long ret;

	if (!slot)
		return -11; /* EAGAIN */
	ret = sys_do_walk(t, nr, a, 2, 0, walk_setup, &r);
	if (ret == 0 && raw_failed(raw_mmap((void *)r.at, r.len, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)))
		shim_fail("cannot map memory at the recorded address");
	return add_ring(slot, &r, ret);
}

static void walk_none(struct outs *o, const long *a, long ret, void *arg)
{
	(void)o, (void)a, (void)ret, (void)arg;
}

/* Forgets the ring. Returns its length; 0: it was not known. */
static uint64_t drop_ring(const long *a)
{
	struct ring *r = a[0] ? find_ring((uint64_t)a[0]) : 0;

	if (!r)
		return 0;
	r->at = 0;
	return r->len;
}

long record_io_destroy(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	long ret = sys_do_walk(t, nr, a, 1, 0, walk_none, 0);

	if (ret == 0)
		drop_ring(a);
	return ret;
}

long replay_io_destroy(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	long ret = sys_do_walk(t, nr, a, 1, 0, walk_none, 0);
	uint64_t len = ret == 0 ? drop_ring(a) : 0;

	if (len)
		raw2(SYS_munmap, a[0], len);
	return ret;
}

static void walk_events(struct outs *o, const long *a, long ret, void *arg)
{
	struct io_event *e = (struct io_event *)a[3];

	(void)arg;
	for (; ret > 0; ret--, e++) {
		const struct iocb *cb;

		outs_add(o, e, sizeof(*e));
		cb = (const struct iocb *)e->obj;
		if (e->res <= 0 || !sys_readable(cb, sizeof(*cb)))
			continue;
		if (cb->aio_lio_opcode == IOCB_CMD_PREAD)
			outs_add(o, (void *)cb->aio_buf, (uint64_t)e->res);
		else if (cb->aio_lio_opcode == IOCB_CMD_PREADV)
			outs_iov(o, (const struct iovec *)cb->aio_buf, cb->aio_nbytes, (uint64_t)e->res);
	}
}

/* The requests, and the data that is to be written. */
static uint32_t check_iocbs(struct iocb *const *v, long n)
{
	uint32_t crc = 0;

	for (long i = 0; i < n && sys_readable(&v[i], 8) && sys_readable(v[i], sizeof(*v[i])); i++) {
		const struct iocb *cb = v[i];
		const void *buf = (const void *)cb->aio_buf;

		crc = crc32c(crc, &cb->aio_lio_opcode, sizeof(*cb) - offsetof(struct iocb, aio_lio_opcode));
		if (cb->aio_lio_opcode == IOCB_CMD_PWRITE && sys_readable(buf, cb->aio_nbytes))
			crc = crc32c(crc, buf, cb->aio_nbytes);
		else if (cb->aio_lio_opcode == IOCB_CMD_PWRITEV && sys_readable(buf, 16))
			crc = sys_check_iov(crc, buf, cb->aio_nbytes);
	}
	return crc;
}

long sys_io_submit(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	return sys_do_walk(t, nr, a, 3, check_iocbs((struct iocb *const *)a[2], a[1]), walk_none, 0);
}

/* Also io_pgetevents. */
long sys_io_getevents(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	return sys_do_walk(t, nr, a, nr == SYS_io_getevents ? 5 : 6, 0, walk_events, 0);
}
