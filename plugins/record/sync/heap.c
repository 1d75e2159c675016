/* SPDX-License-Identifier: MIT */
/*
 * heap.c: malloc with addresses that depend only on what each thread did (ireplayer section 2.2.4): every thread has an
 * arena at a fixed place, a freed block goes to the thread that freed it, and most calls share nothing with other
 * threads, so they need no log.
 *
 * What a thread frees beyond a bound goes to a depot, from which a thread takes it that would otherwise use fresh
 * memory. So blocks that one thread allocates and another frees do not accumulate. The depot has a library lock, so its
 * order is in the log.
 *
 * An arena that has grown to some megabytes grows in huge pages, where the kernel has them: this takes one fault
 * instead of 512, and saves the processor most of its walks through page tables, in a replay too.
 *
 * A block has a 16-byte header, and as many bytes after that as glibc's would have. Size classes: steps of 16 up to
 * 512, then four per doubling. Blocks of DROP_MIN and more give their pages back when they are freed.
 *
 * A program that damages its heap fails as it does with glibc's. Where glibc would have the size of the next chunk,
 * there is a word (HEAP_WORD). It is examined when glibc examines that size, and its value then tells what glibc would
 * find. With --malloc system the heap is glibc's, except for what was allocated before the recorder's start. With
 * --detect, blocks have canaries after them (heap_detect.h).
 */
#include "record/sync/heap.h"
#include "record/core/real.h"
#include "record/core/state.h"
#include "record/core/util.h"
#include "record/sync/lib.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

struct heap_detects heap_detects;
static struct free_block *depot[CLASSES]; /* batches; under LIB_DEPOT */

uint64_t heap_glibc_word(uint64_t v)
{
	uint64_t r = 0;

	if (likely(v == HEAP_CANARY))
		return HEAP_WORD;
	for (unsigned i = 0; heap_detects.mapped && i < 64; i += 8) {
		uint64_t byte = v >> i & 0xff;

		r |= (byte == (HEAP_CANARY >> i & 0xff) ? HEAP_WORD >> i & 0xff : byte) << i;
	}
	return heap_detects.mapped ? r : v;
}

static struct arena main_arena;
struct arena heap_shared; /* for threads whose start the recorder did not see */
volatile int heap_shared_lock;

/* Blocks of one class that a thread keeps in its list: about 256 KiB, at least one. */
static uint32_t list_max(unsigned c)
{
	uint32_t n;

	if (c < SMALL_MAX / 16)
		return 1024;
	n = 512u >> (c - SMALL_MAX / 16) / 4;
	return n ? n : 1;
}

static void arena_init(struct arena *a, uint64_t base, uint64_t len)
{
	a->mapped = (char *)base;
	a->cur = a->mapped + HEAP_FIRST; /* the first block also has a word before it */
	a->limit = (char *)base + len;
	a->step = 1u << 18;
}

static uint64_t made[RLOG_MAX_THREADS / 64]; /* bit N: thread N has an arena, or had one */

/* The arena of a new thread; it lives at the start of its own memory. */
struct arena *heap_arena(uint32_t ordinal)
{
	uint64_t base = SHIM_HEAP_ADDR + ((uint64_t)ordinal << 32);
	struct arena *a = (struct arena *)base;

	if (raw_failed(raw_mmap(a, HEAP_ARENA_HEAD, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0)))
		return &heap_shared;
	__atomic_fetch_or(&made[ordinal / 64], 1ull << ordinal % 64, __ATOMIC_RELEASE);
	arena_init(a, base + HEAP_ARENA_HEAD, (1ull << 32) - HEAP_ARENA_HEAD);
	return a;
}

void heap_init(void)
{
	if (!main_arena.cur)
		arena_init(&main_arena, SHIM_HEAP_MAIN_ADDR, SHIM_HEAP_ADDR - SHIM_HEAP_MAIN_ADDR);
	if (!heap_shared.cur)
		arena_init(&heap_shared, SHIM_HEAP_ADDR, 1ull << 32);
}

struct arena *heap_arena_main(void)
{
	return &main_arena;
}

struct arena *heap_arena_of(uint32_t ordinal)
{
	if (!ordinal)
		return &heap_shared;
	if (ordinal == 1)
		return &main_arena;
	return made[ordinal / 64] & 1ull << ordinal % 64 ? (struct arena *)(SHIM_HEAP_ADDR + ((uint64_t)ordinal << 32))
							 : 0;
}

uint32_t heap_check(void)
{
	return crc32c(crc32c(0, &main_arena, offsetof(struct arena, ring)), depot, sizeof(depot));
}

__attribute__((noinline)) struct arena *heap_other_arena(void)
{
	if (!main_arena.cur)
		heap_init();
	/* before the shim's own start there is only the first thread */
	if (!G.mode && !G.thr)
		return &main_arena;
	while (__atomic_exchange_n(&heap_shared_lock, 1, __ATOMIC_ACQUIRE))
		raw0(SYS_sched_yield);
	return &heap_shared;
}

static int map_more(const struct arena *a, uint64_t n)
{
	if (unlikely(heap_was_refused(a->mapped, n)))
		return -1;
	if (!raw_failed(raw_mmap(a->mapped, n, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0)))
		return 0;
	heap_refused(a->mapped, n);
	return -1;
}

static __attribute__((noinline)) int grow(struct arena *a, size_t need)
{
	uint64_t n = a->step, least = (need + 4095) & ~4095ul;

	while (n < need)
		n *= 2;
	if (n > (uint64_t)(a->limit - a->mapped))
		n = least;
	if (n > (uint64_t)(a->limit - a->mapped))
		return -1;
	if (map_more(a, n)) {
		if (n == least || map_more(a, least))
			return -1;
		n = least;
	}
	/* not for one large block, of which the program may use only a few pages */
	if (n >= HUGE && n == a->step)
		raw3(SYS_madvise, a->mapped, n, MADV_HUGEPAGE);
	if (a->cur == a->mapped + HEAP_FIRST)
		((uint64_t *)a->cur)[-1] = HEAP_WORD;
	if (heap_detects.mapped)
		heap_detects.mapped(a->mapped, n);
	a->mapped += n;
	if (a->step < (32u << 20))
		a->step *= 2;
	return 0;
}

/* ---- the depot: only from the program's code, where an event may be made ---- */

static int depot_usable(const struct arena *a)
{
	const struct thr *t = self;

	return G.mt && G.mode && t && t->arena == a && !t->depth && !t->exited;
}

static void depot_put(unsigned c, struct free_block *batch)
{
	if (!batch)
		return;
	batch->next_batch = depot[c];
	depot[c] = batch;
}

/* The list of this class is full. */
static void overflow(struct arena *a, unsigned c)
{
	if (a->spare[c]) {
		if (!lib_quiet_enter(LIB_DEPOT))
			return;
		depot_put(c, a->spare[c]);
		lib_quiet_leave(LIB_DEPOT);
	}
	a->spare[c] = a->list[c];
	a->list[c] = 0;
	a->count[c] = 0;
}

static int refill(struct arena *a, unsigned c)
{
	if (a->spare[c]) {
		a->list[c] = a->spare[c];
		a->spare[c] = 0;
		return 1;
	}
	return 0;
}

/* Looks into the depot before fresh memory is used: now and then, and again as long as something is found. */
static int depot_get(struct arena *a, unsigned c, size_t need)
{
	if (likely(!G.mt) || likely(a->cur + need <= a->ask) || !depot_usable(a) || !lib_quiet_enter(LIB_DEPOT))
		return 0;
	a->list[c] = depot[c];
	if (depot[c])
		depot[c] = depot[c]->next_batch;
	lib_quiet_leave(LIB_DEPOT);
	if (!a->list[c])
		a->ask = a->cur + need + ASK_BYTES;
	return a->list[c] != 0;
}

void heap_thread_end(struct thr *t)
{
	struct arena *a = t->arena;
	unsigned c;

	if (!a || a == &heap_shared)
		return;
	if (heap_detects.ends)
		heap_detects.ends(a);
	for (c = 0; c < CLASSES && !a->list[c] && !a->spare[c]; c++)
		;
	if (c == CLASSES)
		return;
	lib_thread_lock(t, LIB_DEPOT);
	for (; c < CLASSES; c++) {
		depot_put(c, a->list[c]);
		depot_put(c, a->spare[c]);
		a->list[c] = a->spare[c] = 0;
		a->count[c] = 0;
	}
	lib_thread_unlock(t, LIB_DEPOT);
}

static int has_room(const struct arena *a, size_t need)
{
	return a->mapped - a->cur >= (int64_t)need;
}

ssize_t (*heap_write)(int fd, const struct iovec *v, int n);

_Noreturn void heap_broken(const char *what)
{
	struct iovec v[2] = {{(void *)what, strlen(what)}, {"\n", 1}};

	heap_write(2, v, 2);
	REAL(abort)(); /* as glibc does: the program may handle SIGABRT */
}

/*
 * The first block of a list is not a free block, since something has written to freed memory. glibc would not notice if
 * its count says that the list is empty.
 */
static __attribute__((noinline, cold)) void bad_list(struct arena *a, unsigned c)
{
	if (!a->count[c]) {
		a->list[c] = 0;
		return;
	}
	release_arena(a);
	heap_broken("malloc(): unaligned tcache chunk detected");
}

static inline int is_free_block(const struct free_block *f)
{
	return !((uintptr_t)f & 15) && is_heap(f) && ((const struct block *)f - 1)->magic == MAGIC_FREE;
}

static inline __attribute__((always_inline)) struct block *take_class(struct arena *a, unsigned c, int *zero)
{
	size_t size = class_size(c);
	struct block *b;

	if (unlikely(a->list[c] && !is_free_block(a->list[c])))
		bad_list(a, c);
	if (likely(a->list[c]) || refill(a, c) || depot_get(a, c, size + sizeof(*b))) {
		struct free_block *f = a->list[c];

		a->list[c] = f->next;
		a->count[c] -= a->count[c] > 0;
		b = (struct block *)f - 1;
		*zero = 0;
	} else {
		if (unlikely(!has_room(a, size + sizeof(*b))) &&
		    grow(a, size + sizeof(*b) - (size_t)(a->mapped - a->cur)))
			return 0;
		b = (struct block *)a->cur;
		if (unlikely(word_before(b, a->last) > SHIM_HEAP_MAIN_ADDR || b->magic)) {
			release_arena(a);
			heap_broken("malloc(): corrupted top size");
		}
		b->before = a->last && a->last->cls >= SMALL_MAX / 16 &&
					    (uint64_t)((char *)b - (char *)a->last) < HEAP_MAPPED_MIN * 2
				    ? (uint32_t)((char *)b - (char *)a->last)
				    : 0;
		a->last = b;
		a->cur += size + sizeof(*b);
		*zero = 1;
	}
	b->cls = (uint16_t)c;
	return b;
}

struct block *heap_take_class(struct arena *a, unsigned c, int *zero)
{
	return take_class(a, c, zero);
}

/* *zero: the memory is fresh from the kernel. */
void *heap_take(size_t n, int *zero)
{
	struct arena *a;
	struct block *b;

	if (unlikely(n > (1ull << 42))) {
		errno = ENOMEM;
		return 0;
	}
	a = my_arena();
	b = take_class(a, class_of(heap_usable_of(n) + sizeof(uint64_t)), zero);
	if (unlikely(!b)) {
		release_arena(a);
		errno = ENOMEM;
		return 0;
	}
	use_block(b, n);
	release_arena(a);
	return b + 1;
}

static inline __attribute__((always_inline)) void list(struct arena *a, struct block *b)
{
	struct free_block *f = (struct free_block *)(b + 1);

	f->next = a->list[b->cls];
	a->list[b->cls] = f;
	if (unlikely(++a->count[b->cls] > list_max(b->cls)) && depot_usable(a))
		overflow(a, b->cls);
}

void heap_list(struct arena *a, struct block *b)
{
	list(a, b);
}

/* Gives pages back to the kernel; they are zero afterwards. */
static void drop(uintptr_t at, size_t n)
{
	if (unlikely(G.ctl && G.ctl->flags & REPLAY_F_TOUCHED))
		raw6(SYS_mmap, at, n, 3 /* PROT_READ | PROT_WRITE */, 0x32 /* MAP_PRIVATE, _FIXED, _ANONYMOUS */, -1,
		     0);
	else
		raw3(SYS_madvise, at, n, 4 /* MADV_DONTNEED */);
}

void heap_put(struct block *b)
{
	struct arena *a;

	b->magic = MAGIC_FREE;
	if (unlikely(b->cls >= class_of(DROP_MIN))) {
		uintptr_t lo = ((uintptr_t)(b + 1) + 16 + 4095) & ~4095ul;
		uintptr_t hi = ((uintptr_t)(b + 1) + class_size(b->cls) - sizeof(uint64_t)) & ~4095ul;

		drop(lo, hi - lo);
	}
	a = my_arena();
	list(a, b);
	release_arena(a);
}
