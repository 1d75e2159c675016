/* SPDX-License-Identifier: MIT */
/*
 * heap_detect.c: see heap_detect.h, and heap_canary.h for the layout.
 *
 * Where a block was allocated is noted only while recording, and in memory outside of the heap: in translated code of
 * a replay, a call has another return address (dbt/xlate.c).
 */
#include "record/sync/heap_detect.h"
#include "record/core/maps.h"
#include "record/core/own_stack.h"
#include "record/core/state.h"
#include "record/store/log.h"
#include "record/sync/heap_canary.h"

#include <errno.h>

#define QUARANTINE_BYTES (256u << 10) /* of each thread */
#define QUARANTINE_BLOCK (64u << 10) /* larger blocks go to the lists at once */
#define AHEAD 6u /* this many blocks that will leave the quarantine next are prefetched */
#define KNOWN_MAX RLOG_NOTES

/* ---- headers and canaries ---- */

/* May the block be from before the detection began? */
static int is_plain(const struct block *b)
{
	const struct arena *a;
	uint32_t ordinal = 0;

	if (b->size & ~HEAP_SIZE_MASK)
		return 0;
	if ((uintptr_t)b < SHIM_HEAP_ADDR)
		ordinal = 1;
	else if ((uintptr_t)b >= SHIM_HEAP_ADDR + (1ull << 32))
		return 0;
	a = heap_arena_of(ordinal);
	return (const char *)b < a->plain;
}

/* As use_block of heap.h. */
static inline void set(struct block *b, size_t n, unsigned log)
{
	uint64_t *w = words(b) + n / 8, *end = (uint64_t *)((char *)(b + 1) + heap_usable_of(n)), mask = mask_from(n);

	if (b->magic == MAGIC_FREE)
		__atomic_store_n(&b->magic, HEAP_BUSY, __ATOMIC_RELEASE);
	*word_at_end(b) = HEAP_CANARY;
	*w = (*w & ~mask) | (HEAP_CANARY & mask);
	while (w < end)
		*++w = HEAP_CANARY;
	__atomic_store_n(&b->size, n | tag_of(b, n, log), __ATOMIC_RELEASE);
	__atomic_store_n(&b->magic, MAGIC_USED, __ATOMIC_RELEASE);
}

static inline void fill(struct block *b, size_t n)
{
	uint64_t *w = words(b), *end = w + filled(n) / 8, mask = mask_from(filled(n));

	for (; w < end; w++)
		*w = HEAP_CANARY;
	*w = (*w & mask) | (HEAP_CANARY & ~mask);
}

/* ---- where blocks were allocated ---- */

static int sites; /* call sites are noted */

/*
 * Blocks are at least 48 bytes apart: for each 32 bytes of the heap, there is a word for the lower half of the address
 * after the call. 0: there is none for b.
 */
static inline uint32_t *site_of(const struct block *b)
{
	uint64_t at = SHIM_SITES_ADDR + ((uint64_t)b - SHIM_HEAP_MAIN_ADDR) / 32 * 4;

	return likely(sites) ? (uint32_t *)at : 0;
}

/* The heap has grown by n bytes at lo. Words that the first page has already are lost. */
static void mapped(const void *lo, uint64_t n)
{
	uint64_t from = SHIM_SITES_ADDR + (((uint64_t)lo - SHIM_HEAP_MAIN_ADDR) / 8 & ~4095ull);
	uint64_t to = SHIM_SITES_ADDR + ((((uint64_t)lo + n - SHIM_HEAP_MAIN_ADDR) / 8 + 4095) & ~4095ull);

	if (!sites || from >= to)
		return;
	if (raw_failed(raw_mmap((void *)from, to - from, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0)))
		sites = 0;
	else if (to - from >= HUGE)
		raw3(SYS_madvise, from, to - from, MADV_HUGEPAGE);
}

/* Completes the lower half of an address to one that is in code. */
static int complete_site(const struct map *m, void *site)
{
	uint64_t *at = site, whole = (m->lo & ~0xffffffffull) | *at;

	if (m->perms[2] != 'x')
		return 0;
	if (whole < m->lo)
		whole += 1ull << 32;
	if (whole >= m->hi)
		return 0;
	*at = whole;
	return 1;
}

/* ---- what is found ---- */

static uint64_t known[KNOWN_MAX]; /* blocks that a note was made for, of this process or of those it was forked from */
static uint32_t known_count;
static volatile int known_lock;

static int is_known(uint64_t block)
{
	for (uint32_t i = 0; i < known_count && i < KNOWN_MAX; i++)
		if (known[i] == block)
			return 1;
	if (known_count < KNOWN_MAX)
		known[known_count] = block;
	known_count++;
	return 0;
}

static uint8_t expected_at(const uint8_t *at)
{
	return (uint8_t)(HEAP_CANARY >> ((uintptr_t)at & 7) * 8);
}

/*
 * The note that is being made; protected by known_lock. It is not on the program's stack, which must be the same in a
 * replay.
 */
static struct made {
	struct rlog_damage d;
	struct block *b;
	uint64_t size;
} made;

static void make_note(void *arg)
{
	struct made *m = arg;
	struct rlog_damage *d = &m->d;
	size_t off = 0, n = m->size & HEAP_SIZE_MASK;

	if (d->kind == RLOG_DAMAGE_BEFORE && d->at > (uint64_t)(m->b + 1)) /* an inner header, for an aligned address */
		d->header = d->at + 1 - sizeof(*m->b);
	if (d->kind != RLOG_DAMAGE_BEFORE || d->header != (uint64_t)m->b)
		off = offset_of(m->b, m->size);
	else if (m->b->cls >= CLASSES || n > class_size(m->b->cls))
		n = 0;
	d->expected = expected_at((const uint8_t *)d->at);
	d->memory = (uint64_t)(m->b + 1) + off;
	d->size = n - off;
	d->site = site_of(m->b) ? *site_of(m->b) : 0;
	if (d->site && maps_each(complete_site, &d->site) == 1)
		describe_caller(d->site - 1, d->where, sizeof(d->where));
	else
		d->site = 0;
	note_damage(d);
}

/* b's header contains `size`. The consequences are the same in a replay; only the recording makes a note. */
__attribute__((noinline, cold)) void detect_damaged(struct block *b, uint64_t size, uint32_t kind, uint32_t when,
						    const uint8_t *at)
{
	struct thr *t = self;
	int outside = t && !t->depth;

	if (G.mode != SHIM_RECORD || !G.control)
		return;
	if (outside) {
		t->selector = 0;
		t->depth = 1;
	}
	while (__atomic_exchange_n(&known_lock, 1, __ATOMIC_ACQUIRE))
		raw0(SYS_sched_yield);
	if (!is_known((uint64_t)b)) {
		made = (struct made){.d = {.kind = kind,
					   .when = when,
					   .header = (uint64_t)b,
					   .at = (uint64_t)at,
					   .found = *at,
					   .thread = when == RLOG_DAMAGE_AT_END || !t ? 0 : t->ordinal},
				     .b = b,
				     .size = size};
		if (t)
			own_stack_call(t, make_note, &made);
		else
			make_note(&made);
	}
	__atomic_store_n(&known_lock, 0, __ATOMIC_RELEASE);
	if (outside) {
		t->depth = 0;
		t->selector = 1;
	}
}

/* ---- allocating and freeing ---- */

void *detect_take(size_t n, int *zero, const void *site)
{
	struct arena *a;
	struct block *b;
	const uint8_t *at;

	if (unlikely(n > (1ull << 42))) {
		errno = ENOMEM;
		return 0;
	}
	a = my_arena();
	for (;;) {
		b = heap_take_class(a, class_of(heap_usable_of(n) + sizeof(uint64_t)), zero);
		if (unlikely(!b)) {
			release_arena(a);
			errno = ENOMEM;
			return 0;
		}
		/* other blocks were checked when they left the quarantine */
		if (likely(b->cls < class_of(QUARANTINE_BLOCK)) || *zero || !(b->size & ~HEAP_SIZE_MASK) ||
		    b->cls >= class_of(DROP_MIN))
			break;
		if (unlikely(!is_tagged(b, b->size))) {
			detect_damaged(b, b->size, RLOG_DAMAGE_BEFORE, RLOG_DAMAGE_AT_REUSE,
				       (const uint8_t *)&b->size + 7);
			continue;
		}
		at = wrong_in_free(b, heap_block_size(b), LISTED);
		if (likely(!at))
			break;
		detect_damaged(b, b->size, RLOG_DAMAGE_FREED, RLOG_DAMAGE_AT_REUSE, at);
	}
	if (site_of(b))
		*site_of(b) = (uint32_t)(uintptr_t)site;
	set(b, n, 0);
	release_arena(a);
	return b + 1;
}

void detect_set(struct block *b, void *p, size_t n, size_t align)
{
	set(b, n + (size_t)((char *)p - (char *)(b + 1)), align ? (unsigned)__builtin_ctzll(align) : log_of(b->size));
}

void detect_set_aligned(struct block *b, void *p)
{
	struct block *h = (struct block *)p - 1;
	size_t off = (size_t)((char *)p - (char *)(b + 1));

	h->magic = MAGIC_ALIGNED;
	h->cls = 0;
	h->before = 0;
	h->size = off | tag_of(h, off, 0);
}

int detect_fits(void *p, size_t n)
{
	struct block *b = (struct block *)p - 1;

	if (b->magic == MAGIC_ALIGNED)
		b = (struct block *)((char *)p - heap_block_size(b)) - 1;
	return heap_usable_of(n + (size_t)((char *)p - (char *)(b + 1))) + sizeof(uint64_t) <= class_size(b->cls);
}

/* The block of p, or 0: the header before p was changed. */
static inline struct block *header_of(void *p)
{
	struct block *b = (struct block *)p - 1;

	if (likely(b->magic != MAGIC_ALIGNED))
		return b;
	return is_tagged(b, b->size) ? (struct block *)((char *)p - heap_block_size(b)) - 1 : 0;
}

enum detect_state detect_look(void *p)
{
	struct block *b;
	const uint8_t *at;
	uint64_t size;

	if (unlikely(((uintptr_t)p & 15) || !is_heap(p)))
		return DETECT_PLAIN;
	b = header_of(p);
	if (unlikely(!b)) {
		b = (struct block *)p - 1;
		detect_damaged(b, b->size, RLOG_DAMAGE_BEFORE, RLOG_DAMAGE_AT_FREE, (const uint8_t *)&b->size + 7);
		return DETECT_DAMAGED;
	}
	size = b->size;
	if (unlikely(b->magic != MAGIC_USED))
		return DETECT_PLAIN;
	if (unlikely(!is_tagged(b, size))) {
		if (is_plain(b))
			return DETECT_PLAIN;
		detect_damaged(b, size, RLOG_DAMAGE_BEFORE, RLOG_DAMAGE_AT_FREE, (const uint8_t *)&b->size + 7);
		return DETECT_DAMAGED;
	}
	at = wrong_after(b, 0, size & HEAP_SIZE_MASK);
	if (likely(!at))
		return DETECT_INTACT;
	detect_damaged(b, size, RLOG_DAMAGE_AFTER, RLOG_DAMAGE_AT_FREE, at);
	return DETECT_DAMAGED;
}

/* Takes the oldest block out of the quarantine. */
static inline void release_one(struct arena *a)
{
	struct block *b = a->ring[a->out % HEAP_RING];
	const uint8_t *at;

	__builtin_prefetch(a->ring[(a->out + AHEAD) % HEAP_RING]);
	__builtin_prefetch((char *)a->ring[(a->out + AHEAD) % HEAP_RING] + 64);
	a->held -= class_size(b->cls < CLASSES ? b->cls : 0);
	__atomic_store_n(&a->out, a->out + 1, __ATOMIC_RELEASE);
	if (unlikely(!is_tagged(b, b->size))) {
		detect_damaged(b, b->size, RLOG_DAMAGE_BEFORE, RLOG_DAMAGE_AT_REUSE, (const uint8_t *)&b->size + 7);
		return;
	}
	at = wrong_in_free(b, heap_block_size(b), 0);
	if (unlikely(at))
		detect_damaged(b, b->size, RLOG_DAMAGE_FREED, RLOG_DAMAGE_AT_REUSE, at);
	else
		heap_list(a, b);
}

static void release_all(struct arena *a)
{
	while (a->in != a->out)
		release_one(a);
}

void detect_free(void *p)
{
	struct block *b = header_of(p);
	struct arena *a;

	if (b->cls >= class_of(DROP_MIN)) {
		heap_put(b);
		return;
	}
	fill(b, heap_block_size(b));
	__atomic_store_n(&b->magic, MAGIC_FREE, __ATOMIC_RELEASE);
	a = my_arena();
	if (class_size(b->cls) > QUARANTINE_BLOCK) {
		heap_list(a, b);
	} else {
		if (a->in - a->out == HEAP_RING)
			release_one(a);
		a->ring[a->in % HEAP_RING] = b;
		__atomic_store_n(&a->in, a->in + 1, __ATOMIC_RELEASE);
		a->held += class_size(b->cls);
		while (a->held > QUARANTINE_BYTES)
			release_one(a);
	}
	release_arena(a);
}

void detect_keep(struct block *b)
{
	b->magic = MAGIC_FREE;
}

void detect_begin(int recording)
{
	const struct arena *a = heap_arena_of(1);

	heap_detects = (struct heap_detects){mapped, release_all};
	sites = recording;
	mapped((void *)SHIM_HEAP_MAIN_ADDR, (uint64_t)(a->mapped - (char *)SHIM_HEAP_MAIN_ADDR));
	a = heap_arena_of(0);
	mapped((void *)SHIM_HEAP_ADDR, (uint64_t)(a->mapped - (char *)SHIM_HEAP_ADDR));
	heap_arena_of(0)->plain = heap_arena_of(0)->cur;
	heap_arena_of(1)->plain = heap_arena_of(1)->cur;
}
