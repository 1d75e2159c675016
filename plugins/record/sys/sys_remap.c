/* SPDX-License-Identifier: MIT */
/*
 * sys_remap.c: mremap. The old addresses become free at the stamp of the first half of the event; the new ones are
 * taken in the second half (sys_map.c).
 */
#include "record/core/maps.h"
#include "record/core/state.h"
#include "record/event/turn.h"
#include "record/shm/group.h"
#include "record/sys/sys.h"
#include "record/sys/vfork_share.h"

#define WHOLE(len) (((len) + 4095) & ~4095l)

static long move(long from, long len, long to_len, long flags, long to)
{
	return raw6(SYS_mremap, from, len, to_len, flags | MREMAP_MAYMOVE | MREMAP_FIXED, to, 0);
}

struct place {
	uint64_t at, end;
};

static int ends_at(const struct map *m, void *arg)
{
	struct place *p = arg;

	p->end = m->hi;
	return m->lo <= p->at && p->at < m->hi;
}

/*
 * What was one mapping when recording may be several here: of copies of a file, or of shared memory whose pages have
 * been applied. The last one grows.
 */
static long by_pieces(long from, long len, long to_len, long flags, long to)
{
	long end = from + WHOLE(len), want;

	to_len = WHOLE(to_len);
	if (to_len < end - from) {
		raw2(SYS_munmap, from + to_len, end - from - to_len);
		end = from + to_len;
	}
	for (long at = from, n; at < end; at += n) {
		struct place p = {.at = (uint64_t)at};

		if (maps_each(ends_at, &p) != 1)
			return -14; /* EFAULT */
		n = ((long)p.end < end ? (long)p.end : end) - at;
		want = at + n == end ? to_len - (at - from) : n;
		if (to != from ? move(at, n, want, flags, to + (at - from)) != to + (at - from)
			       : want != n && raw6(SYS_mremap, at, n, want, 0, 0, 0) != at)
			return -14;
	}
	return to;
}

/* Replay: moves it to the recorded place. */
static void remap(long from, long len, long to_len, long flags, long to)
{
	long ret = to == from ? raw6(SYS_mremap, from, len, to_len, 0, 0, 0) : move(from, len, to_len, flags, to);

	if (ret != to && by_pieces(from, len, to_len, flags, to) != to)
		shim_fail("cannot move a mapping to its recorded place");
}

/*
 * Replay, the first half: the old addresses must become free before other threads go on, and the new ones may not be
 * free yet. If other threads go on before the second half, the memory is moved elsewhere. Returns the address from
 * which the second half moves it, or 0: nothing is left to do.
 */
static long move_away(struct thr *t, const long *a, long want)
{
	long place;

	if (turn_stays(t) || (want == a[0] && (unsigned long)a[2] <= (unsigned long)a[1])) {
		remap(a[0], a[1], a[2], a[3], want);
		return 0;
	}
	if (want == a[0] || !a[1] || (a[3] & MREMAP_DONTUNMAP))
		return a[0];
	place = spare_place(a[1]);
	remap(a[0], a[1], a[1], 0, place);
	return place;
}

/*
 * The number of its arguments: it has a new address only with MREMAP_FIXED or MREMAP_DONTUNMAP; else the register has
 * an arbitrary value.
 */
static unsigned mremap_nargs(const long *a)
{
	return a[3] & (MREMAP_FIXED | MREMAP_DONTUNMAP) ? 5 : 4;
}

/* Is memory moved that processes share? With a length of 0, it is mapped a second time instead. */
static int moves_shared(struct thr *t, const long *a)
{
	return a[1] && pages_range((void *)a[0], (uint64_t)a[1]) &&
	       pages_move(t, (uint64_t)a[0], (uint64_t)a[1], (a[3] & MREMAP_DONTUNMAP) ? 0 : (uint64_t)a[2]);
}

static void moved(const long *a, long to, int shared)
{
	if (sys_is_error(to))
		return;
	if (!a[1])
		pages_duplicated((uint64_t)a[0], (uint64_t)to, (uint64_t)WHOLE(a[2]));
	if (shared)
		pages_moved((uint64_t)a[0], (uint64_t)to, (uint64_t)a[2]);
}

long record_mremap(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	uint64_t op[10];
	unsigned n = sys_pack(op, nr, a, mremap_nargs(a), 0);
	int shared = moves_shared(t, a);
	long ret;

	sys_rec_stay(t, op, n);
	ret = raw6(nr, a[0], a[1], a[2], a[3], a[4], 0);
	moved(a, ret, shared);
	vfork_child_maps(nr, a, ret);
	sys_rec_ret_point(t, ret);
	return ret;
}

long replay_mremap(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	uint64_t op[10];
	unsigned n = sys_pack(op, nr, a, mremap_nargs(a), 0);
	int shared = moves_shared(t, a);
	long ret, from = 0;

	sys_replay(t, op, n);
	if (a[1] && sys_result_ahead(t, &ret) && !sys_is_error(ret))
		from = move_away(t, a, ret);
	ret = sys_replay_end(t, a);
	if (from)
		remap(from, a[1], a[2], a[3], ret);
	moved(a, ret, shared);
	return ret;
}
