/* SPDX-License-Identifier: MIT */
/* move.c: see move.h. */
#include "debug/move.h"

#include <signal.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "debug/called.h"
#include "debug/debug.h"
#include "debug/monitor.h"
#include "debug/revive.h"
#include "debug/threads.h"
#include "timetravel/cursor_int.h"
#include "visibility/regs.h"

static void translate(struct debug *d, const struct stop *s, struct rsp_stop *out)
{
	static const enum rsp_why why[] = {
		[STOP_STEP] = RSP_STEPPED,	  [STOP_BREAK] = RSP_BREAKPOINT, [STOP_WATCH] = RSP_WATCHPOINT,
		[STOP_SIGNAL] = RSP_SIGNALLED,	  [STOP_OVER] = RSP_ELSEWHERE,	 [STOP_LIMIT] = RSP_STEPPED,
		[STOP_INTERRUPT] = RSP_SIGNALLED, [STOP_BEGIN] = RSP_BEGIN,	 [STOP_END] = RSP_END,
		[STOP_CALL] = RSP_SYSCALL,	  [STOP_LIBRARY] = RSP_LIBRARY,	 [STOP_FIRST] = RSP_ELSEWHERE,
		[STOP_HANDLER] = RSP_SIGNALLED};

	*out = (struct rsp_stop){
		.why = why[s->kind],
		.tid = threads_id(d, d->cursor.tid),
		.sig = s->kind == STOP_INTERRUPT ? SIGINT : regs_gdb_signal(s->sig),
		.addr = s->addr,
		.point = s->watch == GROUP_ACCESS ? RSP_ACCESS : RSP_WRITE,
	};
}

/* Runs the monitor command in d->later. Its output, or its error, is shown to the user. */
static void run_later(struct debug *d)
{
	cleanup_free char *command = steal_ptr(&d->later);
	cleanup_buf struct buf text = {0};
	struct err why = {0};

	if (monitor_later(d, command, &text, &why))
		buf_addf(&text, "fred: %s\n", why.text);
	rsp_say(&d->conn, text.data, text.len, &why);
}

static int move(struct debug *d, enum rsp_resume how, int tid, struct stop *stop, struct err *e)
{
	struct cursor *t = &d->cursor;

	if (d->later) {
		run_later(d);
		d->jumped = true;
	}
	/* a monitor command has moved the program: the debugger learns of that by this step, which moves nothing */
	if (d->jumped) {
		d->jumped = false;
		stop->kind = STOP_STEP;
		return 0;
	}
	/* a command of many short steps: no single step takes long enough to look for a Ctrl-C */
	if (busy_is_over(d)) {
		stop->kind = STOP_INTERRUPT;
		return 0;
	}
	switch (how) {
	case RSP_CONTINUE:
		return cursor_continue(t, stop, e);
	case RSP_STEP:
		return d->range.lo < d->range.hi ? range_step(d, tid, stop, e) : cursor_step(t, tid, stop, e);
	case RSP_BACK_CONTINUE:
		return cursor_back_continue(t, stop, e);
	case RSP_BACK_STEP:
		return lines_back_step(d, tid, stop, e);
	}
	return err_set(e, ERR_INTERNAL, "no such way to resume");
}

static int move_or_call(struct debug *d, enum rsp_resume how, int tid, struct stop *stop, struct err *e)
{
	bool call;

	if (diversion_in_call(&d->diversion, &d->cursor.breaks, &call, e))
		return -1;
	if (call && (how == RSP_STEP || how == RSP_CONTINUE))
		return called_run(d, how == RSP_STEP, stop, e);
	debug_end_diversion(d);
	d->elsewhere = false;
	return move(d, how, tid, stop, e);
}

/*
 * If the program was killed by a signal that no instruction raised, as by abort(), its end is reported as that signal
 * first, and only then as the end of history.
 */
static void tell_end(struct debug *d, struct stop *stop)
{
	if (stop->kind == STOP_END && d->killed_by && d->told != d->killed_by)
		*stop = (struct stop){.kind = STOP_SIGNAL, .sig = d->killed_by};
	if (stop->kind != STOP_END)
		d->told = stop->kind == STOP_SIGNAL ? stop->sig : 0;
}

/*
 * The thread of a step back. GDB does not name it, unless it locks the other threads: it is the one that the user has
 * selected.
 */
static pid_t stepped_back(struct debug *d)
{
	pid_t tid = d->selected ? threads_tid(d, d->selected) : 0;

	return tid ? tid : d->cursor.tid;
}

/*
 * Goes to where the command began, if that is after event n, else to event n: stops that the command has passed cannot
 * be found again.
 */
static int go_no_earlier_than(struct debug *d, uint64_t n, struct err *e)
{
	const struct busy *b = &d->busy;
	bool exact;

	if (b->known && b->from.event >= n && !mark_goto(&d->cursor, &b->from, &exact, e))
		return 0;
	return cursor_goto(&d->cursor, n, e);
}

/*
 * If the replay has diverged: goes to the last event before that, which becomes the end of what can be shown. 0; -1: it
 * has not diverged.
 */
static int stay_true(struct debug *d, struct stop *stop)
{
	uint64_t n = d->nav.t.ctl ? d->nav.t.ctl->turn : 0;
	cleanup_free char *text = NULL;
	struct err why, ignored;

	if (diversion_is_on(&d->diversion) || !n || !target_is_lost(&d->nav.t, &why))
		return -1;
	if (go_no_earlier_than(d, n, &ignored) && go_no_earlier_than(d, n - 1, &ignored))
		return -1;
	text = str_fmt(
		"fred: %s\nfred: the replay matched the recording up to event %llu, after which the program is now\n",
		why.text, (unsigned long long)cursor_event(&d->cursor));
	debug_say(d, text);
	if (nav_may_have_variants(&d->nav))
		debug_say(d, "fred: " NAV_TRY_VARIANTS "\n");
	*stop = (struct stop){.kind = STOP_END};
	return 0;
}

/* Refuses a step of a thread that does not exist at this position. */
static bool cannot_step(struct debug *d, int id)
{
	cleanup_free char *text = NULL;

	if (threads_tid(d, id) || d->later || d->jumped)
		return false;
	text = str_fmt("fred: this thread %s here: `continue`, or select another one\n", threads_absent(d, id));
	debug_say(d, text);
	return true;
}

/*
 * The command has failed: goes back to where the program stood, with a new process if the old one was killed. 0: *stop
 * is what the debugger is told.
 */
static int has_failed(struct debug *d, struct stop *stop, struct err *e)
{
	bool killed = revive_clear(d, e);
	cleanup_free char *text = killed ? str_fmt("fred: %s\n", e->text) : NULL;

	if (killed)
		debug_say(d, text);
	if (busy_return(d, e))
		return -1;
	stop->kind = killed ? STOP_OVER : STOP_INTERRUPT;
	return 0;
}

/*
 * Will the debugger resume the program after a stop here that has no reason of its own: no step ends here, and there is
 * no breakpoint?
 */
static bool goes_on(struct debug *d, enum rsp_resume how)
{
	struct cursor *t = &d->cursor;
	struct user_regs_struct r;
	struct err ignored;

	if (how == RSP_BACK_STEP || t->ops->regs(t, t->tid, &r, &ignored) || breaks_has(&t->breaks, r.rip))
		return false;
	return how != RSP_STEP || (r.rip >= d->range.lo && r.rip < d->range.hi);
}

static void note_watched(struct debug *d, const struct rsp_stop *stop, enum rsp_resume how)
{
	struct watched_state now = {.pid = debug_memory(d)};
	struct user_regs_struct r;
	struct err ignored;

	if (d->watched.conditions.n && !d->cursor.ops->regs(&d->cursor, d->cursor.tid, &r, &ignored))
		now.regs = &r;
	watched_stop(&d->watched, &now, stop, goes_on(d, how));
}

int debug_resume(void *arg, enum rsp_resume how, int id, struct rsp_stop *out, struct err *e)
{
	struct debug *d = arg;
	struct stop stop = {0};
	pid_t tid = threads_tid(d, id);
	bool jumped = d->later || d->jumped;
	int stepped; /* the thread that is to step, as the debugger knows it */

	if (watched_resume(&d->watched, how, debug_memory(d), out))
		return 0;
	if (how == RSP_STEP && cannot_step(d, id)) {
		*out = (struct rsp_stop){.why = RSP_ELSEWHERE, .tid = threads_id(d, d->cursor.tid)};
		return 0;
	}
	if (how == RSP_BACK_STEP && !tid)
		tid = stepped_back(d);
	tid = tid ? tid : d->cursor.tid;
	stepped = threads_id(d, tid);
	debug_tell_signal(d, how == RSP_CONTINUE || how == RSP_STEP);
	busy_begin(d, true);
	if (move_or_call(d, how, tid, &stop, e) && stay_true(d, &stop) && has_failed(d, &stop, e))
		return -1;
	if (stop.kind == STOP_FIRST)
		debug_say(d, "fred: this thread begins here; reverse-continue goes further back\n");
	tell_end(d, &stop);
	d->signalled = stop.kind == STOP_SIGNAL || stop.kind == STOP_HANDLER;
	translate(d, &stop, out);
	d->signal = out->sig;
	out->jumped = jumped;
	note_watched(d, out, how);
	if (stop.kind == STOP_FIRST)
		out->tid = stepped; /* it has not moved, and stays selected */
	if (stop.kind == STOP_STEP && out->tid != stepped)
		out->why = RSP_ELSEWHERE;
	/*
	 * the thread that the user had selected before this command does not count any more; a command that consists of
	 * one resume may end without a prompt
	 */
	if (how == RSP_CONTINUE || how == RSP_STEP)
		d->selected = 0;
	if (!diversion_is_on(&d->diversion) && stop.kind != STOP_LIBRARY)
		session_state_stop(&d->state);
	return 0;
}
