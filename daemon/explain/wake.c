/* SPDX-License-Identifier: MIT */
/* wake.c: see wake.h. */
#define LOG_DOMAIN "explain"
#include "explain/wake.h"

#include <stdlib.h>

#include "base/log.h"
#include "explain/failure.h"
#include "rlog/rlog.h"
#include "timetravel/cursor_int.h"

bool wake_is_waited_for(uint32_t kind)
{
	return kind == RLOG_COND_WAIT || kind == RLOG_SEM_WAIT;
}

static bool is_wake(const struct rlog_rec *rec, uint8_t hash)
{
	return (rec->kind == RLOG_COND_SIGNAL || rec->kind == RLOG_COND_BROADCAST || rec->kind == RLOG_SEM_POST) &&
	       (rec->flags & RF_H) && rec->hash == hash;
}

int wake_to_event(struct explain *x, uint64_t n, struct err *e)
{
	struct err why;
	int r = cursor_goto_end(&x->t, n - 1, &why);

	if (r >= 0)
		return r;
	if (why.kind == ERR_CANCELLED) {
		*e = why;
		return -1;
	}
	log_info("event %llu: %s", (unsigned long long)n, why.text);
	return 1;
}

#define EVENTS_BACK 8u

int wake_to_event_of(struct explain *x, uint32_t thread, uint64_t n, struct err *e)
{
	struct timeline_where w;
	int r = wake_to_event(x, n, e);

	for (unsigned tries = 0; r == 1 && tries < EVENTS_BACK && --n > nav_first(&x->nav);) {
		if (timeline_find(x->nav.t.tl, n, &w, e))
			return -1;
		if (w.thread != thread || w.process != x->process)
			continue;
		r = wake_to_event(x, n, e);
		tries++;
	}
	return r;
}

enum whose { OF_THIS, OF_ANOTHER, OF_UNKNOWN };

/*
 * The event has only a short hash of its object: is it this object's? The call's first argument tells, where the
 * program has a state before the event. enum whose; -1: cancelled.
 */
static int whose_event(struct explain *x, uint64_t n, uint64_t object, struct err *e)
{
	struct user_regs_struct r;
	struct err ignored;
	int got = wake_to_event(x, n, e);

	if (got)
		return got < 0 ? -1 : OF_UNKNOWN;
	if (explain_regs(x, x->t.in.seg.tid, &r, &ignored) || !visibility_is_shim(&x->t.visibility, r.rip))
		return OF_UNKNOWN;
	if (r.rdi == object)
		return OF_THIS;
	return rlog_hash_addr((const void *)(uintptr_t)r.rdi) == rlog_hash_addr((const void *)(uintptr_t)object)
		       ? OF_ANOTHER
		       : OF_UNKNOWN;
}

#define PAGE 4096u

/* Had another process written there, in memory that they share? It may wake the thread, too. */
static bool is_of_others(const struct rlog_rec *rec, uint64_t object)
{
	return rec->kind == RLOG_PAGE && rec->nops && object - rec->op[0] < PAGE;
}

#define SCAN_EVENTS 2000000u /* at most this many events are read back, ... */
#define SCAN_STATES 64u /* ... and this many states visited */

/*
 * The last wake-up of the object by another thread, up to the event v->until. 0: *wake is that, 0 if there is none, or
 * another process may have made it; 1: it is not known; -1.
 */
static int last_wake(struct explain *x, const struct vain *v, uint64_t *wake, struct err *e)
{
	uint8_t hash = rlog_hash_addr((const void *)(uintptr_t)v->object);
	uint64_t first = nav_first(&x->nav);
	unsigned states = 0;
	struct timeline_event ev;

	*wake = 0;
	for (uint64_t n = v->until; v->object && n > first; n--) {
		int whose;

		if (v->until - n >= SCAN_EVENTS)
			return 1;
		if (timeline_read(x->nav.t.tl, n, &ev, e))
			return -1;
		if (ev.where.process == x->process && is_of_others(&ev.ev.rec, v->object))
			return 0;
		if (ev.where.process != x->process || ev.where.thread == v->thread || !is_wake(&ev.ev.rec, hash))
			continue;
		if (states++ >= SCAN_STATES)
			return 1;
		whose = whose_event(x, n, v->object, e);
		if (whose < 0)
			return -1;
		if (whose == OF_ANOTHER)
			continue;
		*wake = whose == OF_THIS ? n : 0;
		return whose != OF_THIS;
	}
	return 0;
}

int wake_waited_at(struct explain *x, uint32_t thread, uint64_t object, uint64_t n, struct err *e)
{
	uint8_t hash = rlog_hash_addr((const void *)(uintptr_t)object);
	struct timeline_event ev;
	int whose;

	n = failure_event_before(x, thread, n);
	if (!n)
		return WAITED_NOT;
	if (timeline_read(x->nav.t.tl, n, &ev, e))
		return -1;
	if (!wake_is_waited_for(ev.ev.rec.kind) || !(ev.ev.rec.flags & RF_H) || ev.ev.rec.hash != hash)
		return WAITED_NOT;
	whose = whose_event(x, n, object, e);
	if (whose < 0)
		return -1;
	return whose == OF_THIS ? WAITED : whose == OF_ANOTHER ? WAITED_NOT : WAITED_UNKNOWN;
}

/* Did a thread other than the waiting one wait for it? As wake_waited_at. */
static int others_waited_at(struct explain *x, const struct vain *v, uint64_t n, struct err *e)
{
	int any = WAITED_NOT;

	for (uint32_t i = 1; i < RLOG_MAX_THREADS && target_tid(&x->nav.t, i) > 0; i++) {
		int one = i == v->thread ? WAITED_NOT : wake_waited_at(x, i, v->object, n, e);

		if (one < 0 || one == WAITED)
			return one;
		any = one ? one : any;
	}
	return any;
}

static bool is_broadcast(struct explain *x, uint64_t n)
{
	struct timeline_event ev;
	struct err ignored;

	return !timeline_read(x->nav.t.tl, n, &ev, &ignored) && ev.ev.rec.kind == RLOG_COND_BROADCAST;
}

/*
 * May the thread have been woken, but not have gone on since? Not if its time-out had expired; nor if its mutex is free
 * and another thread could have been woken.
 */
static bool may_be_woken(struct explain *x, const struct vain *v, const struct wake *w)
{
	if (v->uncertain && v->limited)
		return true;
	if (v->bad || w->n < v->wait)
		return false;
	return v->uncertain || is_broadcast(x, w->n) || w->others != WAITED;
}

int wake_read(struct explain *x, const struct vain *v, struct wake *w, struct err *e)
{
	int got = last_wake(x, v, &w->n, e), others = WAITED_NOT;

	if (!got && w->n > v->wait)
		others = others_waited_at(x, v, w->n, e);
	if (got < 0 || others < 0)
		return -1;
	w->others = (enum waited)others;
	w->may_have_woken = got || may_be_woken(x, v, w);
	return 0;
}

uint64_t wake_last_ended(struct explain *x, const struct vain *v, const struct wake *w)
{
	uint8_t hash = rlog_hash_addr((const void *)(uintptr_t)v->object);
	struct {
		bool woke;
		uint64_t ended;
	} *of = xcalloc(RLOG_MAX_THREADS, sizeof(*of));
	uint64_t total = nav_total(&x->nav), end;
	uint32_t last = 0;
	bool shared = false, waited = false;
	struct timeline_event ev;
	struct timeline_walk walk;
	struct err ignored;

	if (w->n && v->object && !timeline_walk_init(&walk, x->nav.t.tl, 1, &ignored)) {
		int got;

		while ((got = timeline_walk_next(&walk, &ev, &ignored)) > 0 && ev.where.number <= total) {
			uint32_t thread = ev.where.thread;

			if (ev.where.process != x->process || thread >= RLOG_MAX_THREADS)
				continue;
			if (ev.ev.rec.kind == RLOG_EXIT)
				of[thread].ended = ev.where.number;
			shared |= is_of_others(&ev.ev.rec, v->object);
			of[thread].woke |= thread != v->thread && is_wake(&ev.ev.rec, hash);
			waited |= thread == v->thread && ev.where.number < v->wait &&
				  wake_is_waited_for(ev.ev.rec.kind) && (ev.ev.rec.flags & RF_H) &&
				  ev.ev.rec.hash == hash;
			if (ev.where.number == w->n)
				last = thread;
		}
		timeline_walk_fini(&walk);
		if (got < 0) /* one that wakes it later may be among those that cannot be read */
			last = 0;
	}
	for (uint32_t i = 0; i < RLOG_MAX_THREADS; i++)
		if (of[i].woke && !of[i].ended)
			last = 0;
	end = shared || !waited ? 0 : of[last].ended;
	free(of);
	return end;
}
