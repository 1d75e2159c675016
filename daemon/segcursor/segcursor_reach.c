/* SPDX-License-Identifier: MIT */
/* segcursor_reach.c: how far one copy can go that reports, see segcursor_report.h. */
#include <signal.h>

#include "record/dispatch/sys_nr.h"
#include "rlog/report.h"
#include "segcursor/segcursor_report.h"

/*
 * System calls that a replay takes from the log instead of executing them: they change neither mappings nor threads nor
 * how signals are handled.
 */
static bool is_from_log(uint64_t nr)
{
	static const bool from_log[] = {
#define CLASS_REC true
#define CLASS_QUICK true
#define CLASS_MEM false
#define CLASS_RAW false
#define CLASS_NOSYS false
#define CLASS_FN(f) false
#define CLASS_LOGFN(f) true
#define CLASS_PAIR(f, g) false
#define SC(name, nargs, how, reads, writes) [__NR_##name] = CLASS_##how,
#include "record/dispatch/syscalls.def"
#undef SC
#undef CLASS_PAIR
#undef CLASS_LOGFN
#undef CLASS_FN
#undef CLASS_NOSYS
#undef CLASS_RAW
#undef CLASS_MEM
#undef CLASS_QUICK
#undef CLASS_REC
	};

	return nr < sizeof(from_log) / sizeof(from_log[0]) && from_log[nr];
}

/*
 * sigaction of a signal that no fault sends. The copy only notes it, and where the recorder calls a handler, another
 * copy begins. Of other signals the kernel is told, and whether they have a handler decides how code is translated.
 */
static bool is_noted(const uint64_t *op)
{
	return op[0] == __NR_rt_sigaction && op[1] != SIGSEGV && op[1] != SIGBUS && op[1] != SIGFPE &&
	       op[1] != SIGILL && op[1] != SIGTRAP;
}

/* Events after which the thread simply returns from the recorder's function to its caller. */
static bool goes_on(const struct reader_event *ev)
{
	switch (ev->rec.kind) {
	case RLOG_LOCK:
	case RLOG_LOCK_RET:
	case RLOG_UNLOCK:
	case RLOG_COND_SIGNAL:
	case RLOG_COND_BROADCAST:
	case RLOG_RDLOCK:
	case RLOG_WRLOCK:
	case RLOG_RWUNLOCK:
	case RLOG_SEM_WAIT:
	case RLOG_SEM_POST:
	case RLOG_SEM_GET:
	case RLOG_SPIN_LOCK:
	case RLOG_SPIN_UNLOCK:
	case RLOG_LIB_LOCK:
	case RLOG_LIB_UNLOCK:
	case RLOG_OBJ_DESTROY:
	case RLOG_DETACH:
	case RLOG_YIELD:
		return true;
	case RLOG_SYS:
		return ev->has_result && ev->rec.nops &&
		       (is_from_log(ev->rec.op[0]) || (ev->rec.nops > 1 && is_noted(ev->rec.op)));
	default:
		return false;
	}
}

bool segcur_report_maps(const struct target *t, uint64_t n)
{
	struct timeline_event ev;
	struct err ignored;

	return n && !timeline_read(t->tl, n, &ev, &ignored) && ev.ev.rec.kind == RLOG_SYS && ev.ev.rec.nops &&
	       !is_from_log(ev.ev.rec.op[0]);
}

#define BRIEF_SECONDS 100e-6
#define WAITED_SECONDS 1e-3

/* Of an acquire, the time is that after waiting: a thread that has done nothing for long may have waited. */
bool segcur_report_is_brief(const struct segcur_report *r, const struct target *t, uint64_t n, uint64_t to)
{
	struct timeline_event first = {0}, last;
	struct err ignored;
	double own;

	if (timeline_read(t->tl, to, &last, &ignored) || (n && timeline_read(t->tl, n, &first, &ignored)))
		return false;
	own = last.where.thread < RLOG_MAX_THREADS ? r->seconds[last.where.thread] : 0;
	return last.seconds - first.seconds < BRIEF_SECONDS && (!own || last.seconds - own < WAITED_SECONDS);
}

/* Can a copy that is under way reach an event of this kind? If not, a new copy must begin there. */
static bool can_come_to(unsigned kind)
{
	switch (kind) {
	case RLOG_SIGNAL:
	case RLOG_PREEMPT:
	case RLOG_PAGE:
	case RLOG_CREATE:
	case RLOG_FORK:
	case RLOG_EXEC:
	case RLOG_CALL:
	case RLOG_CRASH:
	case RLOG_ONCE_RUN:
		return false;
	default:
		return true;
	}
}

bool segcur_report_keeps_code(const struct target *t, uint64_t n)
{
	struct timeline_event ev;
	struct err ignored;

	return n && !timeline_read(t->tl, n, &ev, &ignored) && goes_on(&ev.ev);
}

int segcur_report_reach(const struct target *t, uint64_t n, uint64_t most, uint64_t *to, struct err *e)
{
	struct timeline_event ev, before;
	struct timeline_walk w;
	uint64_t last = n;
	int r = 0;

	*to = n + 1;
	if (t->ctl->report_kinds <= REPORT_EVENT)
		return 0;
	if (timeline_walk_init(&w, t->tl, n + 1, e))
		return -1;
	while (last < most && (r = timeline_walk_next(&w, &ev, e)) > 0) {
		if (last > n && (ev.where.thread != before.where.thread || ev.where.process != before.where.process ||
				 !can_come_to(ev.ev.rec.kind)))
			break;
		last++;
		before = ev;
		if (!goes_on(&ev.ev) || !can_come_to(ev.ev.rec.kind))
			break;
	}
	timeline_walk_fini(&w);
	if (last > n)
		*to = last;
	return r < 0 ? -1 : 0;
}
