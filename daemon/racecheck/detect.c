/* SPDX-License-Identifier: MIT */
/* detect.c: see detect.h. */
#include "racecheck/detect.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define PAST_MAX 65536u /* entries that a thread keeps; when there are more, the older half is dropped */

void detect_init(struct detect *d, const struct detect_ops *ops, void *ctx)
{
	memset(d, 0, sizeof(*d));
	d->ops = ops;
	d->renewals = 1;
	d->ctx = ctx;
	shadow_init(&d->shadow);
}

void detect_fini(struct detect *d)
{
	shadow_fini(&d->shadow);
	for (uint32_t i = 0; i < d->nthreads; i++) {
		struct detect_thread *t = &d->threads[i];

		vclock_fini(&t->now);
		for (size_t k = 0; k < t->npast; k++)
			vclock_fini(&t->past[k].knew);
		free(t->past);
	}
	free(d->threads);
	memset(d, 0, sizeof(*d));
}

/* ---- clocks ---- */

static void drop_old(struct detect_thread *t)
{
	size_t half = t->npast / 2;

	for (size_t k = 0; k < half; k++)
		vclock_fini(&t->past[k].knew);
	memmove(t->past, t->past + half, (t->npast - half) * sizeof(*t->past));
	t->npast -= half;
}

/* Notes what the thread knows from its present clock on. */
static void keep(struct detect_thread *t, uint32_t thread)
{
	uint64_t clock = vclock_get(&t->now, thread);
	struct detect_past *last = t->npast ? &t->past[t->npast - 1] : NULL;

	if (last && last->clock == clock) {
		vclock_copy(&last->knew, &t->now);
		return;
	}
	if (t->npast == PAST_MAX)
		drop_old(t);
	if (t->npast == t->cpast) {
		t->cpast = t->cpast ? t->cpast * 2 : 16;
		t->past = xreallocarray(t->past, t->cpast, sizeof(*t->past));
	}
	t->past[t->npast] = (struct detect_past){.clock = clock};
	vclock_copy(&t->past[t->npast++].knew, &t->now);
}

static struct detect_thread *of(struct detect *d, uint32_t thread)
{
	struct detect_thread *t;

	if (thread >= d->nthreads) {
		uint32_t n = thread + 1 > 2 * d->nthreads ? thread + 1 : 2 * d->nthreads;

		d->threads = xreallocarray(d->threads, n, sizeof(*d->threads));
		memset(d->threads + d->nthreads, 0, (n - d->nthreads) * sizeof(*d->threads));
		d->nthreads = n;
	}
	t = &d->threads[thread];
	if (!t->now.n) {
		vclock_set(&t->now, thread, 1);
		keep(t, thread);
	}
	return t;
}

uint64_t detect_clock(struct detect *d, uint32_t thread)
{
	return of(d, thread)->now.v[thread];
}

const struct vclock *detect_now(struct detect *d, uint32_t thread)
{
	return &of(d, thread)->now;
}

/* What was known at this clock must not be relied on any more. */
static void renewed(struct detect *d)
{
	if (!(++d->renewals % DETECT_RENEWALS)) {
		d->renewals++;
		memset(d->recent, 0, sizeof(d->recent));
	}
}

static void turn_to(struct detect *d, uint32_t thread)
{
	if (thread == d->last)
		return;
	renewed(d);
	d->last = thread;
}

void detect_tick(struct detect *d, uint32_t thread)
{
	renewed(d);
	of(d, thread)->now.v[thread]++;
}

void detect_acquire(struct detect *d, uint32_t thread, const struct vclock *from)
{
	struct detect_thread *t = of(d, thread);

	if (vclock_join(&t->now, from))
		keep(t, thread);
}

void detect_release(struct detect *d, uint32_t thread, struct vclock *to)
{
	vclock_join(to, detect_now(d, thread));
	detect_tick(d, thread);
}

void detect_knew(const struct detect *d, uint32_t thread, uint64_t clock, struct vclock *out)
{
	const struct detect_thread *t = &d->threads[thread];
	size_t lo = 0, hi = t->npast;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->past[mid].clock <= clock)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* older than what is kept: this may be too much, but less would miss what the thread knew */
	vclock_copy(out, &t->past[lo ? lo - 1 : 0].knew);
	vclock_set(out, thread, clock);
}

/* ---- one piece of memory ---- */

struct now {
	struct detect *d;
	struct detect_thread *t;
	struct detect_access a;
	uint64_t epoch, addr;
	unsigned len;
	uint64_t var; /* of those bytes, the ones that are looked at */
	unsigned var_len;
	bool renews; /* the thread's next accesses get a later clock than this one */
};

/* The thread does not know of the earlier access: asks what the pair is. */
static void unordered(struct now *n, const struct shadow_mark *m, bool wrote)
{
	struct detect_access was = {.thread = epoch_thread(m->epoch),
				    .clock = epoch_clock(m->epoch),
				    .writes = wrote,
				    .site = m->site,
				    .hits = m->hits,
				    .addr = n->var,
				    .len = n->var_len};
	struct vclock knew = {0};

	enum detect_pair is = n->d->ops->atomic(n->d->ctx, &was, &n->a);

	if (is == DETECT_RACE) {
		n->d->ops->race(n->d->ctx, &was, &n->a);
		return;
	}
	if (!wrote)
		return;
	/* the next load may be one that orders, so it does not count as known */
	n->renews |= is == DETECT_RELAXED;
	if (is == DETECT_RELAXED)
		return;
	/* an access that only writes learns nothing; but a thread that reads both sees that it was later */
	detect_knew(n->d, was.thread, was.clock, &knew);
	detect_acquire(n->d, n->a.thread, &knew);
	vclock_fini(&knew);
}

static void look(struct now *n, const struct shadow_mark *m, bool wrote)
{
	if (m->epoch && !vclock_knows(&n->t->now, m->epoch))
		unordered(n, m, wrote);
}

static struct shadow_mark mark(const struct now *n)
{
	return (struct shadow_mark){n->epoch, n->a.site, n->a.hits};
}

static void share(struct now *n, struct shadow_var *v)
{
	uint32_t number = shadow_reads_new(&n->d->shadow);
	struct shadow_reads *r = shadow_reads_of(&n->d->shadow, number);

	r->cap = 4;
	r->v = xmalloc(r->cap * sizeof(*r->v));
	r->v[r->n++] = v->r;
	r->v[r->n++] = mark(n);
	v->r = (struct shadow_mark){.epoch = SHADOW_SHARED, .site = number};
}

static void add_read(struct now *n, struct shadow_reads *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (epoch_thread(r->v[i].epoch) == n->a.thread) {
			if (r->v[i].epoch != n->epoch)
				r->v[i] = mark(n);
			return;
		}
	if (r->n == r->cap) {
		r->cap *= 2;
		r->v = xreallocarray(r->v, r->cap, sizeof(*r->v));
	}
	r->v[r->n++] = mark(n);
}

static void on_read(struct now *n, struct shadow_var *v)
{
	if (v->w.epoch == n->epoch || v->r.epoch == n->epoch)
		return;
	look(n, &v->w, true);
	if (v->r.epoch == SHADOW_SHARED)
		add_read(n, shadow_reads_of(&n->d->shadow, v->r.site));
	else if (!v->r.epoch || vclock_knows(&n->t->now, v->r.epoch))
		v->r = mark(n);
	else
		share(n, v);
}

static void on_write(struct now *n, struct shadow_var *v)
{
	if (v->w.epoch == n->epoch && !v->r.epoch)
		return;
	look(n, &v->w, true);
	if (v->r.epoch == SHADOW_SHARED) {
		struct shadow_reads *r = shadow_reads_of(&n->d->shadow, v->r.site);

		for (uint32_t i = 0; i < r->n; i++)
			look(n, &r->v[i], false);
		shadow_reads_drop(&n->d->shadow, v->r.site);
	} else {
		look(n, &v->r, false);
	}
	v->r = (struct shadow_mark){0};
	if (v->w.epoch != n->epoch)
		v->w = mark(n);
}

/* ---- accesses ---- */

static bool known(const struct shadow_var *v, uint64_t epoch, bool writes)
{
	return writes ? v->w.epoch == epoch && !v->r.epoch : v->w.epoch == epoch || v->r.epoch == epoch;
}

/* As detect_is_known, by the shadow, for one piece. */
static bool is_known(struct detect *d, uint64_t epoch, uint64_t addr, uint64_t len, bool writes)
{
	unsigned from = addr % 8, n;
	const struct shadow_var *v;
	uint32_t *cell = shadow_cell(&d->shadow, addr, false);

	if (!cell || !*cell)
		return false;
	v = shadow_peek(&d->shadow, *cell, from, (unsigned)len, &n);
	if (!v) {
		/* divided into larger pieces: known if all of these are */
		v = shadow_all(&d->shadow, *cell, &n);
		if (n == 2 && from + len <= 4)
			n = 1;
	}
	for (unsigned i = 0; i < n; i++)
		if (!known(&v[i], epoch, writes))
			return false;
	return true;
}

/*
 * What is known at an epoch stays known: another thread's access comes at an epoch of that thread, after which this
 * thread has another epoch.
 */
bool detect_is_known(struct detect *d, uint32_t thread, uint64_t addr, uint64_t len, bool writes)
{
	uint64_t access, *r;

	if (addr % 8 + len > 8 || addr >> DETECT_ADDR_BITS)
		return false;
	turn_to(d, thread);
	access = addr << 17 | len << 13 | (uint64_t)writes << 12 | d->renewals % DETECT_RENEWALS;
	r = &d->recent[((addr << 1 | writes) * 0x9e3779b97f4a7c15ull >> 40) % DETECT_RECENT];
	if (*r == access)
		return true;
	if (!is_known(d, epoch_of(thread, detect_clock(d, thread)), addr, len, writes))
		return false;
	*r = access;
	return true;
}

static void piece(struct now *n, uint32_t *cell)
{
	unsigned count;
	struct shadow_var *v = shadow_vars(&n->d->shadow, cell, n->addr % 8, n->len, &count);

	n->d->checked++;
	for (unsigned i = 0; i < count; i++) {
		n->var_len = n->len / count;
		n->var = n->addr + i * n->var_len;
		if (n->a.writes)
			on_write(n, &v[i]);
		else
			on_read(n, &v[i]);
	}
	/* all 8 bytes were written at once, so differences between them are gone */
	if (count > 1 && n->len == 8 && n->a.writes)
		shadow_unite(&n->d->shadow, cell);
}

static void each(struct detect *d, const struct detect_access *a, bool make)
{
	struct now n = {.d = d, .a = *a};
	uint64_t end = a->addr + a->len;

	for (n.addr = a->addr; n.addr < end; n.addr += n.len) {
		unsigned room = 8 - n.addr % 8;
		uint32_t *cell = shadow_cell(&d->shadow, n.addr, make);

		if (!cell) /* nothing of this page was ever accessed */
			room = SHADOW_PAGE - n.addr % SHADOW_PAGE;
		n.len = end - n.addr < room ? (unsigned)(end - n.addr) : room;
		if (!cell || (!make && !*cell))
			continue;
		n.t = of(d, a->thread);
		n.epoch = epoch_of(a->thread, a->clock);
		piece(&n, cell);
	}
	if (n.renews)
		detect_tick(d, a->thread);
}

void detect_access(struct detect *d, uint32_t thread, uint64_t addr, uint64_t len, bool writes, uint32_t site,
		   uint32_t hits)
{
	const struct detect_access a = {thread, detect_clock(d, thread), writes, site, hits, addr, len};

	turn_to(d, thread);
	each(d, &a, true);
}

void detect_free(struct detect *d, uint32_t thread, uint64_t addr, uint64_t len, uint32_t site, uint32_t hits)
{
	struct detect_access a = {thread, detect_clock(d, thread), true, site, hits, addr, len};
	uint64_t *pages;
	size_t n;

	renewed(d);
	if (len / SHADOW_PAGE <= d->shadow.pages.n) {
		each(d, &a, false);
		return;
	}
	pages = shadow_pages_in(&d->shadow, addr, len, &n);
	for (size_t i = 0; i < n; i++) {
		uint64_t end = pages[i] + SHADOW_PAGE;

		a.addr = pages[i] > addr ? pages[i] : addr;
		a.len = (end < addr + len ? end : addr + len) - a.addr;
		each(d, &a, false);
	}
	free(pages);
}

void detect_renew(struct detect *d, uint64_t addr, uint64_t len)
{
	renewed(d);
	shadow_drop(&d->shadow, addr, len);
}

void detect_renew_all(struct detect *d)
{
	renewed(d);
	shadow_fini(&d->shadow);
	shadow_init(&d->shadow);
}
