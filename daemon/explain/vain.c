/* SPDX-License-Identifier: MIT */
/* vain.c: see vain.h. */
#define LOG_DOMAIN "explain"
#include "explain/vain.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "chain/inspect.h"
#include "explain/condition_search.h"
#include "explain/failure.h"
#include "flow/flow.h"
#include "rlog/rlog.h"
#include "timetravel/cursor_int.h"

/* What one event of another thread gives. */
static const struct {
	uint8_t kind;
	const char *const *calls;
} wakes[] = {
	{RLOG_COND_SIGNAL, (const char *const[]){"pthread_cond_signal", "cnd_signal", NULL}},
	{RLOG_COND_BROADCAST, (const char *const[]){"pthread_cond_broadcast", "cnd_broadcast", NULL}},
	{RLOG_SEM_POST, (const char *const[]){"sem_post", NULL}},
};

static bool waits_for_others(uint32_t kind)
{
	return kind == RLOG_COND_WAIT || kind == RLOG_SEM_WAIT;
}

static bool is_wake(const struct reader_event *ev, uint8_t hash)
{
	for (size_t i = 0; i < sizeof(wakes) / sizeof(wakes[0]); i++)
		if (ev->rec.kind == wakes[i].kind)
			return (ev->rec.flags & RF_H) && ev->rec.hash == hash;
	return false;
}

/* Into the state before an event. 0; 1: its thread has none there; -1. */
static int to_event(struct explain *x, uint64_t n, struct err *e)
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

/* As to_event, of an event of the thread, or of one before: what it does in a call of the kernel has no state in front
 * of it. */
static int to_event_of(struct explain *x, uint32_t thread, uint64_t n, struct err *e)
{
	struct timeline_where w;
	int r = to_event(x, n, e);

	for (unsigned tries = 0; r == 1 && tries < EVENTS_BACK && --n > nav_first(&x->nav);) {
		if (timeline_find(x->nav.t.tl, n, &w, e))
			return -1;
		if (w.thread != thread || w.process != x->process)
			continue;
		r = to_event(x, n, e);
		tries++;
	}
	return r;
}

/*
 * The event has the hash of the object, which is short: is it another one's? The call's first argument says it, where
 * the program has a state in front of the event.
 */
static bool is_of_another(struct explain *x, uint64_t n, uint64_t object)
{
	struct user_regs_struct r;
	struct err ignored;

	return !to_event(x, n, &ignored) && !explain_regs(x, x->t.in.seg.tid, &r, &ignored) && r.rdi != object &&
	       visibility_is_shim(&x->t.visibility, r.rip) &&
	       rlog_hash_addr((const void *)(uintptr_t)r.rdi) == rlog_hash_addr((const void *)(uintptr_t)object);
}

/* The last wake-up of the object by another thread, up to the event v->until. 0: none. */
static uint64_t last_wake(struct explain *x, const struct vain *v)
{
	uint8_t hash = rlog_hash_addr((const void *)(uintptr_t)v->object);
	struct timeline_event ev;
	struct err ignored;

	for (uint64_t n = v->until; v->object && n > nav_first(&x->nav); n--)
		if (!timeline_read(x->nav.t.tl, n, &ev, &ignored) && ev.where.process == x->process &&
		    ev.where.thread != v->thread && is_wake(&ev.ev, hash) && !is_of_another(x, n, v->object))
			return n;
	return 0;
}

/* Was the thread in a wait for the object just before event n? */
static bool waited_at(struct explain *x, uint32_t thread, uint64_t object, uint64_t n)
{
	uint8_t hash = rlog_hash_addr((const void *)(uintptr_t)object);
	struct timeline_event ev;
	struct err ignored;

	n = failure_event_before(x, thread, n);
	return n && !timeline_read(x->nav.t.tl, n, &ev, &ignored) && waits_for_others(ev.ev.rec.kind) &&
	       (ev.ev.rec.flags & RF_H) && ev.ev.rec.hash == hash && !is_of_another(x, n, object);
}

static bool others_waited_at(struct explain *x, const struct vain *v, uint64_t n)
{
	for (uint32_t i = 1; i < RLOG_MAX_THREADS && target_tid(&x->nav.t, i) > 0; i++)
		if (i != v->thread && waited_at(x, i, v->object, n))
			return true;
	return false;
}

static bool is_broadcast(struct explain *x, uint64_t n)
{
	struct timeline_event ev;
	struct err ignored;

	return !timeline_read(x->nav.t.tl, n, &ev, &ignored) && ev.ev.rec.kind == RLOG_COND_BROADCAST;
}

/*
 * May the thread have been woken, and not have gone on since? One whose time was up has not. Nor has one whose mutex is
 * free, if there was another one to be woken.
 */
static bool may_be_woken(struct explain *x, const struct vain *v, uint64_t wake)
{
	if (v->uncertain && v->limited)
		return true;
	if (v->bad || wake < v->wait)
		return false;
	return v->uncertain || is_broadcast(x, wake) || !others_waited_at(x, v, wake);
}

/* ---- what it waits for ---- */

struct reason {
	struct condition c;
	char *frozen, *good; /* of the condition, and of what holds when it need not wait; malloc'd */
	uint64_t caller; /* where the return address of the call is, from the function with the condition; 0: it stands
			    in that itself */
};

static void reason_fini(struct reason *r)
{
	condition_fini(&r->c);
	free(r->frozen);
	free(r->good);
}

/* The condition around the statement that waits. The cursor stands there. 0; 1: there is none; -1. */
static int read_reason(struct explain *x, struct reason *r, struct err *e)
{
	cleanup_free char *good = NULL;
	struct gdb_regs regs;
	struct inspect p = {0};
	struct err ignored;
	int level, got = 1;

	if (inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	level = p.user;
	for (size_t i = 0; i < p.nframes; i++)
		if (p.frames[i].signal_handler) /* what a handler has interrupted is what waits */
			level = (int)i + 1;
	level = failure_with_source(&p, level);
	if (level >= 0)
		condition_at(&p, level, condition_of_wait, &r->c);
	if (r->c.text && !r->c.effects) {
		cleanup_free char *plain = r->c.negated ? str_fmt("!(%s)", r->c.text) : xstrdup(r->c.text);

		good = condition_good(&r->c);
		r->frozen = condition_freeze(&p, level, plain);
		r->good = condition_freeze(&p, level, good);
		if (level > 0 && !gdb_frame_regs(x->g, 0, level, &regs, &ignored))
			r->caller = regs.value[GDB_REG_SP] - 8;
		got = 0;
	}
	inspect_close(&p);
	return got;
}

/* To the branch by which the thread came to wait. 0; 1: it is not met; -1. */
static int to_test(struct explain *x, const struct vain *v, const struct reason *r, struct err *e)
{
	bool ignored;
	int got = to_event_of(x, v->thread, v->wait, e);

	if (!got && r->caller)
		got = flow_last_write(x, r->caller, 8, 0, &ignored, e);
	if (!got)
		got = because_to_branch(x, &r->c, e);
	x->end = got > 0 ? END_OPEN : x->end;
	return got > 0 ? 1 : got;
}

/* ---- what is told ---- */

static int tell_wake(struct explain *x, const struct vain *v, uint64_t wake, struct err *e)
{
	struct inspect p = {0};
	int r = to_event(x, wake, e);

	if (r)
		return r;
	if (inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	if (wake > v->wait)
		inspect_step(&p, STEP_WAKE, NULL, NULL, NULL,
			     "this was the last wake-up, and it did not wake thread %u, which waited (event %llu)",
			     v->thread, (unsigned long long)wake);
	else
		inspect_step(&p, STEP_WAKE, NULL, NULL, NULL,
			     "this was the last wake-up, before thread %u waited for it (event %llu)", v->thread,
			     (unsigned long long)wake);
	inspect_close(&p);
	return 0;
}

static int tell_test(struct explain *x, const struct vain *v, const struct reason *r, struct err *e)
{
	struct inspect p = {0};
	int got = to_test(x, v, r, e);

	if (got)
		return got;
	if (inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	inspect_step(
		&p, STEP_TEST, r->c.text, NULL, NULL,
		"thread %u tested `%s' here, found that it had to wait, and began to wait when that was no longer so",
		v->thread, r->c.text);
	inspect_close(&p);
	return 0;
}

/* The last step becomes the one in front of so many others. */
static void move_last(struct chain *chain, size_t others)
{
	size_t to = chain->n - 1 - others;
	struct step last = chain->v[chain->n - 1];

	memmove(&chain->v[to + 1], &chain->v[to], others * sizeof(last));
	chain->v[to] = last;
}

/* What it waited for was there: since it had looked, or all the time while it slept. */
static int came_unseen(struct explain *x, const struct vain *v, const struct reason *r, uint64_t wake, struct err *e)
{
	cleanup_free char *text = r->c.negated ? str_fmt("!(%s)", r->c.text) : xstrdup(r->c.text);
	int got = condition_turned(x, text, r->frozen, "", v->bad, e);
	const struct step *last;

	if (got)
		return got;
	last = &x->chain.v[x->chain.n - 1];
	if (last->at.event >= v->wait &&
	    json_integer_value(json_object_get(last->thread, "id")) == (json_int_t)v->thread) {
		/* what it has set itself, after its wait, is not what it waited for */
		explain_cut(x, x->chain.n - 1);
		return 1;
	}
	if (wake <= v->wait && last->at.event >= v->wait) {
		explain_end(x, END_WAKE_UP, "what thread %u waits for came while it waited, but nothing woke it",
			    v->thread);
		return 0;
	}
	if (wake > v->wait) {
		got = tell_wake(x, v, wake, e);
		explain_end(x, END_WAKE_UP,
			    others_waited_at(x, v, wake)
				    ? "what thread %u waited for had come, but the wake-up went to another thread"
				    : "what thread %u waited for had come, but the wake-up came when it had given up",
			    v->thread);
		return got < 0 ? -1 : 0;
	}
	got = tell_test(x, v, r, e);
	explain_end(x, END_WAKE_UP, "what thread %u waits for came after its test and before its wait", v->thread);
	return got < 0 ? -1 : 0;
}

int vain_explain(struct explain *x, const struct vain *v, struct err *e)
{
	size_t before = x->chain.n;
	uint64_t wake = last_wake(x, v);
	struct reason r = {0};
	int got, told;

	if (may_be_woken(x, v, wake))
		return 1;
	got = to_event_of(x, v->thread, v->wait, e);
	if (!got)
		got = read_reason(x, &r, e);
	if (!got) {
		got = condition_turned(x, r.c.text, r.good, "", v->bad, e);
		if (!got)
			explain_end(x, END_TRANSITION, "the statement turned what thread %u waits for", v->thread);
		else if (got > 0)
			got = came_unseen(x, v, &r, wake, e);
	}
	if (got > 0 && wake) {
		bool was_woken = wake < v->wait && waited_at(x, v->thread, v->object, wake),
		     other = wake > v->wait && others_waited_at(x, v, wake);

		got = tell_wake(x, v, wake, e);
		if (!got)
			explain_end(x, END_WAKE_UP,
				    other	     ? "the wake-up went to another thread"
				    : wake > v->wait ? "the wake-up came when thread %u had given up"
				    : was_woken	     ? "thread %u was woken here for the last time, and waited again"
				    : v->semaphore   ? "the semaphore was posted here for the last time, and thread %u "
						       "waits for one post more"
						     : "the wake-up came before thread %u waited",
				    v->thread);
	} else if (!got && wake && wake < v->wait) {
		told = tell_wake(x, v, wake, e);
		if (!told)
			move_last(&x->chain, x->chain.n - 1 - before);
		got = told < 0 ? -1 : 0;
	}
	reason_fini(&r);
	x->found |= !got;
	return got;
}

int vain_is_satisfied(struct explain *x, const struct vain *v, struct err *e)
{
	struct reason r = {0};
	struct inspect p = {0};
	int is = 0, got = to_event_of(x, v->thread, v->wait, e);

	if (!got)
		got = read_reason(x, &r, e);
	if (!got)
		got = explain_goto_failure(x, e) || inspect_open(&p, x, e) ? -1 : 0;
	if (!got) {
		cleanup_free char *truth = str_fmt("(%s) ? 1 : 0", r.frozen), *value = inspect_eval(&p, 0, truth);

		is = value && str_eq(value, "0");
	}
	inspect_close(&p);
	reason_fini(&r);
	return got < 0 && !explain_may_go_on(x, e) ? -1 : is;
}

/* ---- time-outs ---- */

/* The event of the thread after event n; the last one, if there is none. */
static uint64_t next_of_thread(struct explain *x, uint32_t thread, uint64_t n)
{
	uint64_t total = nav_total(&x->nav);
	struct timeline_where w;
	struct err ignored;

	while (++n <= total)
		if (!timeline_find(x->nav.t.tl, n, &w, &ignored) && w.thread == thread && w.process == x->process)
			return n;
	return total;
}

int vain_explain_timeout(struct explain *x, struct err *e)
{
	struct vain v = {.thread = x->t.in.seg.thread, .wait = cursor_event(&x->t) + 1};
	pid_t tid = x->t.in.seg.tid;
	struct user_regs_struct r;
	struct timeline_event ev;
	struct timeline_point at;
	cleanup_free char *bad = NULL;
	struct stop stop;

	if (v.wait > nav_total(&x->nav) || timeline_read(x->nav.t.tl, v.wait, &ev, e) ||
	    !waits_for_others(ev.ev.rec.kind))
		return 1;
	if (explain_regs(x, tid, &r, e))
		return -1;
	if (rlog_hash_addr((const void *)(uintptr_t)r.rdi) == ev.ev.rec.hash)
		v.object = r.rdi;
	if (cursor_step(&x->t, tid, &stop, e) || cursor_where(&x->t, &at, e))
		return -1;
	v.until = next_of_thread(x, v.thread, v.wait) - 1;
	bad = str_fmt("%llu/0x%llx#%llu", (unsigned long long)at.event, (unsigned long long)at.pc,
		      (unsigned long long)at.hits);
	v.bad = at.pc ? bad : NULL;
	return vain_explain(x, &v, e);
}

/* ---- semaphores that are used as locks, and locks of readers ---- */

/* What each thread has got of an object, and how often it has given it back. */
struct holdings {
	int *has, *gave; /* by thread */
	bool is_lock; /* nobody has given what it had not got */
};

static void count_one(struct holdings *h, const struct timeline_event *ev)
{
	uint32_t thread = ev->where.thread;

	switch (ev->ev.rec.kind) {
	case RLOG_SEM_WAIT:
		h->has[thread] += ev->ev.rec.op[0] == 0;
		break;
	case RLOG_RDLOCK:
	case RLOG_WRLOCK:
		h->has[thread]++;
		break;
	case RLOG_SEM_POST:
	case RLOG_RWUNLOCK:
		h->is_lock &= --h->has[thread] >= 0;
		h->gave[thread]++;
		break;
	default:
		break;
	}
}

/* One that has used it as a lock before, or is a reader of it, waits for what it has itself. */
static bool waits_for_itself(const struct holdings *h, uint32_t waiter, bool semaphore)
{
	return h->has[waiter] > 0 && (!semaphore || h->gave[waiter] > 0);
}

uint32_t vain_owner(struct explain *x, uint32_t waiter, uint64_t object)
{
	uint8_t hash = rlog_hash_addr((const void *)(uintptr_t)object);
	uint64_t total = nav_total(&x->nav);
	struct holdings h = {.has = xcalloc(RLOG_MAX_THREADS, sizeof(*h.has)),
			     .gave = xcalloc(RLOG_MAX_THREADS, sizeof(*h.gave)),
			     .is_lock = true};
	uint32_t owner = 0, owners = 0;
	bool semaphore = false;
	struct timeline_event ev;
	struct timeline_walk w;
	struct err ignored;

	if (!timeline_walk_init(&w, x->nav.t.tl, 1, &ignored)) {
		while (timeline_walk_next(&w, &ev, &ignored) > 0 && ev.where.number <= total) {
			if (ev.where.process != x->process || !(ev.ev.rec.flags & RF_H) || ev.ev.rec.hash != hash ||
			    ev.where.thread >= RLOG_MAX_THREADS)
				continue;
			semaphore |= ev.ev.rec.kind == RLOG_SEM_WAIT || ev.ev.rec.kind == RLOG_SEM_POST;
			count_one(&h, &ev);
		}
		timeline_walk_fini(&w);
	}
	for (uint32_t i = 1; i < RLOG_MAX_THREADS; i++)
		if (h.has[i] > 0 && (i != waiter || waits_for_itself(&h, waiter, semaphore))) {
			owner = i;
			owners++;
		}
	free(h.has);
	free(h.gave);
	return h.is_lock && owners == 1 ? owner : 0;
}
