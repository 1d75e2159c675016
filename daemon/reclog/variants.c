/* SPDX-License-Identifier: MIT */
/*
 * variants.c: other linear orders than by end stamp, for a replay that diverged: in a program with
 * races, the slot of a thread may have run at any time between its start and its end stamp.
 *
 * First the merge by end stamp (variant 0) gives each slot a key, in that order: a moment between the
 * slot's start and end, but later than the key of each earlier slot that it depends on: its own
 * thread's, and the last release of every object that it touches. Then the slots are merged again
 * by these keys. Objects are told apart by the one-byte hash only; a collision means an order kept
 * without need.
 */
#include "base/alloc.h"
#include "reclog/timeline_priv.h"

/*
 * The last of the variants with random moments. Later ones have all combinations of this: the threads are divided into
 * THREADS_APART classes by their ordinals, and the segments of each class are all put at their starts, or all at their
 * ends.
 */
#define RANDOM_LAST 7u
#define THREADS_APART 3u

struct variant {
	unsigned number;
	uint64_t seed;
	uint64_t released[256]; /* by object hash: the greatest key of a slot that ended in a
				   release */
	uint64_t waited; /* the same for cond waits, which release a mutex that their records do not name */
	uint64_t greatest; /* the greatest key so far */
};

static uint64_t mix64(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

/*
 * Did the segment after this event begin as soon as the event was stamped? After other events, the thread first waited
 * for something: data, a wake-up, another thread.
 */
static bool goes_on_at_once(uint8_t kind)
{
	switch (kind) {
	case RLOG_UNLOCK:
	case RLOG_RWUNLOCK:
	case RLOG_SPIN_UNLOCK:
	case RLOG_LIB_UNLOCK:
	case RLOG_SEM_POST:
	case RLOG_COND_SIGNAL:
	case RLOG_COND_BROADCAST:
	case RLOG_ONCE_DONE:
	case RLOG_DETACH:
	case RLOG_CREATE:
	case RLOG_START:
		return true;
	default:
		return false;
	}
}

static uint64_t max64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The moment that the variant chooses in the slot's segment. */
static uint64_t raw_key(const struct variant *r, const struct tl_cursor *c)
{
	uint64_t start = c->before.stamp, end = c->it.stamp;

	if (!c->nkeys || !goes_on_at_once(c->prev_kind))
		return max64(end, r->greatest + 1);
	if (r->number == 1 || end == start)
		return start;
	if (r->number > RANDOM_LAST)
		return (r->number - RANDOM_LAST) >> (c->t->ordinal % THREADS_APART) & 1 ? end : start;
	return start + mix64(r->seed ^ mix64(r->number) ^ mix64(((uint64_t)c->t->ordinal << 40) ^ c->it.index)) %
			       (end - start + 1);
}

/* The least key with which the slot comes after all that it depends on. */
static uint64_t dependency_key(const struct variant *r, const struct tl_cursor *c)
{
	struct reader_iter it = c->before;
	uint64_t key = c->nkeys ? c->keys[c->nkeys - 1] : 0;
	struct rlog_rec rec;

	while (it.p < c->it.p && reader_next_record(&it, &rec) == RLOG_READ_OK) {
		if ((rec.flags & RF_H) && r->released[rec.hash])
			key = max64(key, r->released[rec.hash] + 1);
		if (rec.kind == RLOG_LOCK && r->waited)
			key = max64(key, r->waited + 1);
		if (rec.kind == RLOG_JOIN)
			key = max64(key, r->greatest + 1);
	}
	return key;
}

/* Notes the key for the object of the slot's last record, which is the stamped one. */
static void note_release(struct variant *r, const struct tl_cursor *c, uint64_t key)
{
	struct reader_iter it = c->before;
	struct rlog_rec rec, last = {0};

	if (c->slot.kind == RLOG_COND_WAIT)
		r->waited = max64(r->waited, key);
	if (!(reader_kind(c->slot.kind)->flags & RF_H))
		return;
	while (it.p < c->it.p && reader_next_record(&it, &rec) == RLOG_READ_OK)
		last = rec;
	r->released[last.hash] = max64(r->released[last.hash], key);
}

static void key_add(struct tl_cursor *c, uint64_t key)
{
	if (c->nkeys == c->keys_cap) {
		c->keys_cap = c->keys_cap ? c->keys_cap * 2 : 64;
		c->keys = xreallocarray(c->keys, c->keys_cap, sizeof(*c->keys));
	}
	c->keys[c->nkeys++] = key;
}

static void sink_key(struct tl_merge *m, struct tl_cursor *c, uint64_t events, bool tail)
{
	struct variant *r = m->sink_data;
	uint64_t key;

	if (tail) {
		c->admitted = events;
		return;
	}
	if (m->limit.set && m->limit.thread == c->t->ordinal && m->limit.index == c->it.index) {
		key_add(c, UINT64_MAX);
		return;
	}
	key = max64(raw_key(r, c), dependency_key(r, c));
	note_release(r, c, key);
	key_add(c, key);
	r->greatest = max64(r->greatest, key);
}

/* Decodes the cursor's next slot and takes its key. false: there is none. */
static bool again(struct tl_cursor *c)
{
	if (c->next_key == c->nkeys || reader_next_slot(&c->it, &c->slot, NULL) != RLOG_READ_OK)
		return false;
	c->key = c->keys[c->next_key++];
	return true;
}

static void emit_tails(struct tl_merge *m)
{
	for (unsigned i = 0; i < m->part->nthreads; i++) {
		struct tl_cursor *c = &m->cursors[i];

		if (c->admitted)
			tl_emit(m->tl, m->part, c->t->ordinal, c->admitted);
		c->admitted = 0;
	}
}

static void merge_by_keys(struct tl_merge *m)
{
	m->heap_n = 0;
	for (unsigned i = 0; i < m->part->nthreads; i++) {
		struct tl_cursor *c = &m->cursors[i];

		c->it = reader_begin(c->t->log);
		if (again(c))
			m->heap[m->heap_n++] = c;
	}
	for (unsigned i = m->heap_n; i-- > 0;)
		tl_heap_sift(m->heap, m->heap_n, i);
	while (m->heap_n) {
		struct tl_cursor *c = m->heap[0];

		if (c->key == UINT64_MAX)
			emit_tails(m);
		tl_emit(m->tl, m->part, c->t->ordinal, c->slot.events);
		if (!again(c))
			m->heap[0] = m->heap[--m->heap_n];
		tl_heap_sift(m->heap, m->heap_n, 0);
	}
	emit_tails(m);
}

int tl_merge_variant(struct timeline *tl, struct tl_part *part, const struct tl_limit *limit,
		     const struct timeline_opts *opts, struct err *e)
{
	struct variant variant = {.number = opts->variant, .seed = opts->seed};
	struct tl_merge m = {.tl = tl, .part = part, .limit = *limit, .sink = sink_key, .sink_data = &variant};
	int r = tl_merge_part(&m, e);

	if (!r)
		merge_by_keys(&m);
	tl_merge_fini(&m);
	return r;
}
