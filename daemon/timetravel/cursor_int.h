/* SPDX-License-Identifier: MIT */
/*
 * cursor_int.h: what the files of this folder share, and what the debugger and `explain` need besides cursor.h. The
 * layers, from below: cursor_run.c, cursor_ahead.c and cursor_process.c (a real process); forks.c, history_end.c;
 * cursor.c; cursor_signals.c; cursor_forth.c and cursor_back.c; mark.c; cursor_sure.c; cursor_calls.c; cursor_many.c
 * and live.c.
 */
#ifndef FRED_TIMETRAVEL_CURSOR_INT_H
#define FRED_TIMETRAVEL_CURSOR_INT_H

#include "timetravel/cursor_ops.h"

/* cursor_process.c: the operations of a real process. */

/* Ends looking: no thread is held, no copy lives. The process may be anywhere. */
int cursor_leave(struct cursor *t, struct err *e);
/* A copy of the thread that moved last, with memory of its own. */
int cursor_copy(struct cursor *t, struct trace *copy, struct err *e);
/* Goes to event n, then inside the segment after it. 1: that has no visible state; the process stands at n. */
int cursor_enter(struct cursor *t, uint64_t n, struct err *e);
/* As cursor_enter, but also enters a segment in which only the shim's own calls can stop: see segcur_enter_any. */
int cursor_enter_any(struct cursor *t, uint64_t n, struct err *e);
/* Goes to event n, with all threads held. */
int cursor_hold(struct cursor *t, uint64_t n, struct err *e);
/*
 * From CURSOR_GROUP at an event: releases the process, which stays there. 1: that cannot be done, and the process is
 * gone.
 */
int cursor_stand(struct cursor *t, struct err *e);
/* From CURSOR_GROUP at an event, where it stays: leaves a checkpoint, if there can be one. */
int cursor_checkpoint(struct cursor *t, struct err *e);
/*
 * CURSOR_INSIDE, where it stays: a checkpoint of the event before it, which is kept until it is removed; *id is its
 * number in the store. id NULL: it is kept as long as there is room. 1: there is no store.
 */
int cursor_keep(struct cursor *t, uint64_t *id, struct err *e);

/* cursor_ahead.c */

/* A copy of a thread's process that outlives it: its PID must not be in use any more, not even as a session's. */
int cursor_keep_state(struct cursor *t, struct group_thread *th, struct trace *here, struct err *e);
/*
 * CURSOR_GROUP, in a segment: may there be stops up to its end? 1, 0, -1, or that nothing can find that out. 0: it is
 * known up to event f->at, which is at most f->to (segcur_go_far).
 */
#define CURSOR_MAY_UNKNOWN 2
int cursor_may_stop(struct cursor *t, struct segcur_far *f, struct err *e);

/* cursor.c: when the event was recorded, in seconds after the start. 0: not known. */
double cursor_seconds(struct cursor *t, uint64_t event);
/*
 * cursor.c: counts a move other than a step. It costs the more the longer the recorded program ran between checkpoints,
 * of which each way through a recording leaves some; the same on any machine, under any load.
 */
void cursor_count_move(struct cursor *t);
/*
 * cursor_run.c: from CURSOR_GROUP on, until something of t->breaks, until thread `step` (0: none) has made a visible
 * step, or until event `until` (STOP_LIMIT; the end of the timeline is STOP_END).
 */
int cursor_run(struct cursor *t, pid_t step, uint64_t until, struct stop *stop, struct err *e);
/* Notes that the segment after that event may have stops that are not counted. */
void cursor_maybe(struct cursor_last *last, uint64_t event);
/* Does an event after `from`, up to `to`, map or unmap memory, so that it is not known what a word was before? 1, 0 or
 * -1. */
int cursor_remaps(struct cursor *t, uint64_t from, uint64_t to, struct err *e);
/* Does this event map or unmap memory? */
bool cursor_changes_memory(const struct rlog_rec *r);

/* forks.c: the first event after `from` at which the process becomes its child, or the last one up to `to`; 0: there
 * is none. */
int cursor_next_fork(struct cursor *t, uint64_t from, uint64_t *fork, struct err *e);
int cursor_fork_before(struct cursor *t, uint64_t to, uint64_t *fork, struct err *e);
/* Through the segment before that event, as cursor_run. 1: nothing stopped it there, and cursor_cross was called. */
int cursor_run_fork(struct cursor *t, uint64_t fork, pid_t *step, struct stop *stop, struct err *e);
/*
 * Runs from a segment to its end, all threads held. If a fork was followed there and *step made it, *step is the
 * child's thread.
 */
int cursor_cross(struct cursor *t, pid_t *step, struct err *e);

/*
 * history_end.c: runs to the end of history, or to a stop of b (NULL: none) before it (STOP_END: it is there). fresh:
 * from the beginning of the segment, whose first visible state may be a stop.
 */
int cursor_run_to_history_end(struct cursor *t, bool fresh, const struct breaks *b, struct stop *stop, struct err *e);
/* Does it stand at the end of history? */
int cursor_at_history_end(struct cursor *t, bool *yes, struct err *e);
/* Goes to the first visible state of the last segment; on to STOP_END if another thread than `step` moves there. */
int cursor_enter_last(struct cursor *t, pid_t step, struct stop *stop, struct err *e);
/* How many times the segment has been at pc before the state in which it is now. */
int cursor_passes(struct cursor *t, uint64_t pc, uint64_t *times, struct err *e);

/* cursor.c: goes from CURSOR_GROUP to CURSOR_INSIDE, in the state of thread t->tid. */
int cursor_go_inside(struct cursor *t, struct err *e);
/* Is it in the segment that a live program is in? */
bool cursor_is_last(const struct cursor *t);
/* The thread's number in the recording. 0: there is no such thread. */
uint32_t cursor_ordinal(const struct cursor *t, pid_t tid);
/*
 * The thread's present TID; tid, if there is no such thread. Without namespaces (cell/plain.h), threads get other TIDs
 * whenever the process is started again, as on the way back.
 */
pid_t cursor_tid_of(const struct cursor *t, uint32_t ordinal, pid_t tid);
/* Goes to the last visible state of all. 1: there is none; nothing is held. */
int cursor_last(struct cursor *t, struct err *e);
/*
 * Goes to the last visible state of a segment before event n, of the thread with that number (0: of any). 1: there is
 * none.
 */
int cursor_segment_before(struct cursor *t, uint64_t n, uint32_t thread, struct err *e);
#define CURSOR_CUTS 12
/*
 * The events at which to leave checkpoints on a long way, so that no part of it that is gone again is long. Returns how
 * many.
 */
unsigned cursor_cuts(struct cursor *t, uint64_t from, uint64_t to, uint64_t cuts[CURSOR_CUTS]);
/* The PC of the state inside a segment. */
static inline int cursor_pc(struct cursor *t, uint64_t *pc, struct err *e)
{
	struct user_regs_struct r;
	int got = t->ops->regs(t, t->in.seg.tid, &r, e);

	*pc = got ? 0 : r.rip;
	return got;
}

/* cursor_signals.c: a stop at the call of a handler becomes STOP_HANDLER if its signal is a stop. */
void cursor_see_signal(struct cursor *t, struct stop *stop);
/* May signals stop it between the beginning and here? */
bool cursor_has_signals(struct cursor *t);

/* cursor_back.c: the segments that may have stops (all->maybe, to be freed) of the part of the way before event *to;
 * *to becomes its beginning. */
int cursor_stopped_segments(struct cursor *t, uint64_t *to, struct cursor_last *all, struct err *e);

/* cursor_back.c: sets which changes, at which conditions are false, can be walked past. */
void cursor_know_what_is_walked(struct cursor *t);

/* cursor_forth.c, cursor_back.c: as the functions of cursor.h without `_few`, but watching only the words in debug
 * registers. */
int cursor_continue_few(struct cursor *t, struct stop *stop, struct err *e);
int cursor_step_few(struct cursor *t, pid_t tid, struct stop *stop, struct err *e);
int cursor_back_continue_few(struct cursor *t, struct stop *stop, struct err *e);
int cursor_back_step_few(struct cursor *t, pid_t tid, struct stop *stop, struct err *e);
int cursor_run_within_few(struct cursor *t, pid_t tid, const uint64_t *at, unsigned n, struct stop *stop,
			  struct err *e);
/* cursor_forth.c: is it neither where a user sees the program, nor at the entry of a call into the shim? 1, 0 or -1. */
int cursor_is_hidden(struct cursor *t, struct err *e);
/* cursor_sure.c: as the functions with `_few`, but they find out when a hit of a debug register was missed. */
int cursor_continue_sure(struct cursor *t, struct stop *stop, struct err *e);
int cursor_back_continue_sure(struct cursor *t, struct stop *stop, struct err *e);

typedef int (*cursor_go_fn)(struct cursor *t, struct stop *stop, struct err *e);
/* cursor_calls.c: as `go`, but stops at a caught system call, if that comes first. */
int cursor_calls_forth(struct cursor *t, cursor_go_fn go, struct stop *stop, struct err *e);
int cursor_calls_back(struct cursor *t, cursor_go_fn go, struct stop *stop, struct err *e);

#endif
