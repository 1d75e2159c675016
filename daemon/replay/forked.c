/* SPDX-License-Identifier: MIT */
/* forked.c: see forked.h. */
#include "replay/forked.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/str.h"
#include "launch/landlock.h"
#include "replay/segment.h"
#include "trace/group.h"
#include "trace/threads.h"

struct forked {
	uint64_t event;
	struct trace held; /* the fork: its one thread, which is a copy of the process's first one */
	uint64_t gadget;
	struct replay_ctl *ctl;
	struct trace_thread *v; /* the threads, the first one first */
	unsigned n;
};

/* ---- what a fork does not have ---- */

static bool says(const char *path, const char *const *what)
{
	cleanup_buf struct buf b = {0};
	struct err ignored;

	if (read_file(path, &b, &ignored))
		return true;
	for (; *what; what++)
		if (strstr(buf_str(&b), *what))
			return true;
	return false;
}

/* "SigPnd:\t0000000000000000" */
static bool is_pending(const char *path, const char *key)
{
	cleanup_buf struct buf b = {0};
	struct err ignored;
	const char *at;

	if (read_file(path, &b, &ignored) || !(at = strstr(buf_str(&b), key)))
		return true;
	at += strlen(key);
	return at[strspn(at, "0")] != '\n';
}

static bool has_signals(pid_t pid)
{
	cleanup_free char *folder = str_fmt("/proc/%d/task", (int)pid);
	cleanup_closedir DIR *dir = opendir(folder);
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		cleanup_free char *path = str_fmt("%s/%s/status", folder, d->d_name);

		if (d->d_name[0] != '.' && (is_pending(path, "\nSigPnd:\t") || is_pending(path, "\nShdPnd:\t")))
			return true;
	}
	return !dir;
}

/* MADV_DONTFORK, MADV_WIPEONFORK: "VmFlags: ... dc", "wf" (proc_pid_smaps(5)) */
static bool has_unforkable(pid_t pid)
{
	static const char *const flags[] = {" dc ", " wf ", NULL};
	cleanup_free char *path = str_fmt("/proc/%d/smaps", (int)pid);

	return says(path, flags);
}

static bool can_be_taken(const struct target *t)
{
	const struct replay_ctl *c = t->ctl;

	return c->learns_ids && (c->state == REPLAY_PARKED || c->state == REPLAY_ENDED) &&
	       !(t->flags & (REPLAY_F_OUTPUT | REPLAY_F_LIVE)) && landlock_version() >= LANDLOCK_SIGNALS &&
	       !has_signals(t->pid) && !has_unforkable(t->pid);
}

/* ---- one ---- */

static void forked_free(struct forked *f)
{
	if (f->held.alive)
		trace_kill(&f->held);
	for (unsigned i = 0; i < f->n; i++)
		trace_thread_fini(&f->v[i]);
	free(f->v);
	free(f->ctl);
	free(f);
}

static int save_threads(struct forked *f, struct group *g, struct group_thread *first, struct err *e)
{
	f->v = xcalloc(g->n, sizeof(*f->v));
	f->n = 1;
	if (trace_thread_save(&first->t, f->gadget, &f->v[0], e))
		return -1;
	for (unsigned i = 0; i < g->n; i++) {
		if (g->v[i] == first || g->v[i]->dying)
			continue;
		if (trace_thread_save(&g->v[i]->t, f->gadget, &f->v[f->n++], e))
			return -1;
	}
	return 0;
}

static int take_held(struct forked *f, struct target *t, struct group *g, struct err *e)
{
	struct group_thread *first = group_find(g, t->pid);

	if (!first || !first->t.alive)
		return err_set(e, ERR_HOST, "the first thread of process %d has ended", (int)t->pid);
	if (segment_find_gadget(t->pid, &f->gadget, e) || save_threads(f, g, first, e))
		return -1;
	f->ctl = xmalloc(sizeof(*f->ctl));
	memcpy(f->ctl, t->ctl, sizeof(*f->ctl));
	f->event = t->ctl->turn;
	return trace_fork(&first->t, f->gadget, &f->held, e);
}

static int take(struct forked *f, struct target *t, struct err *e)
{
	struct group g = {0};
	struct err why;
	int r;

	if (trace_prepare(true, e))
		return -1;
	r = group_seize(&g, t->pid, e) || take_held(f, t, &g, e) ? -1 : 0;
	if (group_let_go(&g, r ? &why : e))
		r = -1;
	return segment_end_tracing(r ? &why : e) ? -1 : r;
}

/* ---- going back ---- */

static void move_tid(struct replay_ctl *c, pid_t was, pid_t now)
{
	for (unsigned i = 0; i < RLOG_MAX_THREADS; i++)
		if (c->tid[i] == was)
			c->tid[i] = now;
}

/* The other threads are made first, stopped: none runs before all exist. */
static int make_threads(const struct forked *f, struct trace *first, struct trace *others, struct replay_ctl *c,
			struct err *e)
{
	move_tid(c, f->v[0].tid, first->tid);
	if (trace_thread_give(first, f->gadget, &f->v[0], e))
		return -1;
	for (unsigned i = 1; i < f->n; i++) {
		if (trace_thread_make(first, f->gadget, &f->v[i], &others[i], e))
			return -1;
		move_tid(c, f->v[i].tid, others[i].tid);
	}
	for (unsigned i = 1; i < f->n; i++)
		if (trace_detach(&others[i], false, e))
			return -1;
	return trace_detach(first, false, e);
}

static int restore(struct forked *f, struct target *t, struct err *e)
{
	cleanup_free struct trace *others = xcalloc(f->n, sizeof(*others));
	struct trace first;
	struct err why;
	int r;

	target_kill(t);
	if (trace_prepare(true, e))
		return -1;
	r = trace_fork(&f->held, f->gadget, &first, e);
	if (!r && trace_end_with_parent(&first, f->gadget, e)) {
		trace_kill(&first);
		r = -1;
	}
	if (!r) {
		memcpy(t->ctl, f->ctl, sizeof(*t->ctl));
		t->ctl->pid = first.pid;
		r = make_threads(f, &first, others, t->ctl, e);
		if (r)
			trace_kill(&first);
		else
			target_adopt(t, first.pid);
	}
	return segment_end_tracing(r ? &why : e) ? -1 : r;
}

/* ---- the list ---- */

static void remove_at(struct forked_list *l, unsigned i)
{
	forked_free(l->v[i]);
	memmove(&l->v[i], &l->v[i + 1], (--l->n - i) * sizeof(l->v[0]));
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a < b ? b - a : a - b;
}

/*
 * Drops the checkpoint that is least useful. A debugger at `now` goes back to near states, so gaps far from `now` may
 * be larger.
 */
static void thin(struct forked_list *l, uint64_t now)
{
	unsigned victim = 0;
	double least = 0;

	if (l->n <= FORKED_MAX)
		return;
	for (unsigned i = 0; i < l->n; i++) {
		uint64_t before = i ? l->v[i - 1]->event : 0, after = i + 1 < l->n ? l->v[i + 1]->event : now;
		double cost = (double)distance(before, after) / (double)(1 + distance(l->v[i]->event, now));

		if (l->v[i]->event != now && (!least || cost < least)) {
			least = cost;
			victim = i;
		}
	}
	remove_at(l, victim);
}

int forked_take(struct forked_list *l, struct target *t, struct err *e)
{
	unsigned i = 0;
	struct forked *f;

	if (!t->pid || !can_be_taken(t))
		return 1;
	while (i < l->n && l->v[i]->event < t->ctl->turn)
		i++;
	if (i < l->n && l->v[i]->event == t->ctl->turn)
		return 0;
	f = xcalloc(1, sizeof(*f));
	if (take(f, t, e)) {
		forked_free(f);
		return -1;
	}
	memmove(&l->v[i + 1], &l->v[i], (l->n++ - i) * sizeof(l->v[0]));
	l->v[i] = f;
	thin(l, f->event);
	return 0;
}

/* The index of the first checkpoint after the event. */
static unsigned after(const struct forked_list *l, uint64_t event)
{
	unsigned i = 0;

	while (i < l->n && l->v[i]->event <= event)
		i++;
	return i;
}

bool forked_before(const struct forked_list *l, uint64_t event, uint64_t *at)
{
	unsigned i = after(l, event);

	if (i)
		*at = l->v[i - 1]->event;
	return i > 0;
}

bool forked_after(const struct forked_list *l, uint64_t event, uint64_t *at)
{
	unsigned i = after(l, event);

	if (i < l->n)
		*at = l->v[i]->event;
	return i < l->n;
}

int forked_restore(struct forked_list *l, uint64_t event, struct target *t, struct err *e)
{
	unsigned i = after(l, event);

	if (!i || l->v[i - 1]->event != event)
		return err_set(e, ERR_INTERNAL, "there is no forked checkpoint at event %llu",
			       (unsigned long long)event);
	return restore(l->v[i - 1], t, e);
}

void forked_drop(struct forked_list *l, uint64_t event)
{
	unsigned i = after(l, event);

	if (i && l->v[i - 1]->event == event)
		remove_at(l, i - 1);
}

void forked_drop_all(struct forked_list *l)
{
	while (l->n)
		remove_at(l, l->n - 1);
}
