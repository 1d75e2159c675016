/* SPDX-License-Identifier: MIT */
/*
 * cursor_ahead.c: which of the next segments may have stops? A copy of the moving thread goes on as long as only that
 * thread moves; or a copy of all threads, as long as none begins or ends.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "segcursor/segcursor_int.h"
#include "timetravel/cursor_int.h"
#include "trace/threads.h"

#define FAR_EVENTS 65536 /* at most this many are examined at once */
#define ALL_TIMES 4 /* a copy of all threads, which takes longer, must get this many times further */

int cursor_keep_state(struct cursor *t, struct group_thread *th, struct trace *here, struct err *e)
{
	static const uint64_t none[6];
	uint64_t gadget;
	int64_t ret;

	if (segment_find_gadget(t->group.pid, &gadget, e) || trace_fork(&th->t, gadget, here, e))
		return -1;
	if (!trace_unshare_memory(here, gadget, e) && !trace_syscall(here, gadget, SYS_setsid, none, &ret, e))
		return 0;
	trace_kill(here);
	return -1;
}

/*
 * Does the recorder handle the event in a copy as in the process? It does if no thread begins, ends, or is interrupted.
 * all: the copy has all threads, so the event may be a wait for another one.
 */
static bool is_plain(const struct rlog_rec *r, bool all)
{
	static const uint8_t kinds[] = {RLOG_LOCK,	     RLOG_LOCK_RET,   RLOG_UNLOCK,	RLOG_COND_SIGNAL,
					RLOG_COND_BROADCAST, RLOG_RDLOCK,     RLOG_WRLOCK,	RLOG_RWUNLOCK,
					RLOG_SEM_WAIT,	     RLOG_SEM_POST,   RLOG_SPIN_LOCK,	RLOG_SPIN_UNLOCK,
					RLOG_LIB_LOCK,	     RLOG_LIB_UNLOCK, RLOG_OBJ_DESTROY, RLOG_SEM_GET,
					RLOG_CALL,	     RLOG_SYS};
	static const uint8_t waits[] = {RLOG_COND_WAIT, RLOG_COND_WOKE, RLOG_BARRIER, RLOG_BARRIER_LEFT, RLOG_YIELD};
	static const long ends[] = {SYS_exit, SYS_exit_group, SYS_clone, SYS_clone3, SYS_fork, SYS_vfork, SYS_mprotect};

	if ((!memchr(kinds, r->kind, sizeof(kinds)) && !(all && memchr(waits, r->kind, sizeof(waits)))) ||
	    cursor_changes_memory(r))
		return false;
	for (unsigned i = 0; r->kind == RLOG_SYS && r->nops && i < sizeof(ends) / sizeof(ends[0]); i++)
		if (r->op[0] == (uint64_t)ends[i])
			return false;
	return true;
}

/* The next events. */
struct coming_events {
	uint64_t alone; /* the last one up to which the thread that moves first moves alone */
	uint64_t all; /* the last one up to which all are plain */
	bool preempted; /* the first one interrupts the program's code */
	uint32_t *who; /* FAR_EVENTS; the threads that do them */
};

/* Reads the events after n, up to `to`; unless `all`, only as long as the thread that moves first moves alone. */
static int look_ahead(struct cursor *t, uint64_t n, uint64_t to, bool all, struct coming_events *a, struct err *e)
{
	bool alone = true, plain = true;
	struct timeline_event ev;
	struct timeline_walk w;
	int r = 0;

	if (timeline_walk_init(&w, t->nav->t.tl, n + 1, e))
		return -1;
	a->alone = n + 1;
	a->all = n;
	for (uint64_t i = n; i < to && plain && (all || alone) && (r = timeline_walk_next(&w, &ev, e)) > 0; i++) {
		if (i == n)
			a->preempted = ev.ev.rec.kind == RLOG_PREEMPT;
		a->who[i - n] = ev.where.thread;
		alone &= ev.where.thread == a->who[0];
		plain = is_plain(&ev.ev.rec, true);
		if (alone)
			a->alone = i + 1;
		alone &= is_plain(&ev.ev.rec, false);
		if (plain)
			a->all = i + 1;
	}
	timeline_walk_fini(&w);
	return r < 0 ? -1 : 0;
}

/* The threads of a copy. */
struct copied {
	struct segcur_thread *v; /* the first one has moved last */
	unsigned n;
};

/* Kills the copies: the first thread of a process is reaped after all others. */
static void drop(struct copied *c)
{
	if (c->n) {
		kill(c->v[0].t.pid, SIGKILL);
		trace_reap(c->v[0].t.pid);
	}
	free(c->v);
}

static int add_thread(struct group_thread *th, uint64_t gadget, struct copied *c, struct err *e)
{
	struct segcur_thread *to = &c->v[c->n];
	struct trace_thread s;
	int r;

	to->ordinal = segment_thread_of(th->t.pid, th->t.tid);
	r = trace_thread_save(&th->t, gadget, &s, e) || trace_thread_make(&c->v[0].t, gadget, &s, &to->t, e) ? -1 : 0;
	trace_thread_fini(&s);
	c->n += !r;
	return r;
}

/* Writes the TIDs of the copies into the control page, for the recorder. */
static int tell_tids(const struct copied *c, struct err *e)
{
	for (unsigned i = 0; i < c->n; i++) {
		int32_t tid = c->v[i].t.tid;

		if (trace_write(c->v[0].t.pid,
				REPLAY_CTL_ADDR + offsetof(struct replay_ctl, tid) + c->v[i].ordinal * sizeof(tid),
				&tid, sizeof(tid), e))
			return -1;
	}
	return 0;
}

/* Copies all threads; `first` is the one that has moved. Call drop in any case. */
static int copy_all(struct cursor *t, struct group_thread *first, struct copied *c, struct err *e)
{
	uint64_t gadget;

	c->v = xcalloc(t->group.n, sizeof(*c->v));
	c->v[0].ordinal = segment_thread_of(first->t.pid, first->t.tid);
	if (segment_find_gadget(t->group.pid, &gadget, e) || cursor_keep_state(t, first, &c->v[0].t, e))
		return -1;
	c->n = 1;
	for (unsigned i = 0; i < t->group.n; i++)
		if (t->group.v[i] != first && add_thread(t->group.v[i], gadget, c, e))
			return -1;
	return tell_tids(c, e);
}

/* Are the threads in states that the copies can have, too? */
static bool is_quiet(const struct group *g)
{
	for (unsigned i = 0; i < g->n; i++)
		if (!g->v[i]->t.alive || g->v[i]->pending || g->v[i]->sig || g->v[i]->dying || g->v[i]->fresh)
			return false;
	return true;
}

static int with_all(struct cursor *t, struct group_thread *th, const uint32_t *who, struct segcur_far *f, struct err *e)
{
	uint64_t n = nav_at(t->nav);
	struct copied c = {0};
	int r = copy_all(t, th, &c, e);

	if (!r)
		r = segcur_go_far_all(&t->nav->t, n, c.v, c.n, who, &t->view, &t->breaks, f, e);
	drop(&c);
	return r;
}

static int alone(struct cursor *t, struct group_thread *th, struct segcur_far *f, struct err *e)
{
	struct trace copy;
	int r;

	if (cursor_keep_state(t, th, &copy, e))
		return -1;
	r = segcur_go_far(&t->nav->t, nav_at(t->nav), &copy, &t->view, &t->breaks, f, e);
	segcur_drop(&copy);
	return r;
}

/* Not possible for a segment that ends by preemption, in the middle of the program. */
int cursor_may_stop(struct cursor *t, struct segcur_far *f, struct err *e)
{
	uint64_t n = nav_at(t->nav);
	struct group_thread *th = group_find(&t->group, t->tid);
	cleanup_free uint32_t *who = NULL;
	struct coming_events a = {0};
	bool all;
	int r;

	f->at = n;
	f->found = false;
	if (!th || !th->t.alive || th->pending || th->sig || n >= nav_total(t->nav))
		return CURSOR_MAY_UNKNOWN;
	a.who = who = xcalloc(FAR_EVENTS, sizeof(*who));
	all = f->maybe && t->nav->t.ctl->walks_threads && is_quiet(&t->group);
	if (look_ahead(t, n, f->to < n + FAR_EVENTS ? f->to : n + FAR_EVENTS, all, &a, e))
		return -1;
	if (a.preempted)
		return CURSOR_MAY_UNKNOWN;
	if (all && a.all > n && (a.all - n) / ALL_TIMES > a.alone - n) {
		f->to = a.all;
		r = with_all(t, th, who, f, e);
	} else {
		f->to = a.alone;
		r = alone(t, th, f, e);
	}
	return r ? r : f->at == n;
}
