/* SPDX-License-Identifier: MIT */
/*
 * lookup.c: from event numbers to places in logs. Two arrays over the runs (events before
 * each block of runs; the thread's own events before each run), each thread's list of its runs, and
 * the readers' marks. Built at the first lookup: a replay alone does not need them.
 */
#include <math.h>

#include "base/alloc.h"
#include "reclog/timeline_priv.h"

static struct tl_thread *part_thread(const struct tl_part *part, uint32_t ordinal)
{
	unsigned i = ordinal <= RLOG_MAX_THREADS ? part->by_ordinal[ordinal] : 0;

	return i ? &part->threads[i - 1] : NULL;
}

static void index_part(struct timeline *tl, struct tl_part *part)
{
	uint64_t at = part->first_event, end = part->first_run + part->runs;
	uint64_t *done = xcalloc(part->nthreads + 1, sizeof(*done));

	for (uint64_t i = part->first_run; i < end; i++)
		part_thread(part, tl->runs[i].thread)->nruns++;
	for (unsigned i = 0; i < part->nthreads; i++) {
		struct tl_thread *t = &part->threads[i];

		t->runs = xreallocarray(NULL, t->nruns + 1, sizeof(*t->runs));
		t->nruns = 0;
	}
	for (uint64_t i = part->first_run; i < end; i++) {
		struct tl_thread *t = part_thread(part, tl->runs[i].thread);
		uint64_t *n = &done[t - part->threads];

		t->runs[t->nruns++] = (uint32_t)i;
		tl->run_index[i] = (uint32_t)*n;
		if (!(i % TL_BLOCK))
			tl->block_events[i / TL_BLOCK] = at;
		*n += tl->runs[i].count;
		at += tl->runs[i].count;
	}
	free(done);
}

static void need_index(struct timeline *tl)
{
	if (tl->run_index)
		return;
	tl->run_index = xreallocarray(NULL, tl->nruns + 1, sizeof(*tl->run_index));
	tl->block_events = xreallocarray(NULL, tl->nruns / TL_BLOCK + 1, sizeof(*tl->block_events));
	for (unsigned i = 0; i < tl->nparts; i++)
		index_part(tl, &tl->parts[i]);
}

static int check_number(const struct timeline *tl, uint64_t number, struct err *e)
{
	if (number > tl->base && number <= tl->total)
		return 0;
	if (number && number <= tl->base && tl->cut)
		return err_set(e, ERR_USAGE,
			       "event %lu is not in it: this is a window of a recording (pack --from), and begins at "
			       "event %lu",
			       (unsigned long)number, (unsigned long)tl->base + 1);
	if (number && number <= tl->base)
		return err_set(e, ERR_USAGE,
			       "event %lu is gone: this recording was bounded (--max-log), and begins at event %lu",
			       (unsigned long)number, (unsigned long)tl->base + 1);
	return err_set(e, ERR_USAGE, "there is no event %lu: this timeline has events %lu to %lu",
		       (unsigned long)number, (unsigned long)tl->base + 1, (unsigned long)tl->total);
}

/* The run that holds event `number` (valid), and the events before that run. */
static uint64_t find_run(struct timeline *tl, uint64_t number, uint64_t *before)
{
	uint64_t lo = 0, hi = (tl->nruns - 1) / TL_BLOCK, run, at;

	need_index(tl);
	while (lo < hi) { /* the last block with less than `number` events before it */
		uint64_t mid = lo + (hi - lo + 1) / 2;

		if (tl->block_events[mid] < number)
			lo = mid;
		else
			hi = mid - 1;
	}
	run = lo * TL_BLOCK;
	at = tl->block_events[lo];
	while (at + tl->runs[run].count < number)
		at += tl->runs[run++].count;
	*before = at;
	return run;
}

static unsigned part_of_run(const struct timeline *tl, uint64_t run)
{
	unsigned i = tl->nparts - 1;

	while (i && tl->parts[i].first_run > run)
		i--;
	return i;
}

/* The place of a thread's event in its log. The event that is yet to come may have no mark. */
static struct reader_iter place(const struct tl_thread *t, uint64_t index)
{
	uint64_t m = index / READER_MARK_EVERY;
	const struct reader_mark *mark = &t->marks.mark[m];
	struct reader_iter it = m < t->marks.n ? reader_at(t->log, m * READER_MARK_EVERY, mark->offset, mark->stamp)
					       : reader_begin(t->log);
	struct rlog_rec rec;

	while (it.index < index && reader_next_record(&it, &rec) == RLOG_READ_OK)
		;
	return it;
}

/*
 * When an event took place, as far as the log tells. For an acquire, this is the next stamp of its thread, which
 * determines where its slot is on the timeline; for an event of a tail, it is the end. `it` stands after the event.
 */
#define LOOK_AHEAD 256
static uint64_t event_stamp(const struct timeline *tl, const struct tl_thread *t, struct reader_iter it,
			    const struct rlog_rec *event)
{
	uint64_t before = it.stamp;
	struct rlog_rec rec;

	if (event->flags & RF_S)
		return it.stamp;
	for (unsigned i = 0; i < LOOK_AHEAD; i++) {
		if (it.index >= t->events || reader_next_record(&it, &rec) != RLOG_READ_OK)
			return tl->last_stamp;
		if (rec.flags & RF_S)
			return it.stamp;
	}
	return before;
}

/* Decodes the event at *it, which is `number`. */
static int decode(const struct timeline *tl, const struct tl_part *part, const struct tl_thread *t,
		  struct reader_iter *it, uint64_t number, struct timeline_event *ev, struct err *e)
{
	bool to_come = tl->live && number == tl->total;

	ev->ev = (struct reader_event){.index = it->index, .stamp = it->stamp};
	if (!to_come && reader_next(it, &ev->ev) != RLOG_READ_OK)
		/* cannot happen if the file is unchanged: the record was readable when the timeline was built */
		return reader_explain(it, e);
	ev->where = (struct timeline_where){
		.number = number,
		.process = part->process,
		.thread = t->ordinal,
		.index = ev->ev.index,
		.offset = ev->ev.offset,
		.tid = t->log->head.tid,
	};
	ev->seconds = timeline_seconds(tl, to_come ? tl->last_stamp : event_stamp(tl, t, *it, &ev->ev.rec));
	return 0;
}

int timeline_read(struct timeline *tl, uint64_t number, struct timeline_event *ev, struct err *e)
{
	const struct tl_part *part;
	const struct tl_thread *t;
	struct reader_iter it;
	uint64_t run, before;

	if (check_number(tl, number, e))
		return -1;
	run = find_run(tl, number, &before);
	part = &tl->parts[part_of_run(tl, run)];
	t = part_thread(part, tl->runs[run].thread);
	it = place(t, tl->run_index[run] + (number - before - 1));
	return decode(tl, part, t, &it, number, ev, e);
}

bool timeline_is_interruption(struct timeline *tl, uint64_t number)
{
	struct timeline_event ev;
	struct err ignored;

	return !timeline_read(tl, number, &ev, &ignored) && ev.ev.rec.kind == RLOG_PREEMPT;
}

int timeline_find(struct timeline *tl, uint64_t number, struct timeline_where *w, struct err *e)
{
	struct timeline_event ev;

	if (timeline_read(tl, number, &ev, e))
		return -1;
	*w = ev.where;
	return 0;
}

static uint64_t run_start(const struct timeline *tl, uint64_t run)
{
	uint64_t i = run / TL_BLOCK * TL_BLOCK, at = tl->block_events[run / TL_BLOCK];

	while (i < run)
		at += tl->runs[i++].count;
	return at;
}

static void add_part_threads(struct timeline *tl, const struct tl_part *part, bool own, struct timeline_thread *v,
			     unsigned *n)
{
	for (unsigned i = 0; i < part->nthreads; i++) {
		const struct tl_thread *t = &part->threads[i];
		struct timeline_thread one = {.process = part->process, .ordinal = t->ordinal, .tid = t->log->head.tid};

		if (t->nruns)
			one.first = run_start(tl, t->runs[0]) + 1;
		if (t->nruns || own)
			v[(*n)++] = one;
	}
}

unsigned timeline_threads(struct timeline *tl, struct timeline_thread **out)
{
	unsigned n = 0, max = 0;

	need_index(tl);
	for (unsigned i = 0; i < tl->nparts; i++)
		max += tl->parts[i].nthreads;
	*out = xcalloc(max ? max : 1, sizeof(**out));
	for (unsigned i = tl->nparts; i > 0; i--)
		add_part_threads(tl, &tl->parts[i - 1], i == tl->nparts, *out, &n);
	return n;
}

/* ---- where the remaining part of a bounded recording begins ---- */

/* How many of a thread's events come before event `number`. */
static uint64_t events_before(const struct timeline *tl, const struct tl_thread *t, uint64_t number)
{
	uint64_t lo = 0, hi = t->nruns, into;

	while (lo < hi) { /* searches among the runs that begin before that event */
		uint64_t mid = lo + (hi - lo) / 2;

		if (run_start(tl, t->runs[mid]) + 1 < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return 0;
	into = number - 1 - run_start(tl, t->runs[lo - 1]);
	if (into > tl->runs[t->runs[lo - 1]].count)
		into = tl->runs[t->runs[lo - 1]].count;
	return tl->run_index[t->runs[lo - 1]] + into;
}

/* The place after the record of the last of this many events; *kind: the kind of that event. */
static struct reader_iter records_after(const struct tl_thread *t, uint64_t events, uint8_t *kind)
{
	struct reader_iter it = events ? place(t, events - 1) : reader_begin(t->log);
	struct rlog_rec rec = {0};

	while (it.index < events && reader_next_record(&it, &rec) == RLOG_READ_OK)
		;
	*kind = rec.kind;
	return it;
}

int timeline_start_at(struct timeline *tl, uint64_t number, struct rec_start *s, uint64_t *bytes, struct err *e)
{
	const struct tl_part *part = &tl->parts[tl->nparts - 1];
	struct timeline_where w;

	*s = (struct rec_start){.event = number};
	*bytes = 0;
	if (timeline_find(tl, number, &w, e))
		return -1;
	if (w.process != tl->process)
		return err_set(e, ERR_INTERNAL, "event %lu is one of process %u", (unsigned long)number, w.process);
	s->thread = w.thread;
	s->threads = xcalloc(part->nthreads, sizeof(*s->threads));
	for (unsigned i = 0; i < part->nthreads; i++) {
		const struct tl_thread *t = &part->threads[i];
		uint64_t n = events_before(tl, t, number);
		uint8_t kind, last;
		struct reader_iter it = records_after(t, n, &kind);

		*bytes += (uint64_t)(records_after(t, t->events, &last).p - it.p);
		if (n || t->log->start || t->ordinal == w.thread)
			s->threads[s->nthreads++] = (struct rec_start_thread){
				t->ordinal, (uint64_t)(it.p - t->log->base), it.stamp, kind == RLOG_EXIT};
	}
	return 0;
}

/* ---- forks ---- */

/* The forks of one thread; at most max. A FORK that is found later is in the same run or in a later one. */
static unsigned forks_of(struct timeline *tl, const struct tl_thread *t, struct timeline_fork *v, unsigned max)
{
	struct reader_iter it = reader_begin(t->log);
	uint64_t run = 0, number = 0, index;
	struct rlog_rec rec;
	unsigned n = 0;

	while (n < max && it.index <= t->events && reader_next_record(&it, &rec) == RLOG_READ_OK) {
		if (rec.kind == RLOG_FORK && it.index <= t->events) {
			index = it.index - 1;
			while (run + 1 < t->nruns && tl->run_index[t->runs[run + 1]] <= index)
				run++;
			number = run_start(tl, t->runs[run]) + (index - tl->run_index[t->runs[run]]) + 1;
		} else if (rec.kind == RLOG_FORKED && number) {
			if ((int64_t)rec.op[0] >= 0)
				v[n++] = (struct timeline_fork){(uint32_t)rec.op[1], number};
			number = 0;
		}
	}
	return n;
}

unsigned timeline_forks(struct timeline *tl, unsigned max, struct timeline_fork *v)
{
	struct tl_part *own = &tl->parts[tl->nparts - 1];
	unsigned n = 0;

	need_index(tl);
	for (unsigned i = 0; i < own->nthreads; i++)
		if (own->threads[i].nruns)
			n += forks_of(tl, &own->threads[i], v + n, max - n);
	return n;
}

/* ---- walk ---- */

static void walk_enter_part(struct timeline_walk *w, unsigned part)
{
	unsigned n = w->tl->parts[part].nthreads;

	free(w->its);
	free(w->placed);
	w->its = xcalloc(n + 1, sizeof(*w->its));
	w->placed = xcalloc(n + 1, sizeof(*w->placed));
	w->part = part;
}

int timeline_walk_init(struct timeline_walk *w, struct timeline *tl, uint64_t from, struct err *e)
{
	uint64_t before;

	*w = (struct timeline_walk){.tl = tl, .number = from};
	if (from == tl->total + 1)
		return 0;
	if (check_number(tl, from, e))
		return -1;
	w->run = find_run(tl, from, &before);
	w->left = tl->runs[w->run].count - (from - before - 1);
	walk_enter_part(w, part_of_run(tl, w->run));
	return 0;
}

int timeline_walk_next(struct timeline_walk *w, struct timeline_event *ev, struct err *e)
{
	struct timeline *tl = w->tl;
	const struct tl_part *part;
	const struct tl_thread *t;
	unsigned i;

	if (w->number > tl->total)
		return 0;
	if (!w->left) {
		w->left = tl->runs[++w->run].count;
		while (w->part + 1 < tl->nparts && tl->parts[w->part + 1].first_run <= w->run)
			walk_enter_part(w, w->part + 1);
	}
	part = &tl->parts[w->part];
	t = part_thread(part, tl->runs[w->run].thread);
	i = (unsigned)(t - part->threads);
	if (!w->placed[i]) {
		uint64_t into = tl->runs[w->run].count - w->left;

		w->its[i] = place(t, tl->run_index[w->run] + into);
		w->placed[i] = true;
	}
	w->left--;
	return decode(tl, part, t, &w->its[i], w->number++, ev, e) ? -1 : 1;
}

void timeline_walk_fini(struct timeline_walk *w)
{
	free(w->its);
	free(w->placed);
	*w = (struct timeline_walk){0};
}

/* ---- time and positions ---- */

double timeline_seconds(const struct timeline *tl, uint64_t stamp)
{
	if (!(tl->tsc_hz > 0))
		return -1;
	return stamp < tl->start_stamp ? 0 : (double)(stamp - tl->start_stamp) / tl->tsc_hz;
}

/* The number of the event that the position "start" means. */
static uint64_t start_event(const struct timeline *tl)
{
	return tl->nparts > 1 ? timeline_prefix(tl) : tl->base + 1;
}

/* The last event that is not later than `seconds`. Times do not decrease along the timeline, except in its tails. */
static int event_at(struct timeline *tl, double seconds, uint64_t *event, struct err *e)
{
	uint64_t lo = start_event(tl), hi = tl->total;
	struct timeline_event ev;

	if (!(tl->tsc_hz > 0))
		return err_set(e, ERR_USAGE,
			       "@SECONDS: this recording has no clock; use an event number or a "
			       "percentage");
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo + 1) / 2;

		if (timeline_read(tl, mid, &ev, e))
			return -1;
		if (ev.seconds <= seconds)
			lo = mid;
		else
			hi = mid - 1;
	}
	*event = lo;
	return 0;
}

bool timeline_point_same(const struct timeline_point *a, const struct timeline_point *b)
{
	return a->event == b->event && a->pc == b->pc && a->hits == b->hits;
}

int timeline_resolve(struct timeline *tl, const struct pos *pos, struct timeline_point *p, struct err *e)
{
	uint64_t start = start_event(tl);

	*p = (struct timeline_point){0};
	switch (pos->kind) {
	case POS_START:
		p->event = start;
		return 0;
	case POS_END:
		p->event = tl->total;
		return 0;
	case POS_PC:
		p->pc = pos->pc;
		p->hits = pos->hits;
		/* fall through */
	case POS_EVENT:
		if (pos->event && check_number(tl, pos->event, e))
			return -1;
		p->event = pos->event ? pos->event : start;
		return 0;
	case POS_PERCENT:
		p->event = start + (uint64_t)llround(pos->number / 100 * (double)(tl->total - start));
		return 0;
	case POS_SECONDS:
		return event_at(tl, pos->number, &p->event, e);
	case POS_CKPT:
		break;
	}
	return err_set(e, ERR_USAGE, "no checkpoint %s here", pos->ckpt);
}
