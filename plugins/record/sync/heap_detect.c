/* SPDX-License-Identifier: MIT */
/*
 * heap_detect.c: see heap_detect.h. A block of n bytes:
 *
 *   struct block | n bytes | canaries: to usable_of(n) + 8 | ... | canary |
 *
 * The size in the header has in its upper 16 bits: 0x80 | log2 of the alignment, and 0x80 | a hash of the header, so
 * that a write just in front of the block always changes one of them. Canaries are parts of the word HEAP_CANARY at
 * addresses that 8 divides: a byte is compared with that of its place.
 *
 * Where a block was allocated is known to the recording only, and in memory of its own: in translated code of a replay
 * a call has another return address (dbt/xlate.c).
 *
 * Other threads may run when all blocks are looked at (a parallel recording). What looks damaged is looked at again
 * until header and byte were the same several times.
 */
#include "record/sync/heap_detect.h"
#include "record/core/maps.h"
#include "record/core/own_stack.h"
#include "record/core/state.h"
#include "record/store/log.h"

#include <errno.h>
#include <string.h>

#define QUARANTINE_BYTES (512u << 10) /* of each thread */
#define QUARANTINE_BLOCK (64u << 10) /* larger blocks go to the lists at once */
#define LISTED 16u /* bytes of a block in a list that are not canaries */
#define LOOKS 4 /* at what looks damaged, while others run */
#define KNOWN_MAX RLOG_NOTES
#define HIDDEN_MAX 64u

static int detects;

/* ---- the header ---- */

static inline uint64_t tag_of(const struct block *b, uint64_t n, unsigned log)
{
	return heap_tag((uint64_t)b, n, b->cls, b->before, log);
}

static inline unsigned log_of(uint64_t size)
{
	return (unsigned)(size >> HEAP_SIZE_BITS) & 0x7f;
}

static inline int is_tagged(const struct block *b, uint64_t size)
{
	return heap_is_whole(b, (uint64_t)b, size);
}

/* It may be from before the detection began. */
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

/* ---- canaries ---- */

static inline uint64_t *words(const struct block *b)
{
	return (uint64_t *)(uintptr_t)(b + 1);
}

/* The bytes of the word at n & ~7 from byte n on. */
static inline uint64_t mask_from(size_t n)
{
	return ~0ull << 8 * (n & 7);
}

/* ---- where blocks were allocated ---- */

static int sites; /* such words are kept */

/* Blocks are at least 48 bytes from each other: a word for 32 bytes of the heap. 0: there is none for b. */
static inline uint64_t *site_of(const struct block *b)
{
	uint64_t at = SHIM_SITES_ADDR + ((uint64_t)b - SHIM_HEAP_MAIN_ADDR) / 32 * 8;

	return sites && at < SHIM_HEAP_MAIN_ADDR ? (uint64_t *)at : 0;
}

void detect_mapped(const void *lo, uint64_t n)
{
	uint64_t from = SHIM_SITES_ADDR + (((uint64_t)lo - SHIM_HEAP_MAIN_ADDR) / 4 & ~4095ull);
	uint64_t to = SHIM_SITES_ADDR + ((((uint64_t)lo + n - SHIM_HEAP_MAIN_ADDR) / 4 + 4095) & ~4095ull);

	if (!sites || from >= to || to > SHIM_HEAP_MAIN_ADDR)
		return;
	/* the first page may be there already: what it says of a few blocks is lost */
	if (raw_failed(raw_mmap((void *)from, to - from, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0)))
		sites = 0;
}

/* As use_block of heap.h. */
static inline void set(struct block *b, size_t n, unsigned log)
{
	uint64_t *w = words(b) + n / 8, *end = (uint64_t *)((char *)(b + 1) + usable_of(n)), mask = mask_from(n);

	if (b->magic == MAGIC_FREE)
		__atomic_store_n(&b->magic, HEAP_BUSY, __ATOMIC_RELEASE);
	*word_at_end(b) = HEAP_CANARY;
	*w = (*w & ~mask) | (HEAP_CANARY & mask);
	while (w < end)
		*++w = HEAP_CANARY;
	__atomic_store_n(&b->size, n | tag_of(b, n, log), __ATOMIC_RELEASE);
	__atomic_store_n(&b->magic, MAGIC_USED, __ATOMIC_RELEASE);
}

static const uint8_t *first_byte(const uint64_t *w, uint64_t wrong)
{
	return (const uint8_t *)w + (unsigned)__builtin_ctzll(wrong) / 8;
}

/* The first byte of canaries, from byte lo to n, that is not as it was; 0: all are. */
static inline const uint8_t *wrong_in(const struct block *b, size_t lo, size_t n)
{
	const uint64_t *w = words(b) + lo / 8, *end = words(b) + n / 8;
	uint64_t mask = mask_from(lo);

	for (; w < end; w++, mask = ~0ull)
		if (unlikely((*w ^ HEAP_CANARY) & mask))
			return first_byte(w, (*w ^ HEAP_CANARY) & mask);
	mask &= ~mask_from(n);
	return unlikely((*w ^ HEAP_CANARY) & mask) ? first_byte(w, (*w ^ HEAP_CANARY) & mask) : 0;
}

/* The same behind the block's bytes, from byte lo on. */
static inline const uint8_t *wrong_behind(struct block *b, size_t lo, size_t n)
{
	const uint8_t *p = wrong_in(b, lo > n ? lo : n, usable_of(n) + 8);
	const uint64_t *end = word_at_end(b);

	if (unlikely(p))
		return p;
	return unlikely(*end != HEAP_CANARY) ? first_byte(end, *end ^ HEAP_CANARY) : 0;
}

static inline size_t filled(size_t n)
{
	return n < HEAP_FILL ? n : HEAP_FILL;
}

static inline void fill(struct block *b, size_t n)
{
	uint64_t *w = words(b), *end = w + filled(n) / 8, mask = mask_from(filled(n));

	for (; w < end; w++)
		*w = HEAP_CANARY;
	*w = (*w & mask) | (HEAP_CANARY & ~mask);
}

/* Of a free block: the first byte that was written, LISTED: of one that is in a list. */
static inline const uint8_t *wrong_in_free(struct block *b, size_t n, size_t lo)
{
	const uint8_t *p = filled(n) > lo ? wrong_in(b, lo, filled(n)) : 0;

	return likely(!p) ? wrong_behind(b, lo, n) : p;
}

uint64_t heap_glibc_word(uint64_t v)
{
	uint64_t r = 0;

	if (likely(v == HEAP_CANARY))
		return WORD;
	for (unsigned i = 0; detects && i < 64; i += 8) {
		uint64_t byte = v >> i & 0xff;

		r |= (byte == (HEAP_CANARY >> i & 0xff) ? WORD >> i & 0xff : byte) << i;
	}
	return detects ? r : v;
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

static size_t offset_of(const struct block *b, uint64_t size)
{
	uintptr_t align = 1ul << (log_of(size) & 63), mem = (uintptr_t)(b + 1);

	return log_of(size) ? ((mem + align - 1) & ~(align - 1)) - mem : 0;
}

static uint8_t expected_at(const uint8_t *at)
{
	return (uint8_t)(HEAP_CANARY >> ((uintptr_t)at & 7) * 8);
}

/* A note to be made; under known_lock, and not on the program's stack, which a replay has to have the same. */
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

	if (d->kind == RLOG_DAMAGE_BEFORE && d->at > (uint64_t)(m->b + 1)) /* the header of an address inside */
		d->header = d->at + 1 - sizeof(*m->b);
	if (d->kind != RLOG_DAMAGE_BEFORE || d->header != (uint64_t)m->b)
		off = offset_of(m->b, m->size);
	else if (m->b->cls >= CLASSES || n > class_size(m->b->cls))
		n = 0;
	d->expected = expected_at((const uint8_t *)d->at);
	d->memory = (uint64_t)(m->b + 1) + off;
	d->size = n - off;
	d->site = site_of(m->b) ? *site_of(m->b) : 0;
	if (d->site)
		describe_caller(d->site - 1, d->where, sizeof(d->where));
	note_damage(d);
}

/* b's header says `size`. What follows from it is the same in a replay; the note is the recording's. */
static __attribute__((noinline, cold)) void damaged(struct block *b, uint64_t size, uint32_t kind, uint32_t when,
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

void detect_begin(int recording)
{
	const struct arena *a = heap_arena_of(1);

	detects = 1;
	sites = recording;
	detect_mapped((void *)SHIM_HEAP_MAIN_ADDR, (uint64_t)(a->mapped - (char *)SHIM_HEAP_MAIN_ADDR));
	a = heap_arena_of(0);
	detect_mapped((void *)SHIM_HEAP_ADDR, (uint64_t)(a->mapped - (char *)SHIM_HEAP_ADDR));
	heap_arena_of(0)->plain = heap_arena_of(0)->cur;
	heap_arena_of(1)->plain = heap_arena_of(1)->cur;
}

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
		b = heap_take_class(a, class_of(usable_of(n) + sizeof(uint64_t)), zero);
		if (unlikely(!b)) {
			release_arena(a);
			errno = ENOMEM;
			return 0;
		}
		if (*zero || !(b->size & ~HEAP_SIZE_MASK) || b->cls >= class_of(DROP_MIN))
			break;
		if (unlikely(!is_tagged(b, b->size))) {
			damaged(b, b->size, RLOG_DAMAGE_BEFORE, RLOG_DAMAGE_AT_REUSE, (const uint8_t *)&b->size + 7);
			continue;
		}
		at = wrong_in_free(b, heap_block_size(b), LISTED);
		if (likely(!at))
			break;
		damaged(b, b->size, RLOG_DAMAGE_FREED, RLOG_DAMAGE_AT_REUSE, at);
	}
	if (site_of(b))
		*site_of(b) = (uint64_t)(uintptr_t)site;
	set(b, n, 0);
	release_arena(a);
	return b + 1;
}

void detect_set(struct block *b, void *p, size_t n, size_t align)
{
	set(b, n + (size_t)((char *)p - (char *)(b + 1)),
	    align ? (unsigned)__builtin_ctzll(align) : log_of(b->size));
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
	return usable_of(n + (size_t)((char *)p - (char *)(b + 1))) + sizeof(uint64_t) <= class_size(b->cls);
}

/* The block of p, or 0: the header in front of p is not as it was made. */
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
		damaged(b, b->size, RLOG_DAMAGE_BEFORE, RLOG_DAMAGE_AT_FREE, (const uint8_t *)&b->size + 7);
		return DETECT_DAMAGED;
	}
	size = b->size;
	if (unlikely(b->magic != MAGIC_USED))
		return DETECT_PLAIN;
	if (unlikely(!is_tagged(b, size))) {
		if (is_plain(b))
			return DETECT_PLAIN;
		damaged(b, size, RLOG_DAMAGE_BEFORE, RLOG_DAMAGE_AT_FREE, (const uint8_t *)&b->size + 7);
		return DETECT_DAMAGED;
	}
	at = wrong_behind(b, 0, size & HEAP_SIZE_MASK);
	if (likely(!at))
		return DETECT_INTACT;
	damaged(b, size, RLOG_DAMAGE_BEHIND, RLOG_DAMAGE_AT_FREE, at);
	return DETECT_DAMAGED;
}

/* The oldest one leaves the quarantine. */
static inline void release_one(struct arena *a)
{
	struct block *b = a->ring[a->out % HEAP_RING];
	const uint8_t *at;

	a->held -= class_size(b->cls < CLASSES ? b->cls : 0);
	__atomic_store_n(&a->out, a->out + 1, __ATOMIC_RELEASE);
	if (unlikely(!is_tagged(b, b->size))) {
		damaged(b, b->size, RLOG_DAMAGE_BEFORE, RLOG_DAMAGE_AT_REUSE, (const uint8_t *)&b->size + 7);
		return;
	}
	at = wrong_in_free(b, heap_block_size(b), 0);
	if (unlikely(at))
		damaged(b, b->size, RLOG_DAMAGE_FREED, RLOG_DAMAGE_AT_REUSE, at);
	else
		heap_list(a, b);
}

void detect_release_all(struct arena *a)
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

/* ---- all blocks ---- */

struct hidden { /* memory of the heap that cannot be read: a program may have protected what it got */
	uint64_t lo, hi;
};

struct look {
	struct hidden hidden[HIDDEN_MAX];
	uint32_t nhidden;
};

static int note_hidden(const struct map *m, void *arg)
{
	struct look *k = arg;

	if (m->perms[0] != 'r' && m->hi > SHIM_HEAP_MAIN_ADDR && is_heap((void *)(m->lo > SHIM_HEAP_MAIN_ADDR ? m->lo : SHIM_HEAP_MAIN_ADDR)) &&
	    k->nhidden < HIDDEN_MAX)
		k->hidden[k->nhidden++] = (struct hidden){m->lo, m->hi};
	return k->nhidden == HIDDEN_MAX;
}

/* Behind the hidden memory that [lo, hi) has a part of; 0: it has none. */
static uint64_t behind_hidden(const struct look *k, uint64_t lo, uint64_t hi)
{
	for (uint32_t i = 0; i < k->nhidden; i++)
		if (lo < k->hidden[i].hi && hi > k->hidden[i].lo)
			return k->hidden[i].hi;
	return 0;
}

struct finding {
	uint32_t kind;
	const uint8_t *at;
	uint64_t size;
};

/* The aligned address in b, if there is one. */
static struct block *inner_of(struct block *b, uint64_t size)
{
	size_t off = offset_of(b, size);

	return off ? (struct block *)((char *)(b + 1) + off) - 1 : 0;
}

/* What is wrong with b, whose header is whole; kind 0: nothing. */
static struct finding look_at(struct block *b)
{
	uint64_t size = __atomic_load_n(&b->size, __ATOMIC_ACQUIRE), n = size & HEAP_SIZE_MASK;
	uint16_t magic = __atomic_load_n(&b->magic, __ATOMIC_ACQUIRE);
	struct finding f = {.size = size};
	struct block *inner;

	if (magic == MAGIC_USED) {
		f.at = wrong_behind(b, 0, n);
		f.kind = f.at ? RLOG_DAMAGE_BEHIND : 0;
		inner = inner_of(b, size);
		if (!f.at && inner && (inner->magic != MAGIC_ALIGNED || !is_tagged(inner, inner->size))) {
			f.at = (const uint8_t *)&inner->size + 7;
			f.kind = RLOG_DAMAGE_BEFORE;
		}
	} else if (magic == MAGIC_FREE && b->cls < class_of(DROP_MIN)) {
		f.at = wrong_in_free(b, n, LISTED);
		f.kind = f.at ? RLOG_DAMAGE_FREED : 0;
	}
	return f;
}

static int is_same(const struct finding *a, const struct finding *b)
{
	return a->kind == b->kind && a->at == b->at && a->size == b->size;
}

static void look(struct block *b)
{
	struct finding f = look_at(b), again;

	for (int i = 1; f.kind && G.mt && i < LOOKS; i++) {
		raw0(SYS_sched_yield);
		again = look_at(b);
		if (!is_same(&f, &again)) {
			f = again;
			i = 0;
		}
	}
	if (f.kind)
		damaged(b, f.size, f.kind, RLOG_DAMAGE_AT_END, f.at);
}

static int is_header(const struct block *b, const char *plain)
{
	uint64_t size = __atomic_load_n(&b->size, __ATOMIC_ACQUIRE);

	if ((b->magic != MAGIC_USED && b->magic != MAGIC_FREE && b->magic != HEAP_BUSY) || b->cls >= CLASSES)
		return 0;
	return is_tagged(b, size) || ((const char *)b < plain && !(size & ~HEAP_SIZE_MASK));
}

/* A header that is no header: damaged; or just being made, by a thread that runs: then it is the last. */
static void look_at_header(struct arena *a, struct block *b)
{
	for (int i = 0; G.mt && i < LOOKS; i++) {
		raw0(SYS_sched_yield);
		if (is_header(b, a->plain))
			return;
	}
	if (a->last == b && !b->magic && !b->size)
		return;
	damaged(b, b->size, RLOG_DAMAGE_BEFORE, RLOG_DAMAGE_AT_END, (const uint8_t *)&b->size + 7);
}

static void look_at_arena(struct arena *a, char *first, const struct look *k)
{
	char *end = __atomic_load_n(&a->cur, __ATOMIC_ACQUIRE), *p = first;

	while (p + sizeof(struct block) <= end) {
		struct block *b = (struct block *)p;
		uint64_t behind = behind_hidden(k, (uint64_t)p, (uint64_t)(b + 1));
		size_t size;

		if (behind) { /* the next header that is whole */
			for (p = (char *)behind; p + sizeof(*b) <= end && !is_header((struct block *)p, a->plain); p += 16)
				;
			continue;
		}
		if (!is_header(b, a->plain)) {
			look_at_header(a, b);
			for (p += 16; p + sizeof(*b) <= end && !behind_hidden(k, (uint64_t)p, (uint64_t)p + 16) &&
				      !is_header((struct block *)p, a->plain);
			     p += 16)
				;
			continue;
		}
		size = sizeof(*b) + class_size(b->cls);
		if ((b->size & ~HEAP_SIZE_MASK) && !(k->nhidden && behind_hidden(k, (uint64_t)p, (uint64_t)p + size)))
			look(b);
		p += size;
	}
}

/* The bytes that a list does not use are canaries only as long as they are in quarantine. */
static void look_at_quarantine(struct arena *a, const struct look *k)
{
	uint32_t in = __atomic_load_n(&a->in, __ATOMIC_ACQUIRE);

	for (uint32_t i = __atomic_load_n(&a->out, __ATOMIC_ACQUIRE); i != in; i++) {
		struct block *b = a->ring[i % HEAP_RING];
		const uint8_t *at;
		uint64_t size;

		if (behind_hidden(k, (uint64_t)b, (uint64_t)(b + 1) + HEAP_FILL) || !is_tagged(b, b->size))
			continue;
		size = b->size;
		at = wrong_in_free(b, size & HEAP_SIZE_MASK, 0);
		/* it may have left the quarantine by now */
		if (at && (int32_t)(__atomic_load_n(&a->out, __ATOMIC_ACQUIRE) - i) <= 0)
			damaged(b, size, RLOG_DAMAGE_FREED, RLOG_DAMAGE_AT_END, at);
	}
}

static void look_at_all(void *unused)
{
	struct look all = {.nhidden = 0}, *k = &all;

	(void)unused;
	maps_each(note_hidden, k);
	for (uint32_t i = 0; i < RLOG_MAX_THREADS && i <= (uint32_t)G.next_thread; i++) {
		struct arena *a = heap_arena_of(i);
		uint64_t base = i == 1 ? SHIM_HEAP_MAIN_ADDR : SHIM_HEAP_ADDR + ((uint64_t)i << 32);

		if (!a || !a->cur)
			continue;
		look_at_arena(a, (char *)base + (i > 1 ? HEAP_ARENA_HEAD : 0) + HEAP_FIRST, k);
		look_at_quarantine(a, k);
	}
}

void detect_look_at_all(void)
{
	if (likely(!detects) || G.mode != SHIM_RECORD)
		return;
	if (self)
		own_stack_call(self, look_at_all, 0);
	else
		look_at_all(0);
}
