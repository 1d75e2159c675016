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

/* Its text, or why it could not be done, goes to the user. */
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
	/* a command has moved it: the debugger is told by its next step */
	if (d->jumped) {
		d->jumped = false;
		stop->kind = STOP_STEP;
		return 0;
	}
	/* of a command of many short steps, none asks by itself */
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
	return err_set(e, ERR_INTERNAL, "no such way to go on");
}

static int move_or_call(struct debug *d, enum rsp_resume how, int tid, struct stop *stop, struct err *e)
{
	bool call;

	if (diversion_in_call(&d->diversion, &d->cursor.breaks, &call, e))
		return -1;
	if (call && (how == RSP_STEP || how == RSP_CONTINUE))
		return called_run(d, how == RSP_STEP, stop, e);
	debug_end_diversion(d);
	return move(d, how, tid, stop, e);
}

/*
 * A program that was killed by a signal that no instruction raised, as abort() has it, ends with that signal: once,
 * before its end is the end of history.
 */
static void tell_end(struct debug *d, struct stop *stop)
{
	if (stop->kind == STOP_END && d->killed_by && d->told != d->killed_by)
		*stop = (struct stop){.kind = STOP_SIGNAL, .sig = d->killed_by};
	if (stop->kind != STOP_END)
		d->told = stop->kind == STOP_SIGNAL ? stop->sig : 0;
}

/* GDB does not say which thread goes a step back, unless it locks the others: the one that its user has selected. */
static pid_t stepped_back(struct debug *d)
{
	pid_t tid = d->selected ? threads_tid(d, d->selected) : 0;

	return tid ? tid : d->cursor.tid;
}

/* Where the command began, if that is after event n, too: breakpoints that have been met could not be reached again. */
static int go_behind(struct debug *d, uint64_t n, struct err *e)
{
	const struct busy *b = &d->busy;
	bool exact;

	if (b->known && b->from.event >= n && !mark_goto(&d->cursor, &b->from, &exact, e))
		return 0;
	return cursor_goto(&d->cursor, n, e);
}

/* The replay does not match any more: the last event up to which it did is the end of what can be shown. -1: it is not
 * that. */
static int stay_true(struct debug *d, struct stop *stop)
{
	uint64_t n = d->nav.t.ctl ? d->nav.t.ctl->turn : 0;
	cleanup_free char *text = NULL;
	struct err why, ignored;

	if (diversion_is_on(&d->diversion) || !n || !target_is_lost(&d->nav.t, &why))
		return -1;
	if (go_behind(d, n, &ignored) && go_behind(d, n - 1, &ignored))
		return -1;
	text = str_fmt("fred: %s\nfred: up to event %llu, after which it stands now, the replay was as recorded\n",
		       why.text, (unsigned long long)cursor_event(&d->cursor));
	debug_say(d, text);
	*stop = (struct stop){.kind = STOP_END};
	return 0;
}

/* A thread that is not there makes no step. */
static bool cannot_step(struct debug *d, int id)
{
	cleanup_free char *text = NULL;

	if (threads_tid(d, id) || d->later || d->jumped)
		return false;
	text = str_fmt("fred: this thread %s here: `continue`, or select another one\n", threads_absent(d, id));
	debug_say(d, text);
	return true;
}

/* Back to where it stood; of what was killed another one comes there. 0: *stop is what the debugger is told. */
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

/* Of a stop here that is none the debugger makes no end of a step, nor one at a breakpoint, but resumes. */
static bool goes_on(struct debug *d, enum rsp_resume how)
{
	struct cursor *t = &d->cursor;
	struct user_regs_struct r;
	struct err ignored;

	if (how == RSP_BACK_STEP || t->ops->regs(t, t->tid, &r, &ignored) || breaks_has(&t->breaks, r.rip))
		return false;
	return how != RSP_STEP || (r.rip >= d->range.lo && r.rip < d->range.hi);
}

int debug_resume(void *arg, enum rsp_resume how, int id, struct rsp_stop *out, struct err *e)
{
	struct debug *d = arg;
	struct stop stop = {0};
	pid_t tid = threads_tid(d, id);
	bool jumped = d->later || d->jumped;

	if (watched_resume(&d->watched, how, debug_memory(d), out))
		return 0;
	if (how == RSP_STEP && cannot_step(d, id)) {
		*out = (struct rsp_stop){.why = RSP_ELSEWHERE, .tid = threads_id(d, d->cursor.tid)};
		return 0;
	}
	if (how == RSP_BACK_STEP && !tid)
		tid = stepped_back(d);
	tid = tid ? tid : d->cursor.tid;
	debug_tell_signal(d, how == RSP_CONTINUE || how == RSP_STEP);
	busy_begin(d, true);
	if (move_or_call(d, how, tid, &stop, e) && stay_true(d, &stop) && has_failed(d, &stop, e))
		return -1;
	if (stop.kind == STOP_FIRST)
		debug_say(d, "fred: this thread begins here; reverse-continue goes on to what was before\n");
	tell_end(d, &stop);
	d->signalled = stop.kind == STOP_SIGNAL || stop.kind == STOP_HANDLER;
	translate(d, &stop, out);
	d->signal = out->sig;
	out->jumped = jumped;
	watched_stop(&d->watched, debug_memory(d), out, goes_on(d, how));
	if (stop.kind == STOP_FIRST)
		out->tid = threads_id(d, tid); /* which has not moved, and stays selected */
	if (stop.kind == STOP_STEP && out->tid != threads_id(d, tid))
		out->why = RSP_ELSEWHERE;
	/* who was selected before that is not any more; of commands that are made by one, no prompt will tell */
	if (how == RSP_CONTINUE || how == RSP_STEP)
		d->selected = 0;
	if (!diversion_is_on(&d->diversion) && stop.kind != STOP_LIBRARY)
		session_state_stop(&d->state);
	return 0;
}
