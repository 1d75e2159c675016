/* SPDX-License-Identifier: MIT */
/*
 * merge.c: the k-way merge of a part's logs by end stamp, streaming: each thread has a cursor that
 * decodes one slot ahead, and a heap orders the cursors. See timeline.h for what is cut off and
 * where tails go.
 */
#include <sys/mman.h>

#include "base/alloc.h"
#include "reclog/timeline_priv.h"

static bool later(const struct tl_cursor *a, const struct tl_cursor *b)
{
	return a->key != b->key ? a->key > b->key : a->t->ordinal > b->t->ordinal;
}

void tl_heap_sift(struct tl_cursor **heap, unsigned n, unsigned at)
{
	struct tl_cursor *c;
	unsigned child;

	if (at >= n)
		return;
	c = heap[at];
	while ((child = 2 * at + 1) < n) {
		if (child + 1 < n && later(heap[child], heap[child + 1]))
			child++;
		if (!later(c, heap[child]))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = c;
}

static bool past_limit(const struct tl_limit *l, uint64_t stamp, uint32_t thread)
{
	return l->set && (stamp != l->stamp ? stamp > l->stamp : thread > l->thread);
}

static bool at_limit(const struct tl_limit *l, const struct tl_cursor *c)
{
	return l->set && l->thread == c->t->ordinal && l->index == c->it.index;
}

/* Decodes the cursor's next slot. 1: it has one; 0: its log has ended; -1: damage. */
static int advance(struct tl_merge *m, struct tl_cursor *c, struct err *e)
{
	c->before = c->it;
	c->prev_kind = c->slot.kind;
	switch (reader_next_slot(&c->it, &c->slot, &c->t->marks)) {
	case RLOG_READ_OK:
		break;
	case RLOG_READ_END:
		c->tail = c->slot.events;
		return 0;
	case RLOG_READ_BAD:
		return reader_explain(&c->it, e);
	}
	c->key = c->it.stamp;
	if (past_limit(&m->limit, c->key, c->t->ordinal)) {
		c->cut = true;
		return 0;
	}
	/* The slot is not later than the limit, if there is one: if it ends the process, it is the new limit. */
	if (c->slot.last && (!m->limit.set || m->limit.ends_process))
		m->limit = (struct tl_limit){true, true, c->t->ordinal, c->it.index, c->key};
	return 1;
}

/* ---- tails ---- */

/* Releases that were cut off: an acquire of a tail may have waited for one of them. */
struct lost {
	uint64_t hash[4]; /* set of object hashes */
	bool exit; /* the exit of a thread */
	bool wait; /* a cond wait, which releases a mutex that its record does not name */
	bool any; /* any release */
};

static void lost_add(struct lost *l, const struct rlog_rec *rec)
{
	if (rec->flags & RF_S)
		l->any = true;
	if (rec->kind == RLOG_EXIT)
		l->exit = true;
	if (rec->kind == RLOG_COND_WAIT)
		l->wait = true;
	if ((rec->flags & RF_S) && (rec->flags & RF_H))
		l->hash[rec->hash / 64] |= 1ull << (rec->hash % 64);
}

static bool lost_blocks(const struct lost *l, const struct rlog_rec *rec)
{
	if (rec->kind == RLOG_JOIN)
		return l->exit;
	if (rec->kind == RLOG_LOCK && l->wait)
		return true;
	return (rec->flags & RF_H) && (l->hash[rec->hash / 64] >> (rec->hash % 64) & 1);
}

/* The log is cut off from this place on. Damage behind it does not matter any more. */
static void lose_rest(struct reader_iter it, struct lost *l)
{
	struct rlog_rec rec;

	while (reader_next_record(&it, &rec) == RLOG_READ_OK)
		lost_add(l, &rec);
}

/* How many events of a tail could have happened, and are on the timeline. */
static uint64_t admit(const struct tl_cursor *c, const struct lost *l)
{
	struct reader_iter it = c->before;
	struct rlog_rec rec;
	uint64_t n = 0;

	/* A wait's second half is not an event: it needs a wake-up, and a mutex that no record names. */
	if (l->any && (c->prev_kind == RLOG_COND_WAIT || c->prev_kind == RLOG_BARRIER))
		return 0;
	while (n < c->tail && reader_next_record(&it, &rec) == RLOG_READ_OK) {
		if (!(rec.flags & RF_C))
			continue;
		if (lost_blocks(l, &rec))
			break;
		n++;
	}
	return n;
}

static void place_tails(struct tl_merge *m, const struct lost *l)
{
	for (unsigned i = 0; i < m->part->nthreads; i++) {
		struct tl_cursor *c = &m->cursors[i];
		uint64_t n;

		if (c->in_heap || c->cut || !c->tail)
			continue;
		n = admit(c, l);
		c->t->events += n;
		if (n)
			m->sink(m, c, n, true);
	}
}

/* The slot of `last` ends the process: places all tails before it. */
static void end_process(struct tl_merge *m, const struct tl_cursor *last)
{
	struct lost lost = {0};

	for (unsigned i = 0; i < m->part->nthreads; i++) {
		struct tl_cursor *c = &m->cursors[i];

		if (c == last)
			lose_rest(c->it, &lost);
		else if (c->in_heap || c->cut)
			lose_rest(c->before, &lost);
	}
	place_tails(m, &lost);
}

void tl_emit(struct timeline *tl, const struct tl_part *part, uint32_t thread, uint64_t events)
{
	struct replay_slot *last = tl->nruns > part->first_run ? &tl->runs[tl->nruns - 1] : NULL;

	tl->total += events;
	if (last && last->thread == thread && events <= UINT32_MAX - last->count) {
		last->count += (uint32_t)events;
		return;
	}
	while (events) {
		uint32_t n = events > UINT32_MAX ? UINT32_MAX : (uint32_t)events;

		if (tl->nruns == tl->runs_cap) {
			tl->runs_cap = tl->runs_cap ? tl->runs_cap * 2 : 256;
			tl->runs = xreallocarray(tl->runs, tl->runs_cap, sizeof(*tl->runs));
		}
		tl->runs[tl->nruns++] = (struct replay_slot){thread, n};
		events -= n;
	}
}

/* ---- merge ---- */

static void sink_emit(struct tl_merge *m, struct tl_cursor *c, uint64_t events, bool tail)
{
	tl_emit(m->tl, m->part, c->t->ordinal, events);
}

/* The part begins after its first event, which is on the timeline already. */
static void skip_first(struct tl_cursor *c)
{
	struct rlog_rec rec;

	reader_mark_add(&c->t->marks, (uint64_t)(c->it.p - c->t->log->base), c->it.stamp);
	while (!c->it.index && reader_next_record(&c->it, &rec) == RLOG_READ_OK)
		;
	c->t->events++;
}

static int fill_heap(struct tl_merge *m, struct err *e)
{
	int got;

	m->cursors = xcalloc(m->part->nthreads + 1, sizeof(*m->cursors));
	m->heap = xcalloc(m->part->nthreads + 1, sizeof(*m->heap));
	for (unsigned i = 0; i < m->part->nthreads; i++) {
		struct tl_cursor *c = &m->cursors[i];

		c->t = &m->part->threads[i];
		c->it = reader_begin(c->t->log);
		if (c->t->ordinal == m->part->first_thread)
			skip_first(c);
		if ((got = advance(m, c, e)) < 0)
			return -1;
		if ((c->in_heap = got))
			m->heap[m->heap_n++] = c;
	}
	for (unsigned i = m->heap_n; i-- > 0;)
		tl_heap_sift(m->heap, m->heap_n, i);
	return 0;
}

int tl_merge_part(struct tl_merge *m, struct err *e)
{
	int got;

	if (!m->sink)
		m->sink = sink_emit;
	if (fill_heap(m, e))
		return -1;
	while (m->heap_n) {
		struct tl_cursor *c = m->heap[0];
		bool last = at_limit(&m->limit, c);

		if (last && m->limit.ends_process)
			end_process(m, c);
		c->t->events += c->slot.events;
		m->tl->last_stamp = c->it.stamp;
		m->sink(m, c, c->slot.events, false);
		if (last)
			return 0;
		if ((got = advance(m, c, e)) < 0)
			return -1;
		if (!got) {
			c->in_heap = false;
			m->heap[0] = m->heap[--m->heap_n];
		}
		tl_heap_sift(m->heap, m->heap_n, 0);
	}
	if (!m->limit.set)
		place_tails(m, &(struct lost){0});
	return 0;
}

void tl_merge_fini(struct tl_merge *m)
{
	for (unsigned i = 0; m->cursors && i < m->part->nthreads; i++)
		free(m->cursors[i].keys);
	free(m->cursors);
	free(m->heap);
}
