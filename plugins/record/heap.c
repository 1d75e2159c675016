/* SPDX-License-Identifier: MIT */
/*
 * heap.c: malloc with addresses that depend only on what each thread did (ireplayer section 2.2.4): every
 * thread has an arena at a fixed place, a freed block goes to the thread that freed it, and most calls
 * share nothing with other threads, so they need no log.
 *
 * What a thread frees beyond a bound goes to a depot, from where a thread that would have to use fresh memory
 * takes it: blocks that one thread allocates and another frees do not pile up. The depot has a library
 * lock, so its order is in the log.
 *
 * An arena that has grown to some megabytes grows in huge pages, where the kernel has them: that is one fault in the place of 512,
 * and saves the processor most of its walks through page tables, in a replay too.
 *
 * A block has a 16-byte header. Size classes: steps of 16 up to 512, then four per doubling. Blocks of
 * DROP_MIN and more give their pages back when they are freed.
 */
#include "record/shim.h"

#include "record/lib.h"
#include "rlog/heap.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define CLASSES HEAP_CLASSES
#define SMALL_MAX HEAP_SMALL_MAX
#define DROP_MIN (32u << 20)
#define ASK_BYTES (128u << 10)
#define HUGE (2u << 20) /* a page of a kind that is faulted in at once */
#define MAGIC_USED HEAP_USED
#define MAGIC_FREE HEAP_FREE
#define MAGIC_ALIGNED HEAP_ALIGNED
#define block heap_block
#define class_of heap_class_of
#define class_size heap_class_size

struct free_block {
	struct free_block *next;
	struct free_block *next_batch; /* in the depot: the first block of a batch */
};

struct arena {
	char *cur, *mapped, *limit;
	uint64_t step;
	char *ask; /* cur has come this far: look into the depot before it goes on */
	struct free_block *list[CLASSES], *spare[CLASSES]; /* spare: a full list */
	uint32_t count[CLASSES]; /* blocks in list */
};

static struct free_block *depot[CLASSES]; /* batches; under LIB_DEPOT */

static struct arena main_arena;
static struct arena shared_arena; /* for threads that the shim did not see start */
static volatile int shared_lock;

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
	a->cur = a->mapped = (char *)base;
	a->limit = (char *)base + len;
	a->step = 1u << 18;
}

/* The arena of a new thread; it lives at the start of its own memory. */
struct arena *heap_arena(uint32_t ordinal)
{
	uint64_t base = SHIM_HEAP_ADDR + ((uint64_t)ordinal << 32);
	struct arena *a = (struct arena *)base;

	if (raw_failed(raw_mmap(a, HEAP_ARENA_HEAD, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0)))
		return &shared_arena;
	arena_init(a, base + HEAP_ARENA_HEAD, (1ull << 32) - HEAP_ARENA_HEAD);
	return a;
}

void heap_init(void)
{
	if (!main_arena.cur)
		arena_init(&main_arena, SHIM_HEAP_MAIN_ADDR, SHIM_HEAP_ADDR - SHIM_HEAP_MAIN_ADDR);
	if (!shared_arena.cur)
		arena_init(&shared_arena, SHIM_HEAP_ADDR, 1ull << 32);
}

struct arena *heap_arena_main(void)
{
	return &main_arena;
}

uint32_t heap_check(void)
{
	return crc32c(crc32c(0, &main_arena, sizeof(main_arena)), depot, sizeof(depot));
}

static __attribute__((noinline)) struct arena *other_arena(void)
{
	if (!main_arena.cur)
		heap_init();
	/* before the shim's own start there is only the first thread */
	if (!G.mode && !G.thr)
		return &main_arena;
	while (__atomic_exchange_n(&shared_lock, 1, __ATOMIC_ACQUIRE))
		raw0(SYS_sched_yield);
	return &shared_arena;
}

static inline struct arena *my_arena(void)
{
	struct thr *t = self;

	return likely(t && t->arena) ? t->arena : other_arena();
}

static inline void release_arena(struct arena *a)
{
	if (unlikely(a == &shared_arena))
		__atomic_store_n(&shared_lock, 0, __ATOMIC_RELEASE);
}

static __attribute__((noinline)) int grow(struct arena *a, size_t need)
{
	uint64_t n = a->step;

	while (n < need)
		n *= 2;
	if (n > (uint64_t)(a->limit - a->mapped))
		n = (need + 4095) & ~4095ul;
	if (n > (uint64_t)(a->limit - a->mapped))
		return -1;
	if (raw_failed(raw_mmap(a->mapped, n, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0)))
		return -1;
	/* not what is made for one large block, of which the program may use some places only */
	if (n >= HUGE && n == a->step)
		raw3(SYS_madvise, a->mapped, n, MADV_HUGEPAGE);
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

/* Instead of fresh memory: once in a while, and again as long as something is found. */
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

	if (!a || a == &shared_arena)
		return;
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
	return (uint64_t)(a->mapped - a->cur) >= need;
}

/* *zero: the memory is fresh from the kernel. */
static void *take(size_t n, int *zero)
{
	struct arena *a;
	struct block *b;
	unsigned c;
	size_t size;

	if (unlikely(n > (1ull << 42))) {
		errno = ENOMEM;
		return 0;
	}
	c = class_of(n);
	size = class_size(c);
	a = my_arena();
	if (likely(a->list[c]) || refill(a, c) || depot_get(a, c, size + sizeof(*b))) {
		struct free_block *f = a->list[c];

		a->list[c] = f->next;
		a->count[c] -= a->count[c] > 0;
		b = (struct block *)f - 1;
		*zero = 0;
	} else {
		if (unlikely(!has_room(a, size + sizeof(*b))) &&
		    grow(a, size + sizeof(*b) - (size_t)(a->mapped - a->cur))) {
			release_arena(a);
			errno = ENOMEM;
			return 0;
		}
		b = (struct block *)a->cur;
		a->cur += size + sizeof(*b);
		*zero = 1;
	}
	b->magic = MAGIC_USED;
	b->cls = (uint16_t)c;
	b->size = n;
	release_arena(a);
	return b + 1;
}

static _Noreturn __attribute__((cold)) void broken(const char *what)
{
	raw_write_str(2, what);
	raw_write_str(2, "\n");
	REAL(abort)(); /* as glibc does: the program may handle SIGABRT */
}

/* As glibc reports it: a recorded program fails as it would alone. */
static inline struct block *block_of(void *p, const char *bad, const char *twice)
{
	struct block *b = (struct block *)p - 1;

	if (unlikely((uintptr_t)p & 15))
		broken(bad);
	if (unlikely((uintptr_t)p < SHIM_HEAP_MAIN_ADDR ||
		     (uintptr_t)p >= SHIM_HEAP_ADDR + ((uint64_t)RLOG_MAX_THREADS << 32)))
		broken(bad);
	if (b->magic == MAGIC_ALIGNED)
		b = (struct block *)((char *)p - b->size) - 1;
	if (unlikely(b->magic != MAGIC_USED))
		broken(b->magic == MAGIC_FREE ? twice : bad);
	return b;
}

EXPORT void *malloc(size_t n)
{
	int zero;

	return take(n, &zero);
}

EXPORT void free(void *p)
{
	struct block *b;
	struct arena *a;
	struct free_block *f;

	if (!p)
		return;
	b = block_of(p, "free(): invalid pointer", "free(): double free detected in tcache 2");
	b->magic = MAGIC_FREE;
	f = (struct free_block *)(b + 1);
	if (unlikely(b->cls >= class_of(DROP_MIN))) {
		uintptr_t lo = ((uintptr_t)f + 16 + 4095) & ~4095ul;
		uintptr_t hi = ((uintptr_t)f + class_size(b->cls)) & ~4095ul;

		raw3(SYS_madvise, lo, hi - lo, 4 /* MADV_DONTNEED */);
	}
	a = my_arena();
	f->next = a->list[b->cls];
	a->list[b->cls] = f;
	if (unlikely(++a->count[b->cls] > list_max(b->cls)) && depot_usable(a))
		overflow(a, b->cls);
	release_arena(a);
}

EXPORT void *calloc(size_t n, size_t m)
{
	size_t total;
	void *p;
	int zero;

	if (__builtin_mul_overflow(n, m, &total)) {
		errno = ENOMEM;
		return 0;
	}
	p = take(total, &zero);
	if (p && !zero)
		memset(p, 0, total);
	return p;
}

static size_t usable(void *p)
{
	struct block *b = block_of(p, "malloc(): invalid pointer", "malloc(): pointer already freed");

	return class_size(b->cls) - (size_t)((char *)p - (char *)(b + 1));
}

EXPORT void *realloc(void *p, size_t n)
{
	struct block *b;
	size_t have;
	void *q;

	if (!p)
		return malloc(n);
	if (!n) {
		free(p);
		return 0;
	}
	b = block_of(p, "realloc(): invalid pointer", "realloc(): invalid old size");
	have = usable(p);
	if (n <= have && (n >= have / 2 || have <= 64)) {
		b->size = n;
		return p;
	}
	q = malloc(n);
	if (!q)
		return 0;
	memcpy(q, p, have < n ? have : n);
	free(p);
	return q;
}

EXPORT void *reallocarray(void *p, size_t n, size_t m)
{
	size_t total;

	if (__builtin_mul_overflow(n, m, &total)) {
		errno = ENOMEM;
		return 0;
	}
	return realloc(p, total);
}

static void *aligned(size_t align, size_t n)
{
	struct block *h;
	uintptr_t q;
	char *p;

	if (align <= 16)
		return malloc(n);
	p = malloc(n + align);
	if (!p)
		return 0;
	q = ((uintptr_t)p + align - 1) & ~(align - 1);
	if (q == (uintptr_t)p)
		return p;
	h = (struct block *)q - 1;
	h->magic = MAGIC_ALIGNED;
	h->size = q - (uintptr_t)p;
	return (void *)q;
}

EXPORT void *memalign(size_t align, size_t n)
{
	if (align & (align - 1)) {
		size_t up = 16;

		while (up < align)
			up *= 2;
		align = up;
	}
	return aligned(align, n);
}

EXPORT void *aligned_alloc(size_t align, size_t n)
{
	if (!align || (align & (align - 1))) {
		errno = EINVAL;
		return 0;
	}
	return aligned(align, n);
}

EXPORT int posix_memalign(void **out, size_t align, size_t n)
{
	int saved = errno;
	void *p;

	if (!align || (align & (align - 1)) || align % sizeof(void *))
		return EINVAL;
	p = aligned(align, n);
	errno = saved;
	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}

EXPORT void *valloc(size_t n)
{
	return aligned(4096, n);
}

EXPORT void *pvalloc(size_t n)
{
	return aligned(4096, (n + 4095) & ~4095ul);
}

EXPORT size_t malloc_usable_size(void *p)
{
	return p ? usable(p) : 0;
}
