/* SPDX-License-Identifier: MIT */
/* heap.h: what heap.c, heap_detect.c and malloc.c share. */
#ifndef FRED_RECORD_HEAP_H
#define FRED_RECORD_HEAP_H

#include "record/core/state.h"

#include "rlog/heap.h"
#include <sys/uio.h>

#define CLASSES HEAP_CLASSES
#define SMALL_MAX HEAP_SMALL_MAX
#define DROP_MIN (32u << 20)
#define ASK_BYTES (128u << 10)
#define HUGE (2u << 20) /* size of a page that is faulted in as a whole */
#define MAGIC_USED HEAP_USED
#define MAGIC_FREE HEAP_FREE
#define MAGIC_ALIGNED HEAP_ALIGNED
#define block heap_block
#define class_of heap_class_of
#define class_size heap_class_size
#define HEAP_RING 1024u /* blocks in quarantine, at most; a power of two */
#define CACHED_MAX 1032u /* glibc caches freed blocks up to this size, without checking the block after them */

struct free_block {
	struct free_block *next;
	struct free_block *next_batch; /* in the depot: the first block of a batch */
};

struct arena {
	char *cur, *mapped, *limit;
	struct block *last; /* the block before cur */
	uint64_t step;
	char *ask; /* when cur reaches this address, the depot is examined first */
	struct free_block *list[CLASSES], *spare[CLASSES]; /* spare: a full list */
	uint32_t count[CLASSES]; /* blocks in list */
	/* --detect: the quarantine, heap_detect.h */
	char *plain; /* blocks below this may be from before the detection began */
	uint64_t held; /* bytes in it */
	uint32_t in, out; /* of ring, modulo its size */
	struct block *ring[HEAP_RING];
};

static inline uint64_t *word_after(struct block *b)
{
	return (uint64_t *)((char *)(b + 1) + heap_usable_of(heap_block_size(b)));
}

/* At the end of the block's memory, in front of the next block's header. */
static inline uint64_t *word_at_end(struct block *b)
{
	return (uint64_t *)((char *)(b + 1) + class_size(b->cls)) - 1;
}

/*
 * From here on b has n bytes and belongs to the program. Other threads read this when they free the next block. So the
 * words are written before the size, which tells where they are, and the size before the block is marked as used.
 */
static inline void use_block(struct block *b, size_t n)
{
	*word_at_end(b) = HEAP_WORD;
	if (n < HEAP_MAPPED_MIN)
		*(uint64_t *)((char *)(b + 1) + heap_usable_of(n)) = HEAP_WORD;
	__atomic_store_n(&b->size, n, __ATOMIC_RELEASE);
	__atomic_store_n(&b->magic, MAGIC_USED, __ATOMIC_RELEASE);
}

static inline int is_heap(const void *p)
{
	return (uintptr_t)p >= SHIM_HEAP_MAIN_ADDR &&
	       (uintptr_t)p < SHIM_HEAP_ADDR + ((uint64_t)RLOG_MAX_THREADS << 32);
}

/* heap_limit.c: the kernel has refused n more bytes at `at`, the end of an arena. In a replay: did it refuse them? */
void heap_refused(const char *at, uint64_t n);
int heap_was_refused(const char *at, uint64_t n);

extern struct arena heap_shared; /* for threads that the shim did not see start */
extern volatile int heap_shared_lock;
struct arena *heap_other_arena(void);

static inline struct arena *my_arena(void)
{
	struct thr *t = self;

	return likely(t && t->arena) ? t->arena : heap_other_arena();
}

static inline void release_arena(struct arena *a)
{
	if (unlikely(a == &heap_shared))
		__atomic_store_n(&heap_shared_lock, 0, __ATOMIC_RELEASE);
}

/* With --detect: what heap_detect.c does when an arena has grown, and when its thread ends; else 0. */
extern struct heap_detects {
	void (*mapped)(const void *lo, uint64_t n);
	void (*ends)(struct arena *a);
} heap_detects;

/*
 * What glibc would find in place of a word that was a HEAP_WORD or, with --detect, a canary: unchanged bytes count as
 * those of a HEAP_WORD.
 */
uint64_t heap_glibc_word(uint64_t v);

/*
 * The word after b's bytes; also HEAP_WORD if b is not in use, or if another thread has freed or resized it meanwhile.
 */
static inline uint64_t word_of_used(const struct block *b)
{
	for (;;) {
		uint64_t size = __atomic_load_n(&b->size, __ATOMIC_ACQUIRE), n = size & HEAP_SIZE_MASK, v;

		if (__atomic_load_n(&b->magic, __ATOMIC_ACQUIRE) != MAGIC_USED || n >= HEAP_MAPPED_MIN ||
		    b->cls < SMALL_MAX / 16)
			return HEAP_WORD;
		v = __atomic_load_n((const uint64_t *)((const char *)(b + 1) + heap_usable_of(n)), __ATOMIC_ACQUIRE);
		if (likely(v == HEAP_WORD) || heap_glibc_word(v) == HEAP_WORD)
			return HEAP_WORD;
		if (__atomic_load_n(&b->magic, __ATOMIC_ACQUIRE) == MAGIC_USED &&
		    __atomic_load_n(&b->size, __ATOMIC_ACQUIRE) == size)
			return heap_glibc_word(v);
	}
}

/* What glibc would have as the size of b. before: the block before it; NULL: not known. */
static inline uint64_t word_before(const struct block *b, const struct block *before)
{
	uint64_t v = before ? word_of_used(before) : HEAP_WORD;

	if (unlikely(v != HEAP_WORD))
		return v;
	v = ((const uint64_t *)b)[-1];
	return likely(v == HEAP_WORD) ? v : heap_glibc_word(v);
}

/* Ends the program, as glibc does. */
_Noreturn void heap_broken(const char *what);
extern ssize_t (*heap_write)(int fd, const struct iovec *v, int n); /* the wrapper of writev: the report is an event */

struct arena *heap_arena(uint32_t ordinal);
struct arena *heap_arena_main(void);
void heap_init(void);
/* Uses glibc's heap from here on, or the one with canaries; or a sanitizer's, whatever the mode. */
void heap_use(enum rlog_malloc mode);
struct link_map;
int heap_is_in(const struct link_map *m); /* is it the library with an allocator, of which blocks may be? */
uint32_t
heap_check(void); /* a checksum of the lists, which changes with each allocation; for a process without other threads */
void heap_thread_end(struct thr *t); /* makes what the thread has freed available to the others */

/* A block's memory, NULL with errno: there is none. *zero: it is fresh from the kernel. */
void *heap_take(size_t n, int *zero);
void heap_put(struct block *b);
/*
 * Parts of these for heap_detect.c, in an arena that is locked: takes a block of a class, which is not marked as used
 * yet (NULL: no memory); puts a free block into the arena's list.
 */
struct block *heap_take_class(struct arena *a, unsigned c, int *zero);
void heap_list(struct arena *a, struct block *b);
/* The arena of thread `ordinal`, if it ever had one, else NULL. 1: the first thread's; 0: the shared one. */
struct arena *heap_arena_of(uint32_t ordinal);

#endif
