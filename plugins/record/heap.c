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
 * A block has a 16-byte header, and as many bytes behind that as glibc's would have. Size classes: steps of 16 up to 512, then four
 * per doubling. Blocks of DROP_MIN and more give their pages back when they are freed.
 *
 * A program that damages its heap fails as it does with glibc's: where glibc would have the size of the next chunk stands a
 * word, which is looked at when glibc looks at that size, and its value then says what glibc would. With --malloc system all of this
 * is glibc's; only what was allocated before the recorder's start is not.
 */
#include "record/shim.h"

#include "record/lib.h"
#include "rlog/heap.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define CLASSES HEAP_CLASSES
#define SMALL_MAX HEAP_SMALL_MAX
#define DROP_MIN (32u << 20)
#define ASK_BYTES (128u << 10)
#define HUGE (2u << 20) /* a page of a kind that is faulted in at once */
#define WORD 0x21ull /* behind a block's memory: as glibc has the size of a small chunk, with one in use before it */
#define CACHED_MAX 1032u /* glibc keeps freed blocks up to this size aside, without a look at the next one */
#define MAPPED_MIN (128u << 10) /* glibc maps blocks from this size on by themselves */
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
	struct block *last; /* in front of cur */
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

/* Bytes that the program may use when it asks for n: as glibc's. Behind them is a WORD. */
static inline size_t usable_of(size_t n)
{
	return n <= 24 ? 24 : ((n + 23) & ~15ul) - 8;
}

static inline uint64_t *word_behind(struct block *b)
{
	return (uint64_t *)((char *)(b + 1) + usable_of(b->size));
}

/* At the end of all that the block has: in front of the next one's header. */
static inline uint64_t *word_at_end(struct block *b)
{
	return (uint64_t *)((char *)(b + 1) + class_size(b->cls)) - 1;
}

static inline void set_words(struct block *b)
{
	*word_at_end(b) = WORD;
	if (b->size < MAPPED_MIN)
		*word_behind(b) = WORD;
}

static void arena_init(struct arena *a, uint64_t base, uint64_t len)
{
	a->mapped = (char *)base;
	a->cur = a->mapped + HEAP_FIRST; /* the first block has a word before it, too */
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
	if (a->cur == a->mapped + HEAP_FIRST)
		((uint64_t *)a->cur)[-1] = WORD;
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
	return a->mapped - a->cur >= (int64_t)need;
}

static _Noreturn __attribute__((cold)) void broken(const char *what)
{
	struct iovec v[2] = {{(void *)what, strlen(what)}, {"\n", 1}};

	writev(2, v, 2); /* the wrapper: an event */
	REAL(abort)(); /* as glibc does: the program may handle SIGABRT */
}

static inline int is_heap(const void *p)
{
	return (uintptr_t)p >= SHIM_HEAP_MAIN_ADDR && (uintptr_t)p < SHIM_HEAP_ADDR + ((uint64_t)RLOG_MAX_THREADS << 32);
}

/*
 * The first one of a list is not a free block: somebody wrote to freed memory. If the list has had its blocks, glibc would not
 * look at it.
 */
static __attribute__((noinline, cold)) void bad_list(struct arena *a, unsigned c)
{
	if (!a->count[c]) {
		a->list[c] = 0;
		return;
	}
	release_arena(a);
	broken("malloc(): unaligned tcache chunk detected");
}

static inline int is_free_block(const struct free_block *f)
{
	return !((uintptr_t)f & 15) && is_heap(f) && ((const struct block *)f - 1)->magic == MAGIC_FREE;
}

/* What glibc would have as the size of b; before: the block before it, if that is known. */
static inline uint64_t word_before(const struct block *b, struct block *before)
{
	if (before && before->magic == MAGIC_USED && before->size < MAPPED_MIN && before->cls >= SMALL_MAX / 16 &&
	    *word_behind(before) != WORD)
		return *word_behind(before);
	return ((const uint64_t *)b)[-1];
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
	c = class_of(usable_of(n) + sizeof(uint64_t));
	size = class_size(c);
	a = my_arena();
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
		    grow(a, size + sizeof(*b) - (size_t)(a->mapped - a->cur))) {
			release_arena(a);
			errno = ENOMEM;
			return 0;
		}
		b = (struct block *)a->cur;
		if (unlikely(word_before(b, a->last) > SHIM_HEAP_MAIN_ADDR || b->magic)) {
			release_arena(a);
			broken("malloc(): corrupted top size");
		}
		b->before = a->last && a->last->cls >= SMALL_MAX / 16 && (uint64_t)((char *)b - (char *)a->last) < MAPPED_MIN * 2
				    ? (uint32_t)((char *)b - (char *)a->last)
				    : 0;
		a->last = b;
		a->cur += size + sizeof(*b);
		*zero = 1;
	}
	b->magic = MAGIC_USED;
	b->cls = (uint16_t)c;
	b->size = n;
	set_words(b);
	release_arena(a);
	return b + 1;
}

/* As glibc reports it: a recorded program fails as it would alone. */
static inline struct block *block_of(void *p, const char *bad, const char *twice)
{
	struct block *b = (struct block *)p - 1;

	if (unlikely((uintptr_t)p & 15))
		broken(bad);
	if (unlikely(!is_heap(p)))
		broken(bad);
	if (b->magic == MAGIC_ALIGNED)
		b = (struct block *)((char *)p - b->size) - 1;
	if (unlikely(b->magic != MAGIC_USED))
		broken(b->magic == MAGIC_FREE ? twice : bad);
	return b;
}

/* The word in front of a block that is freed is no WORD: in its place is glibc's size of that block. */
static __attribute__((noinline, cold)) void check_own(const struct block *b, uint64_t v)
{
	uint64_t size = v & ~7ull;

	if (v & 2) /* it was mapped by itself */
		broken("munmap_chunk(): invalid pointer");
	if ((uintptr_t)(b + 1) - 16 > -size || (b->magic != MAGIC_USED && size <= CACHED_MAX + 8))
		broken("free(): invalid pointer");
	if (size < 32 || (size & 15))
		broken("free(): invalid size");
	if (size > CACHED_MAX + 8)
		broken(size < 1u << 21 ? "free(): invalid next size (normal)" : "double free or corruption (out)");
}

/* The word behind a block that is freed or resized is no WORD: it is glibc's size of the next one. */
static __attribute__((noinline, cold)) void check_next(uint64_t v, const char *bad)
{
	if (bad)
		broken(bad);
	if (!(v & 1))
		broken("double free or corruption (!prev)");
	if ((v & ~7ull) <= 16 || v >= 1u << 21)
		broken("free(): invalid next size (normal)");
}

/* p is the program's, in the heap. */
static inline void check(void *p)
{
	const struct block *b = (const struct block *)p - 1;
	uint64_t v;

	if (unlikely(((uintptr_t)p & 15) || !is_heap(p) || b->magic == MAGIC_ALIGNED))
		return; /* the former is told elsewhere */
	v = word_before(b, b->before && b->magic == MAGIC_USED ? (struct block *)((char *)(uintptr_t)b - b->before) : 0);
	if (unlikely(v != WORD))
		check_own(b, v);
}

static const char *twice(const void *p)
{
	const struct block *b = (const struct block *)p - 1;
	const struct arena *a = my_arena();
	int last = (const char *)p + class_size(b->cls < CLASSES ? b->cls : 0) == a->cur;

	release_arena((struct arena *)a);
	return b->size <= CACHED_MAX ? "free(): double free detected in tcache 2"
	       : last		     ? "double free or corruption (top)"
				     : "double free or corruption (!prev)";
}

/* ---- glibc's: with --malloc system, for what is allocated from the recorder's start on ---- */

static int system_heap;

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t m);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);
extern void __libc_free(void *p);

void heap_use_system(void)
{
	system_heap = 1;
}

static inline int is_systems(const void *p)
{
	return unlikely(system_heap) && !is_heap(p);
}

EXPORT void *malloc(size_t n)
{
	int zero;

	if (unlikely(system_heap))
		return __libc_malloc(n);

	return take(n, &zero);
}

EXPORT void free(void *p)
{
	struct block *b;
	struct arena *a;
	struct free_block *f;

	if (!p)
		return;
	if (is_systems(p)) {
		__libc_free(p);
		return;
	}
	check(p);
	b = (struct block *)p - 1;
	b = block_of(p, "free(): invalid pointer", is_heap(b) && b->magic == MAGIC_FREE ? twice(p) : "free(): invalid pointer");
	if (unlikely(b->size > CACHED_MAX && b->size < MAPPED_MIN && *word_behind(b) != WORD))
		check_next(*word_behind(b), 0);
	b->magic = MAGIC_FREE;
	f = (struct free_block *)(b + 1);
	if (unlikely(b->cls >= class_of(DROP_MIN))) {
		uintptr_t lo = ((uintptr_t)f + 16 + 4095) & ~4095ul;
		uintptr_t hi = ((uintptr_t)f + class_size(b->cls) - sizeof(uint64_t)) & ~4095ul;

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

	if (unlikely(system_heap))
		return __libc_calloc(n, m);
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

	return usable_of(b->size) - (size_t)((char *)p - (char *)(b + 1));
}

/* The same up to where the block could grow. */
static size_t room(void *p)
{
	struct block *b = block_of(p, "malloc(): invalid pointer", "malloc(): pointer already freed");

	return class_size(b->cls) - sizeof(uint64_t) - (size_t)((char *)p - (char *)(b + 1));
}

EXPORT void *realloc(void *p, size_t n)
{
	struct block *b;
	size_t have;
	void *q;

	if (!p)
		return malloc(n);
	if (is_systems(p))
		return __libc_realloc(p, n);
	if (!n) {
		free(p);
		return 0;
	}
	b = block_of(p, "realloc(): invalid pointer", "realloc(): invalid old size");
	if (unlikely(b->size < MAPPED_MIN && *word_behind(b) != WORD && *word_behind(b) >= 1u << 21))
		check_next(*word_behind(b), "realloc(): invalid next size");
	have = room(p);
	if (n <= have && (n >= have / 2 || have <= 64) && likely(!system_heap)) {
		b->size = n + (size_t)((char *)p - (char *)(b + 1));
		set_words(b);
		return p;
	}
	have = usable(p);
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

	if (unlikely(system_heap))
		return __libc_memalign(align, n);
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
	if (p && is_systems(p))
		return REAL(malloc_usable_size)(p);
	return p ? usable(p) : 0;
}
