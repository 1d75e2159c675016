/* SPDX-License-Identifier: MIT */
/*
 * heap_look.c: looks at all blocks of the heap with --detect (heap_detect.h).
 *
 * Other threads may run meanwhile (a parallel recording). A block that looks damaged is read again until header and
 * byte have been the same several times.
 */
#include "record/core/maps.h"
#include "record/core/own_stack.h"
#include "record/core/state.h"
#include "record/sync/heap_canary.h"
#include "record/sync/heap_detect.h"

#define LOOKS 4 /* checks of a block that looks damaged, while other threads run */
#define HIDDEN_MAX 64u

struct hidden { /* memory of the heap that cannot be read: a program may protect memory that it allocated */
	uint64_t lo, hi;
};

struct unreadable {
	struct hidden hidden[HIDDEN_MAX];
	uint32_t nhidden;
};

static int note_hidden(const struct map *m, void *arg)
{
	struct unreadable *k = arg;

	if (m->perms[0] != 'r' && m->hi > SHIM_HEAP_MAIN_ADDR &&
	    is_heap((void *)(m->lo > SHIM_HEAP_MAIN_ADDR ? m->lo : SHIM_HEAP_MAIN_ADDR)) && k->nhidden < HIDDEN_MAX)
		k->hidden[k->nhidden++] = (struct hidden){m->lo, m->hi};
	return k->nhidden == HIDDEN_MAX;
}

/* The end of the hidden memory that overlaps [lo, hi); 0: there is none. */
static uint64_t after_hidden(const struct unreadable *k, uint64_t lo, uint64_t hi)
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

/* What is wrong with b, whose header is intact; kind 0: nothing. */
static struct finding look_at(struct block *b)
{
	uint64_t size = __atomic_load_n(&b->size, __ATOMIC_ACQUIRE), n = size & HEAP_SIZE_MASK;
	uint16_t magic = __atomic_load_n(&b->magic, __ATOMIC_ACQUIRE);
	struct finding f = {.size = size};
	struct block *inner;

	if (magic == MAGIC_USED) {
		f.at = wrong_after(b, 0, n);
		f.kind = f.at ? RLOG_DAMAGE_AFTER : 0;
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
		detect_damaged(b, f.size, f.kind, RLOG_DAMAGE_AT_END, f.at);
}

static int is_header(const struct block *b, const char *plain)
{
	uint64_t size = __atomic_load_n(&b->size, __ATOMIC_ACQUIRE);

	if ((b->magic != MAGIC_USED && b->magic != MAGIC_FREE && b->magic != HEAP_BUSY) || b->cls >= CLASSES)
		return 0;
	return is_tagged(b, size) || ((const char *)b < plain && !(size & ~HEAP_SIZE_MASK));
}

/* An invalid header: it is damaged, or a running thread is just writing it. Then it is the last header. */
static void look_at_header(struct arena *a, struct block *b)
{
	for (int i = 0; G.mt && i < LOOKS; i++) {
		raw0(SYS_sched_yield);
		if (is_header(b, a->plain))
			return;
	}
	if (a->last == b && !b->magic && !b->size)
		return;
	detect_damaged(b, b->size, RLOG_DAMAGE_BEFORE, RLOG_DAMAGE_AT_END, (const uint8_t *)&b->size + 7);
}

static void look_at_arena(struct arena *a, char *first, const struct unreadable *k)
{
	char *end = __atomic_load_n(&a->cur, __ATOMIC_ACQUIRE), *p = first;

	while (p + sizeof(struct block) <= end) {
		struct block *b = (struct block *)p;
		uint64_t next = after_hidden(k, (uint64_t)p, (uint64_t)(b + 1));
		size_t size;

		if (next) { /* the next intact header */
			for (p = (char *)next; p + sizeof(*b) <= end && !is_header((struct block *)p, a->plain);
			     p += 16)
				;
			continue;
		}
		if (!is_header(b, a->plain)) {
			look_at_header(a, b);
			for (p += 16; p + sizeof(*b) <= end && !after_hidden(k, (uint64_t)p, (uint64_t)p + 16) &&
				      !is_header((struct block *)p, a->plain);
			     p += 16)
				;
			continue;
		}
		size = sizeof(*b) + class_size(b->cls);
		if ((b->size & ~HEAP_SIZE_MASK) && !(k->nhidden && after_hidden(k, (uint64_t)p, (uint64_t)p + size)))
			look(b);
		p += size;
	}
}

/* The bytes that a list does not use are canaries only as long as they are in quarantine. */
static void look_at_quarantine(struct arena *a, const struct unreadable *k)
{
	uint32_t in = __atomic_load_n(&a->in, __ATOMIC_ACQUIRE);

	for (uint32_t i = __atomic_load_n(&a->out, __ATOMIC_ACQUIRE); i != in; i++) {
		struct block *b = a->ring[i % HEAP_RING];
		const uint8_t *at;
		uint64_t size;

		if (after_hidden(k, (uint64_t)b, (uint64_t)(b + 1) + HEAP_FILL) || !is_tagged(b, b->size))
			continue;
		size = b->size;
		at = wrong_in_free(b, size & HEAP_SIZE_MASK, 0);
		/* it may have left the quarantine by now */
		if (at && (int32_t)(__atomic_load_n(&a->out, __ATOMIC_ACQUIRE) - i) <= 0)
			detect_damaged(b, size, RLOG_DAMAGE_FREED, RLOG_DAMAGE_AT_END, at);
	}
}

static void look_at_all(void *unused)
{
	struct unreadable all = {.nhidden = 0}, *k = &all;

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
	if (likely(!heap_detects.mapped) || G.mode != SHIM_RECORD)
		return;
	if (self)
		own_stack_call(self, look_at_all, 0);
	else
		look_at_all(0);
}
