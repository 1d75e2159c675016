/* SPDX-License-Identifier: MIT */
/*
 * vfork.c: what a vfork child writes into its parent's memory. The recorder gives such a child a copy of the memory, to
 * record it like any other process. But libc's posix_spawn reports an error of the child through the parent's stack,
 * and some programs set variables in the child. So the child passes its pages to the parent in shared memory when it
 * execs or ends, and the parent, which waits for that, copies what differs. This is logged as a call of its own after
 * the fork.
 *
 * What the child has mapped, unmapped or protected, the parent maps, unmaps or protects too, in calls that are logged
 * before that one; a replay finds them in the log.
 *
 * If the parent has other threads, they continue meanwhile, and other differences may be their writes: then only a part
 * of the parent's own stack is copied; so it is in a group of processes that share memory, whose pages the recorder
 * keeps copies of. Else, all pages are copied that the child no longer shares with it,
 * since the child has written them. But if the child has used the heap, again only that part of the stack is copied:
 * the lists of the heap are the recorder's own memory, which is not copied.
 */
#include "record/core/maps.h"
#include "record/core/memory.h"
#include "record/core/state.h"
#include "record/event/ev.h"
#include "record/event/turn.h"
#include "record/proc/process.h"
#include "record/sched/gil.h"
#include "record/store/log.h"
#include "record/sync/heap.h"
#include "record/sys/sys.h"
#include "record/sys/vfork_share.h"

#include <string.h>
#include <ucontext.h>

extern char data_end __asm__("_end") __attribute__((visibility("hidden")));

/*
 * Does all of that part of the stack exist? The stack's end may be nearer, and so may be the thread's own data: the
 * child is another thread.
 */
static uint32_t stretch_len(uint64_t sp)
{
	uint64_t end = self->born.frames_end;
	uint32_t len = STRETCH;

	if (sp < end && end - sp < len)
		return (uint32_t)(end - sp);
	while (len > 256 && raw3(SYS_msync, (sp + len) & ~4095ull, 1, 1 /* MS_ASYNC */) < 0)
		len /= 2;
	return len;
}

struct share *vfork_begin(ucontext_t *uc)
{
	struct share *s;

	if (!uc)
		return 0;
	s = raw_mmap(0, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (raw_failed(s))
		return 0;
	s->sp = (uint64_t)uc->uc_mcontext.gregs[REG_RSP];
	s->len = stretch_len(s->sp);
	s->all = threads_alone(self) && self->arena == heap_arena_main() && !G.group;
	s->heap = heap_check();
	return s;
}

/* ---- the child ---- */

/* Adds the pages of [lo, hi) that exist, and that no other process shares. */
static void add_own_pages(struct share *s, int pagemap, uint64_t lo, uint64_t hi)
{
	uint64_t entry[512];
	long n;

	for (uint64_t at = lo; at < hi; at += (uint64_t)n / 8 * VFORK_PAGE) {
		n = (long)((hi - at) / VFORK_PAGE < 512 ? (hi - at) / VFORK_PAGE : 512) * 8;
		n = raw4(SYS_pread64, pagemap, entry, n, at / VFORK_PAGE * 8);
		if (n < 8)
			return;
		for (long i = 0; i < n / 8; i++)
			if (entry[i] >> 63 && (entry[i] >> 56 & 1))
				vfork_add_piece(s, at + (uint64_t)i * VFORK_PAGE, VFORK_PAGE);
	}
}

/* Adds memory of the program. Frames below that of vfork's caller are this process's own. */
static void add_range(struct share *s, int pagemap, uint64_t lo, uint64_t hi)
{
	uint64_t own = (uint64_t)(void *)&vfork_share, end = (uint64_t)(void *)&data_end;

	if (lo <= s->sp && s->sp < hi)
		lo = s->sp & ~(VFORK_PAGE - 1);
	if (hi - lo > RANGE_MAX || shim_owns(lo) || shim_is_stack(lo) || (lo <= own && own < hi) ||
	    (lo < end && end < hi))
		return;
	add_own_pages(s, pagemap, lo, hi);
}

struct ranges {
	struct share *s;
	int pagemap;
};

/* All writable private mappings. */
static int add_private(const struct map *m, void *arg)
{
	const struct ranges *r = arg;

	if (m->perms[0] == 'r' && m->perms[1] == 'w' && m->perms[3] == 'p')
		add_range(r->s, r->pagemap, m->lo, m->hi);
	return 0;
}

void vfork_child_leaves(void)
{
	struct share *s = vfork_share;
	struct ranges r = {s, -1};

	if (!s)
		return;
	s->n = 0;
	if (s->all && heap_check() == s->heap)
		r.pagemap = raw_open("/proc/self/pagemap", O_RDONLY, 0);
	if (r.pagemap < 0 || maps_each(add_private, &r) < 0)
		vfork_add_piece(s, s->sp, s->len);
	if (r.pagemap >= 0)
		raw_close(r.pagemap);
	s->done = 1;
}

/* ---- the parent ---- */

/*
 * Writes the differences: each as address (8 bytes), length (2 bytes), bytes; at most three times as long as the piece.
 */
static uint8_t *encode_piece(uint8_t *p, uint64_t piece, const uint8_t *after, uint32_t len, uint64_t sp)
{
	const uint8_t *before = (const uint8_t *)piece;

	for (uint32_t i = 0; i < len; i++) {
		uint64_t at = piece + i;
		uint16_t n = 0;

		while (i + n < len && at + n >= sp && before[i + n] != after[i + n])
			n++;
		if (!n)
			continue;
		memcpy(p, &at, 8);
		memcpy(p + 8, &n, 2);
		memcpy(p + 10, after + i, n);
		p += 10 + n;
		i += n;
	}
	return p;
}

static uint64_t encode(const struct share *s, uint8_t *out)
{
	uint8_t *p = out;

	for (uint32_t k = 0; k < s->n && k < PIECES_MAX; k++) {
		uint64_t at = s->piece[k].at;

		/* the child may have mapped it */
		if (sys_readable((const void *)at, s->piece[k].len))
			p = encode_piece(p, at, s->bytes[k], s->piece[k].len, at >> 12 == s->sp >> 12 ? s->sp : 0);
	}
	return (uint64_t)(p - out);
}

static void apply(const uint8_t *p, const uint8_t *end)
{
	uint64_t at;
	uint16_t n;

	for (; p + 10 <= end; p += 10 + n) {
		memcpy(&at, p, 8);
		memcpy(&n, p + 8, 2);
		if (n > end - p - 10)
			shim_fail("the record of a vfork child's writes is damaged");
		memcpy((void *)at, p + 10, n);
	}
}

static long map_again(struct thr *t, long nr, const long *a)
{
	return nr == SYS_mmap ? (G.mode == SHIM_REPLAY ? replay_mmap : record_mmap)(t, nr, a, 0)
			      : sys_mem(t, nr, a,
					nr == SYS_mprotect ? 3
					: nr == SYS_munmap ? 2
							   : 1);
}

static void record_maps(struct thr *t, const struct share *s)
{
	for (uint32_t i = 0; s && i < s->calls; i++)
		if (sys_is_error(map_again(t, s->call[i].nr, s->call[i].a)))
			note(RLOG_NOTE_UNSUPPORTED, SYS_vfork,
			     "a vfork child mapped memory where its parent has some by now");
}

/* Up to the call that ends the child. */
static void replay_maps(struct thr *t)
{
	struct rlog_rec r;
	long a[6];

	while (turn_next_is(t, RLOG_SYS) && turn_peek(t, &r) && r.kind == RLOG_SYS) {
		for (unsigned i = 0; i < 6; i++)
			a[i] = i + 2u < r.nops ? (long)r.op[i + 1] : 0;
		map_again(t, (long)r.op[0], a);
	}
}

void vfork_end(struct thr *t, struct share *s, ucontext_t *uc)
{
	uint64_t len = 0, room = s ? ((uint64_t)s->n * VFORK_PAGE + VFORK_PAGE) * 6 : 0;
	uint8_t *diff = 0;
	const uint8_t *p;
	int64_t zero = 0;

	if (!uc)
		return;
	if (G.mode != SHIM_REPLAY)
		record_maps(t, s);
	else
		replay_maps(t);
	if (G.mode != SHIM_REPLAY && s && s->done) {
		diff = raw_mmap(0, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		diff = raw_failed(diff) ? 0 : diff;
		len = diff ? encode(s, diff) : 0;
	}
	ev(t, RLOG_CALL, 0, RLOG_CALL_SPAWN_ERROR, 0);
	ev_done(t);
	p = ev_callret(t, &zero, diff, &len);
	if (G.mode != SHIM_REPLAY)
		p = diff;
	if (p)
		apply(p, p + len);
	if (diff)
		raw2(SYS_munmap, diff, room);
	if (s)
		raw2(SYS_munmap, s, sizeof(*s));
}
