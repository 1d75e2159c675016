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
#include "explain/held.h"
#include "explain/wake.h"
#include "flow/flow.h"
#include "rlog/rlog.h"
#include "timetravel/cursor_int.h"

/* ---- what it waits for ---- */

struct reason {
	struct condition c;
	char *frozen, *good; /* of the condition, and of what holds when it need not wait; malloc'd */
	/* where the return address of the call lies that the condition's function made; 0: it waits in that itself */
	uint64_t caller;
};

static void reason_fini(struct reason *r)
{
	condition_fini(&r->c);
	free(r->frozen);
	free(r->good);
}

/* Reads the condition around the statement that waits. The cursor stands there. 0; 1: there is none; -1. */
static int read_reason(struct explain *x, struct reason *r, struct err *e)
{
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
		if (p.frames[i].signal_handler) /* the thread waits in what the handler interrupted */
			level = (int)i + 1;
	level = failure_with_source(&p, level);
	if (level >= 0)
		condition_at(&p, level, condition_of_wait, &r->c);
	if (r->c.text && !r->c.effects) {
		cleanup_free char *bad = r->c.negated ? str_fmt("!(%s)", r->c.text) : xstrdup(r->c.text),
				  *good = condition_good(&r->c), *plain_bad = condition_expand(&p, level, bad),
				  *plain_good = condition_expand(&p, level, good);

		r->frozen = condition_freeze(&p, level, plain_bad);
		r->good = condition_freeze(&p, level, plain_good);
		if (level > 0 && !gdb_frame_regs(x->g, 0, level, &regs, &ignored))
			r->caller = regs.value[GDB_REG_SP] - 8;
		got = 0;
	}
	inspect_close(&p);
	return got;
}

/* Goes back to the branch because of which the thread waits. 0; 1: it is not reached; -1. */
static int to_test(struct explain *x, const struct vain *v, const struct reason *r, struct err *e)
{
	bool ignored;
	int got = wake_to_event_of(x, v->thread, v->wait, e);

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
	int r = wake_to_event(x, wake, e);

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

/*
 * Goes from the current state to the last write of the memory; *w: its position, pc 0: there is none. 0; 1: not known;
 * -1.
 */
static int last_write_of(struct explain *x, const struct insn_loc *l, struct timeline_point *w, struct err *e)
{
	bool ignored;
	int got = flow_last_write(x, l->addr, l->len, 0, &ignored, e);

	explain_reopen(x);
	*w = (struct timeline_point){0};
	if (got < 0 || got == 2)
		return got < 0 ? -1 : 1;
	if (!got && cursor_where(&x->t, w, e))
		return -1;
	return !got && !w->pc; /* a state that no position names */
}

/* Has nothing written the memory between `test` and the failure? 1; 0: it has, or that is not known; -1. */
static int unchanged_since(struct explain *x, const struct timeline_point *test, const struct insn_loc *l,
			   struct err *e)
{
	struct timeline_point last, before;
	int got = explain_goto_failure(x, e);

	if (!got)
		got = last_write_of(x, l, &last, e);
	if (!got)
		got = cursor_goto_point(&x->t, test, e) ? -1 : last_write_of(x, l, &before, e);
	if (got)
		return got < 0 ? -1 : 0;
	return timeline_point_same(&last, &before);
}

/*
 * Will the test after the wait, or did the one before it, compare a variable with what it was earlier? 1: *l is where
 * that is, and *at where the thread stood; 0: no, or that is not known; -1. Moves.
 */
static int compares_with_earlier(struct explain *x, const struct vain *v, const struct reason *r,
				 struct timeline_point *at, struct insn_loc *l, struct err *e)
{
	bool ignored;
	int got = r->caller ? wake_to_event_of(x, v->thread, v->wait, e) : 1;

	if (!got)
		got = flow_last_write(x, r->caller, 8, 0, &ignored, e);
	if (!got && cursor_where(&x->t, at, e))
		return -1;
	got = got ? (got < 0 ? -1 : 0) : flow_will_compare_with_itself(x, x->t.in.seg.tid, l, e);
	if (got)
		return got;
	explain_reopen(x);
	got = to_test(x, v, r, e);
	if (!got && cursor_where(&x->t, at, e))
		return -1;
	return got || !at->pc ? (got < 0 ? -1 : 0) : flow_compares_with_itself(x, x->t.in.seg.tid, l, e);
}

/*
 * The thread waits for a variable to differ from the value that it read, and nothing has written it since. 1: told, in
 * place of the steps after the first `before`; 0: it waits for something else, or that is not known; -1.
 */
static int tell_change(struct explain *x, const struct vain *v, const struct reason *r, size_t before, struct err *e)
{
	cleanup_free char *text = r->c.negated ? str_fmt("!(%s)", r->c.text) : xstrdup(r->c.text);
	struct timeline_point test;
	size_t n = x->chain.n;
	struct insn_loc l;
	struct inspect p = {0};
	int got = compares_with_earlier(x, v, r, &test, &l, e);

	if (got > 0)
		got = unchanged_since(x, &test, &l, e);
	if (got <= 0)
		return got;
	got = wake_to_event_of(x, v->thread, v->wait, e);
	if (!got)
		got = inspect_open(&p, x, e);
	if (!got) {
		inspect_step(&p, STEP_WAIT, text, NULL, NULL,
			     "thread %u waits here while `%s': it has read the value before, and nothing has changed "
			     "it since",
			     v->thread, text);
		while (n > before)
			explain_drop(x, --n);
		explain_end(x, END_WAKE_UP, "the change for which thread %u waits has not come", v->thread);
	}
	inspect_close(&p);
	return got < 0 ? -1 : !got;
}

/* Moves the last step to before the last `others` ones. */
static void move_last(struct chain *chain, size_t others)
{
	size_t to = chain->n - 1 - others;
	struct step last = chain->v[chain->n - 1];

	memmove(&chain->v[to + 1], &chain->v[to], others * sizeof(last));
	chain->v[to] = last;
}

/* What the thread waited for was there: it came after the thread had checked, or was there all the time. */
static int came_unseen(struct explain *x, const struct vain *v, const struct reason *r, const struct wake *wake,
		       struct err *e)
{
	cleanup_free char *text = r->c.negated ? str_fmt("!(%s)", r->c.text) : xstrdup(r->c.text);
	int got = condition_turned(x, text, r->frozen, "", v->bad, NULL, e);
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
	if (wake->n <= v->wait && last->at.event >= v->wait) {
		explain_end(x, END_WAKE_UP, "what thread %u waits for came while it waited, but nothing woke it",
			    v->thread);
		return 0;
	}
	if (wake->n > v->wait) {
		got = tell_wake(x, v, wake->n, e);
		explain_end(x, END_WAKE_UP,
			    wake->others == WAITED ? "what thread %u waited for had come, but the wake-up went to "
						     "another thread"
			    : wake->others	   ? "what thread %u waited for had come, but the wake-up did not "
						     "wake it"
						   : "what thread %u waited for had come, but the wake-up came when "
						     "it had given up",
			    v->thread);
		return got < 0 ? -1 : 0;
	}
	got = tell_test(x, v, r, e);
	explain_end(x, END_WAKE_UP, "what thread %u waits for came after its test and before its wait", v->thread);
	return got < 0 ? -1 : 0;
}

/* Adds to the chain that all threads which ever woke the waiting one have ended, if they have. 0; -1. */
static int who_is_left(struct explain *x, const struct vain *v, const struct wake *wake, struct err *e)
{
	uint64_t ended = v->others ? 0 : wake_last_ended(x, v, wake);
	int got;

	if (!ended)
		return 0;
	got = held_tell_end(x, ended, e);
	if (!got)
		explain_end_instead(x, END_WAKE_UP, "nobody is left that has ever woken thread %u", v->thread);
	return got < 0 ? -1 : 0;
}

/* What it waits for is not known: adds the last wake-up. */
static int only_wake(struct explain *x, const struct vain *v, const struct wake *wake, struct err *e)
{
	int was = wake->n < v->wait ? wake_waited_at(x, v->thread, v->object, wake->n, e) : WAITED_NOT, got;

	if (was < 0)
		return -1;
	got = tell_wake(x, v, wake->n, e);
	if (!got)
		explain_end(x, END_WAKE_UP,
			    wake->others == WAITED ? "the wake-up went to another thread"
			    : wake->others	   ? "the wake-up did not wake thread %u"
			    : wake->n > v->wait	   ? "the wake-up came when thread %u had given up"
			    : was == WAITED	   ? "thread %u was woken here for the last time, and waited again"
			    : v->semaphore	   ? "the semaphore was posted here for the last time, and thread %u "
						     "waits for one post more"
						   : "the wake-up came before thread %u waited",
			    v->thread);
	if (!got && was == WAITED) /* that wake-up was received: a further one is missing */
		got = who_is_left(x, v, wake, e);
	return got;
}

/* Has the thread that waits made the last step itself? Then it waits for another one to undo that. */
static bool is_own_doing(const struct explain *x, const struct vain *v)
{
	const struct step *last = &x->chain.v[x->chain.n - 1];

	return last->role == STEP_TRANSITION &&
	       json_integer_value(json_object_get(last->thread, "id")) == (json_int_t)v->thread;
}

int vain_explain(struct explain *x, const struct vain *v, struct err *e)
{
	size_t before = x->chain.n;
	struct wake wake = {0};
	struct reason r = {0};
	int got, told;

	if (wake_read(x, v, &wake, e))
		return -1;
	if (wake.may_have_woken)
		return 1;
	got = wake_to_event_of(x, v->thread, v->wait, e);
	if (!got)
		got = read_reason(x, &r, e);
	if (!got) {
		cleanup_free char *good = condition_good(&r.c);

		got = condition_turned(x, good, r.good, "", v->bad, NULL, e);
		if (!got) {
			if (tell_change(x, v, &r, before, e) < 0 && !explain_may_go_on(x, e))
				got = -1;
			explain_end(x, END_TRANSITION, "the statement turned what thread %u waits for", v->thread);
		}
		if (got > 0)
			got = came_unseen(x, v, &r, &wake, e);
	}
	if (got > 0 && wake.n) {
		got = only_wake(x, v, &wake, e);
	} else if (!got && wake.n && wake.n < v->wait) {
		told = tell_wake(x, v, wake.n, e);
		if (!told)
			move_last(&x->chain, x->chain.n - 1 - before);
		got = told < 0 ? -1 : 0;
		if (!told && is_own_doing(x, v))
			got = who_is_left(x, v, &wake, e);
	}
	reason_fini(&r);
	x->found |= !got;
	return got;
}

int vain_is_satisfied(struct explain *x, const struct vain *v, struct err *e)
{
	struct reason r = {0};
	struct inspect p = {0};
	int is = 0, got = wake_to_event_of(x, v->thread, v->wait, e);

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
	    !wake_is_waited_for(ev.ev.rec.kind))
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

/* How often each thread has acquired and released an object. */
struct holdings {
	int *has, *gave; /* by thread */
	bool is_lock; /* no thread has released what it had not acquired */
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

/*
 * Does the thread wait for what it has itself? Such a thread has used the semaphore as a lock before, or is a reader.
 */
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
