/* SPDX-License-Identifier: MIT */
/*
 * sys_records.c: the two records of a system call, written and read.
 *
 * SYS: count, number, arguments, check of the inputs. SYSRET: result, outputs: one after the other, each as a varint
 * length and its bytes, in the table's order; what was read from a file may be named instead (refs.c).
 */
#include "record/core/state.h"
#include "record/core/tell.h"
#include "record/event/turn.h"
#include "record/sched/gil.h"
#include "record/store/log.h"
#include "record/sys/sys.h"

#include <sys/uio.h>

/* syscall() takes the sixth argument from the stack, where nothing sets the upper half of an int. */
static int sixth_is_int(long nr)
{
	switch (nr) {
	case SYS_futex:
	case SYS_sendto:
	case SYS_splice:
	case SYS_copy_file_range:
	case SYS_preadv2:
	case SYS_pwritev2:
	case SYS_mbind:
	case SYS_move_pages:
		return 1;
	}
	return 0;
}

unsigned sys_pack(uint64_t *op, long nr, const long *a, unsigned nargs, uint32_t check)
{
	op[0] = (uint64_t)nr;
	for (unsigned i = 0; i < nargs; i++)
		op[1 + i] = (uint64_t)a[i];
	if (nargs == 6 && sixth_is_int(nr))
		op[6] = (uint32_t)a[5];
	op[1 + nargs] = check;
	return nargs + 2;
}

void sys_rec_stay(struct thr *t, const uint64_t *op, unsigned n)
{
	uint8_t *p0 = log_reserve(t, 12 + 10 * (uint64_t)n), *p;
	uint64_t now;

	t->made_event = 1;
	if (!p0)
		return;
	now = stamp_now();
	p = rlog_put(p0 + 1, now - t->last_stamp);
	t->last_stamp = now;
	*p++ = (uint8_t)n;
	for (unsigned i = 0; i < n; i++)
		p = rlog_put(p, op[i]);
	t->log.cur = p;
	__atomic_store_n(p0, RLOG_SYS, __ATOMIC_RELEASE);
	t->clean = 1;
}

void sys_rec(struct thr *t, const uint64_t *op, unsigned n)
{
	sys_rec_stay(t, op, n);
	if (unlikely(G.serial))
		gil_point(t);
}

static unsigned varint_len(uint64_t v)
{
	unsigned n = 1;

	while (v >= 0x80) {
		v >>= 7;
		n++;
	}
	return n;
}

/* Copies between a piece and the log, in either direction; returns the end in the log. */
static uint8_t *gather(uint8_t *to, const struct piece *v)
{
	uint64_t left = v->n, n;

	if (!v->iov) {
		put_bytes(to, v->p, left);
		return to + left;
	}
	for (const struct iovec *i = v->iov; left; i++, left -= n, to += n) {
		n = i->iov_len < left ? i->iov_len : left;
		put_bytes(to, i->iov_base, n);
	}
	return to;
}

static const uint8_t *scatter(const struct piece *v, const uint8_t *from, uint64_t left)
{
	uint64_t n;

	if (!v->iov) {
		put_bytes(v->p, from, left);
		shim_tell_written(v->p, left);
		return from + left;
	}
	for (const struct iovec *i = v->iov; left; i++, left -= n, from += n) {
		n = i->iov_len < left ? i->iov_len : left;
		put_bytes(i->iov_base, from, n);
		shim_tell_written(i->iov_base, n);
	}
	return from;
}

/*
 * A SYSRET record with n bytes of payload, which belong at the returned address (NULL: recording failed); then *p0 gets
 * the kind.
 */
static uint8_t *begin_ret(struct thr *t, long ret, uint64_t n, uint8_t **p0)
{
	t->fence = 1; /* the call may have received what another thread has passed to the kernel: see cs.c */
	*p0 = log_reserve(t, 24 + n);
	return *p0 ? rlog_put(rlog_put(*p0 + 1, rlog_zigzag(ret)), n) : 0;
}

static void end_ret(struct thr *t, uint8_t *p0, uint8_t *p)
{
	t->log.cur = p;
	__atomic_store_n(p0, RLOG_SYSRET, __ATOMIC_RELEASE);
}

void sys_rec_ret(struct thr *t, long ret, const struct piece *v, int k)
{
	uint64_t total = 0;
	uint8_t *p0, *p;

	for (int i = 0; i < k; i++)
		total += varint_len(v[i].n) + v[i].n;
	p = begin_ret(t, ret, total, &p0);
	if (!p)
		return;
	for (int i = 0; i < k; i++) {
		p = rlog_put(p, v[i].n);
		p = gather(p, &v[i]);
	}
	end_ret(t, p0, p);
}

/* The same of a call that may have read from a file. */
void sys_rec_ret_of(struct thr *t, long nr, const long *a, long ret, const struct piece *v, int k)
{
	struct rlog_ref ref;
	uint8_t *p0, *p;

	if (likely(k != 1 || !refs_find(nr, a, ret, v, &ref))) {
		sys_rec_ret(t, ret, v, k);
		return;
	}
	p = begin_ret(t, ret, 1 + sizeof(ref), &p0);
	if (!p)
		return;
	*p++ = 0;
	put_bytes(p, (const uint8_t *)&ref, sizeof(ref));
	end_ret(t, p0, p + sizeof(ref));
}

void sys_rec_ret_point(struct thr *t, long ret)
{
	if (unlikely(G.serial))
		gil_point(t);
	sys_rec_ret(t, ret, 0, 0);
}

void sys_replay(struct thr *t, const uint64_t *op, unsigned n)
{
	struct rlog_rec r;
	const char *what = 0;

	if (!turn_peek(t, &r) || r.kind != RLOG_SYS)
		turn_diverge(t, turn_peek(t, &r) ? &r : 0, RLOG_SYS, op, n,
			     "a system call that was not made there when recording");
	if (r.nops != n || r.op[0] != op[0])
		what = "another system call";
	for (unsigned i = 1; !what && i < n; i++)
		if (r.op[i] != op[i])
			what = i == n - 1 ? "the data given to the call differ" : "an argument differs";
	if (what)
		turn_diverge(t, &r, RLOG_SYS, op, n, what);
	turn_take(t, &r, RLOG_SYS);
}

/* The lengths of later pieces are in earlier ones, so the list is built step by step. */
static int tells_lengths(uint8_t how)
{
	return how == IO_MSG || how == IO_VALRES || how == IO_IFCONF || how == IO_FIEMAP;
}

long sys_replay_ret(struct thr *t, const struct sys_info *s, const long *a, const uint32_t *before)
{
	struct piece v[PIECES];
	struct rlog_rec r;
	const uint8_t *p, *end;
	struct rlog_ref ref;
	uint64_t n;
	long ret;
	int k;

	turn_take(t, &r, RLOG_SYSRET);
	ret = (long)r.op[0];
	p = r.payload;
	end = p + r.payload_len;
	if (tells_lengths(s->out[0].how) || s->out[1].how == IO_VALRES) {
		for (int i = 0; p < end && i < PIECES; i++) {
			k = sys_out_pieces(s, a, ret, before, v);
			p = rlog_get(p, end, &n);
			if (!p || i >= k || n > (uint64_t)(end - p))
				shim_fail("a system call's outputs do not fit its record");
			p = scatter(&v[i], p, n);
		}
		return ret;
	}
	k = sys_out_pieces(s, a, ret, before, v);
	if (unlikely(k == 1 && rlog_is_ref(&r, &ref))) {
		refs_read(&ref, v);
		return ret;
	}
	for (int i = 0; i < k; i++) {
		p = rlog_get(p, end, &n);
		if (!p || n != v[i].n || n > (uint64_t)(end - p))
			shim_fail("a system call's outputs do not fit its record");
		p = scatter(&v[i], p, n);
	}
	return ret;
}

/* Replay: the result of a call whose first half has been taken. 0: the log ends before it. */
int sys_result_ahead(const struct thr *t, long *ret)
{
	struct rlog_rec r;

	if (!turn_result_ahead(t, &r) || r.kind != RLOG_SYSRET)
		return 0;
	*ret = (long)r.op[0];
	return 1;
}

long sys_replay_end(struct thr *t, const long *a)
{
	static const struct sys_info none;

	turn_done(t);
	return sys_replay_ret(t, &none, a, 0);
}
