/* SPDX-License-Identifier: MIT */
/*
 * cursor_calls.c: system calls at which a debugger stops (catch syscall, fork, vfork, exec). The timeline tells where
 * they are. In both directions the stop is the last visible state before the call.
 */
#include <sched.h>
#include <sys/syscall.h>

#include "segcursor/segcursor_int.h"
#include "timetravel/cursor_int.h"

static bool is_caught(const struct cursor_calls *c, long nr)
{
	return nr >= 0 && nr < CURSOR_CALLS_MAX && (c->all || (c->set[nr / 64] >> nr % 64 & 1));
}

static bool has(const struct cursor_calls *c, const long *nr, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (is_caught(c, nr[i]))
			return true;
	return false;
}

enum { IS_FORK = CURSOR_CALLS_MAX }; /* any of these calls, whatever its number */

/* The number of the caught call, or IS_FORK; -1: this event is none. */
static long caught_by(const struct cursor_calls *c, const struct rlog_rec *rec)
{
	static const long forks[] = {SYS_fork, SYS_vfork, SYS_clone, SYS_clone3}, execs[] = {SYS_execve, SYS_execveat};

	if (rec->kind == RLOG_FORK) /* its registers tell which of these calls it is */
		return has(c, forks, 4) ? IS_FORK : -1;
	if (rec->kind == RLOG_EXEC)
		return !has(c, execs, 2) ? -1 : is_caught(c, SYS_execve) ? SYS_execve : SYS_execveat;
	return rec->kind == RLOG_SYS && rec->nops && is_caught(c, (long)rec->op[0]) ? (long)rec->op[0] : -1;
}

/* The first (or `last`) such event in (from, to]; 0: there is none. */
static int find(struct cursor *t, uint64_t from, uint64_t to, bool last, uint64_t *event, long *nr, struct err *e)
{
	struct timeline_walk w;
	struct timeline_event ev;
	int r = 0;

	*event = 0;
	if (from >= to)
		return 0;
	if (timeline_walk_init(&w, t->nav->t.tl, from + 1, e))
		return -1;
	while ((last || !*event) && w.number <= to && (r = timeline_walk_next(&w, &ev, e)) > 0) {
		long got = caught_by(&t->calls, &ev.ev.rec);

		if (got < 0)
			continue;
		*event = ev.where.number;
		*nr = got;
	}
	timeline_walk_fini(&w);
	return r < 0 ? -1 : 0;
}

/* clone(2): fork and vfork are ways to call these. */
static bool shares_as_vfork(const struct trace *th, const struct user_regs_struct *r)
{
	struct err ignored;
	uint64_t flags = r->rdi;

	if (r->rax == SYS_clone3 && trace_read(th->pid, r->rdi, &flags, sizeof(flags), &ignored))
		return false;
	return r->rax == SYS_vfork || (r->rax != SYS_fork && (flags & CLONE_VFORK));
}

/* Before such a call: the number under which it is caught, as fork or vfork or as itself; -1: it is not caught. */
static int number_of_fork(struct cursor *t, long *nr, struct err *e)
{
	struct trace *th = cursor_thread(t, t->in.seg.tid, e);
	struct user_regs_struct r;

	if (!th || trace_get_regs(th, &r, e))
		return -1;
	*nr = shares_as_vfork(th, &r) ? SYS_vfork : SYS_fork;
	if (t->calls.all || !is_caught(&t->calls, *nr))
		*nr = is_caught(&t->calls, (long)r.rax) ? (long)r.rax : -1;
	return 0;
}

enum { NOTHING_SEEN = 1, ANOTHER_CALL };

/*
 * Goes to the last state before that event. NOTHING_SEEN: no state of the program's is there. ANOTHER_CALL: a fork that
 * is not caught.
 */
static int stand_before(struct cursor *t, uint64_t event, long nr, struct stop *stop, struct err *e)
{
	int r = cursor_goto_end(t, event - 1, e);

	if (r)
		return r;
	if (nr == IS_FORK && number_of_fork(t, &nr, e))
		return -1;
	if (nr < 0)
		return ANOTHER_CALL;
	t->tid = t->in.seg.tid;
	*stop = (struct stop){.kind = STOP_CALL, .addr = (uint64_t)nr};
	return cursor_where(t, &t->calls.at, e);
}

/* Is the cursor at a stop for a call, which is yet to be made? */
static int stands_at_call(struct cursor *t, bool *yes, struct err *e)
{
	struct timeline_point p;

	*yes = t->calls.at.pc && t->calls.at.event == cursor_event(t);
	if (!*yes)
		return 0;
	if (cursor_where(t, &p, e))
		return -1;
	*yes = p.pc == t->calls.at.pc && p.hits == t->calls.at.hits;
	return 0;
}

int cursor_calls_forth(struct cursor *t, cursor_go_fn go, struct stop *stop, struct err *e)
{
	uint64_t from = cursor_event(t), event;
	bool there;
	long nr;
	int r;

	if (stands_at_call(t, &there, e))
		return -1;
	for (from += there;; from = event) {
		if (find(t, from, cursor_total(t), false, &event, &nr, e))
			return -1;
		t->most = event;
		r = go(t, stop, e);
		t->most = 0;
		if (r || !event || (stop->kind != STOP_LIMIT && !(stop->kind == STOP_END && event == cursor_total(t))))
			return r;
		r = stand_before(t, event, nr, stop, e);
		if (r <= 0)
			return r;
		if (r == NOTHING_SEEN && cursor_goto(t, event, e))
			return -1;
	}
}

int cursor_calls_back(struct cursor *t, cursor_go_fn go, struct stop *stop, struct err *e)
{
	uint64_t here = cursor_event(t), event;
	long nr;
	int r;

	for (;; here = event - 1) {
		if (find(t, 0, here, true, &event, &nr, e))
			return -1;
		t->least = event;
		r = go(t, stop, e);
		t->least = 0;
		if (r || !event || stop->kind == STOP_INTERRUPT ||
		    (stop->kind != STOP_LIMIT && stop->kind != STOP_BEGIN && cursor_event(t) >= event))
			return r;
		r = stand_before(t, event, nr, stop, e);
		if (r <= 0)
			return r;
		/* the part before the other call is still to be searched */
		if (cursor_goto(t, r == ANOTHER_CALL ? event : event - 1, e))
			return -1;
	}
}
