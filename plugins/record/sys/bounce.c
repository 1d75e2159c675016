/* SPDX-License-Identifier: MIT */
/*
 * bounce.c: system calls on memory that processes share (pages.c). For the kernel, protected pages are not accessible.
 * So what a call reads or writes there passes through a buffer, and changes only while the process has the group's
 * turn.
 */
#include "record/core/memory.h"
#include "record/core/state.h"
#include "record/event/turn.h"
#include "record/shm/group.h"
#include "record/shm/pages.h"
#include "record/sys/sys.h"

#include <string.h>
#include <sys/uio.h>

static uint8_t *bounced; /* buffer for one call at a time; others get a new one */
static uint64_t bounced_size;
static uint32_t bounced_taken;
#define BOUNCED_MIN (1ul << 20)

struct donating {
	uint8_t *base, *at, *end;
	int own; /* to be unmapped */
};

static __thread struct donating bounce_now __attribute__((tls_model("initial-exec")));

static int bounce_room(uint64_t n)
{
	struct donating *l = &bounce_now;

	if (!l->base) {
		uint64_t size = n + 4096 > BOUNCED_MIN ? (n + 8191) & ~4095ul : BOUNCED_MIN;
		int shared = size == BOUNCED_MIN && !__atomic_exchange_n(&bounced_taken, 1, __ATOMIC_ACQUIRE);

		if (shared && !bounced) {
			bounced = pages_alloc(BOUNCED_MIN);
			bounced_size = BOUNCED_MIN;
		}
		l->own = !shared;
		l->base = shared ? bounced : pages_alloc(size);
		if (raw_failed(l->base))
			shim_fail("no memory for a system call on shared memory");
		l->at = l->base;
		l->end = l->base + size;
	}
	return (uint64_t)(l->end - l->at) >= n;
}

/* May the program read it? Then it can be read afterwards. */
static int can_read(const void *p, uint64_t n)
{
	pages_touch(p, n, 0);
	return sys_readable(p, n);
}

/* May the program itself access the page? In memory that is not shared: may it at least read it? */
static int may_touch(uint64_t page, int writes)
{
	const struct mapping *m = mapping_of(page);
	uint8_t s;

	if (!m || !m->state)
		return sys_readable((const void *)page, 1);
	s = m->state[(page - m->lo) / PAGE];
	return !(s & GONE) && (s & (writes ? MAY_WRITE : MAY_READ | MAY_WRITE)) &&
	       page_is_backed(m, (const uint8_t *)page);
}

/* How many of the n bytes at p the program may access, from the first one on. */
static uint64_t touchable(uint64_t p, uint64_t n, int writes)
{
	uint64_t a = p & ~(PAGE - 1);

	for (; a < p + n; a += PAGE)
		if (!may_touch(a, writes))
			return a > p ? a - p : 0;
	return n;
}

/*
 * Returns a buffer with a copy of what is at p. Returns p itself if there is no room, or if the program may access
 * fewer than `least` of the n bytes: then the kernel reports the error (EFAULT), or does a part.
 */
static long bounce_piece(long p, uint64_t n, uint64_t least, int writes)
{
	uint8_t *at;

	if (!n || n > (1ul << 32) || !pages_range((void *)p, n))
		return p;
	pages_touch((void *)p, n, writes);
	n = touchable((uint64_t)p, n, writes);
	if (!n || n < least || !bounce_room(n))
		return p;
	at = bounce_now.at;
	memcpy(at, (void *)p, n);
	bounce_now.at += (n + 63) & ~63ul;
	if (bounce_now.at > bounce_now.end)
		bounce_now.at = bounce_now.end;
	return (long)at;
}

#define STRUCTURE_LEAST 32 /* bytes: smaller pieces may not be all that is known of a structure */

/*
 * The size of the structure, from all that the table says of it: it may have padding, and may be both read and written.
 */
static uint64_t fixed_len(const struct sys_info *s, unsigned arg)
{
	uint64_t n = 0;

	for (int i = 0; i < 6; i++) {
		const struct io *d = i < 2 ? &s->in[i] : &s->out[i - 2];

		if ((d->how == IO_FIXED || d->how == IO_FIXED_ERR) && d->arg == arg && d->len_arg + d->n > n)
			n = d->len_arg + d->n;
	}
	return n;
}

static uint64_t length_of(const struct sys_info *info, const struct io *d, const long *a)
{
	const char *s = (const char *)a[d->arg];
	uint64_t n = 0;

	switch (d->how) {
	case IO_STR:
		while (n < 4096 && ((n && (uint64_t)(s + n) % PAGE) || can_read(s + n, 1)) && s[n])
			n++;
		return n + 1;
	case IO_BYTES:
		return (uint64_t)a[d->len_arg] + d->n;
	case IO_ARRAY:
		return (uint64_t)a[d->len_arg] * d->n;
	case IO_ADDR:
		return (uint64_t)a[d->len_arg];
	case IO_FIXED:
	case IO_FIXED_ERR:
		return fixed_len(info, d->arg);
	case IO_RET:
		return (uint64_t)a[d->len_arg ? d->len_arg : d->arg + 1];
	case IO_RETMUL:
		if (d->n & 0x8000) /* a header, and n more bytes */
			return (uint64_t)a[d->arg + 1] + (d->n & 0x7fff);
		return (uint64_t)a[d->len_arg ? d->len_arg : d->arg + 1] * d->n;
	case IO_ARGMUL:
	case IO_ARGMUL_EINTR:
		return (uint64_t)a[d->len_arg] * d->n;
	case IO_FDSET:
		return ((uint64_t)(uint32_t)a[0] + 63) / 64 * 8;
	}
	return 0;
}

#define IOVECS 1024 /* the most that the kernel takes */

/* All buffers of a call must fit: counts them first, since the room cannot grow. */
static void bounce_iov(const struct io *d, const long *a, long *b, int writes)
{
	const struct iovec *v = (const struct iovec *)a[d->arg];
	uint64_t n = (uint64_t)a[d->len_arg];
	struct iovec *to;
	int any = 0;

	if (n > IOVECS || !can_read(v, n * sizeof(*v)))
		return;
	for (uint64_t i = 0; i < n; i++)
		any |= pages_range(v[i].iov_base, v[i].iov_len);
	if (!any || !bounce_room(n * sizeof(*v)))
		return;
	to = (struct iovec *)bounce_now.at;
	bounce_now.at += (n * sizeof(*v) + 63) & ~63ul;
	for (uint64_t i = 0; i < n; i++) {
		to[i].iov_base = (void *)bounce_piece((long)v[i].iov_base, v[i].iov_len, v[i].iov_len, writes);
		to[i].iov_len = v[i].iov_len;
	}
	b[d->arg] = (long)to;
}

static uint64_t room_for(const struct sys_info *s, const struct io *v, int n, const long *a)
{
	uint64_t sum = 0;

	for (int i = 0; i < n && v[i].how; i++) {
		if (v[i].how == IO_IOV) {
			const struct iovec *iov = (const struct iovec *)a[v[i].arg];
			uint64_t iovs = (uint64_t)a[v[i].len_arg];

			if (iovs > IOVECS || !can_read(iov, iovs * sizeof(*iov)))
				continue;
			for (uint64_t k = 0; k < iovs; k++)
				sum += iov[k].iov_len + 128;
			continue;
		}
		if (a[v[i].arg] && pages_at((void *)a[v[i].arg]))
			sum += length_of(s, &v[i], a) + STRUCTURE_LEAST + 128;
	}
	return sum;
}

static long bounce_arg(const struct sys_info *s, const struct io *d, const long *a, int writes)
{
	uint64_t least = length_of(s, d, a), n = least;

	if ((d->how == IO_FIXED || d->how == IO_FIXED_ERR) && n < STRUCTURE_LEAST)
		n = STRUCTURE_LEAST;
	return bounce_piece(a[d->arg], n, least, writes);
}

static void bounce_list(const struct sys_info *s, const struct io *v, int n, const long *a, long *b, int writes)
{
	for (int i = 0; i < n && v[i].how; i++) {
		if (!a[v[i].arg] || b[v[i].arg] != a[v[i].arg])
			continue;
		if (v[i].how == IO_IOV)
			bounce_iov(&v[i], a, b, writes);
		else if (v[i].how == IO_VALRES)
			pages_touch((void *)a[v[i].len_arg], 4, 1), pages_touch((void *)a[v[i].arg], 128, 1);
		else
			b[v[i].arg] = bounce_arg(s, &v[i], a, writes);
	}
}

const long *bounce_in(const struct sys_info *s, const long *a, long *b)
{
	uint64_t room = room_for(s, s->in, 2, a) + room_for(s, s->out, 4, a);

	if (!room)
		return a;
	memcpy(b, a, 6 * sizeof(*b));
	bounce_room(room);
	bounce_list(s, s->out, 4, a, b, 1);
	bounce_list(s, s->in, 2, a, b, 0);
	return b;
}

void bounce_out(const struct sys_info *s, const long *a, const long *b, long ret, const uint32_t *before)
{
	struct piece to[PIECES], from[PIECES];
	int n = sys_out_pieces(s, a, ret, before, to);

	if (sys_out_pieces(s, b, ret, before, from) == n)
		for (int i = 0; i < n; i++)
			if (to[i].p != from[i].p)
				memcpy(to[i].p, from[i].p, to[i].n);
	if (bounce_now.own)
		raw2(SYS_munmap, bounce_now.base, bounce_now.end - bounce_now.base);
	else if (bounce_now.base)
		__atomic_store_n(&bounced_taken, 0, __ATOMIC_RELEASE);
	bounce_now = (struct donating){0};
}
