/* SPDX-License-Identifier: MIT */
/* cursor_int.h: what cursor.c and cursor_run.c lend to each other and to cursor_back.c. */
#ifndef FRED_TIMETRAVEL_CURSOR_INT_H
#define FRED_TIMETRAVEL_CURSOR_INT_H

#include "timetravel/cursor.h"

typedef int (*cursor_go_fn)(struct cursor *t, struct stop *stop, struct err *e);
/* cursor_calls.c: as go, to the next or last stop, but to a call of the kernel that is caught, if it comes first. */
int cursor_calls_forth(struct cursor *t, cursor_go_fn go, struct stop *stop, struct err *e);
int cursor_calls_back(struct cursor *t, cursor_go_fn go, struct stop *stop, struct err *e);
/* As those of cursor.h without `_few`, but for the words of breaks.more, of which these do not know. */
int cursor_continue_few(struct cursor *t, struct stop *stop, struct err *e);
int cursor_step_few(struct cursor *t, pid_t tid, struct stop *stop, struct err *e);
int cursor_back_continue_few(struct cursor *t, struct stop *stop, struct err *e);
int cursor_back_step_few(struct cursor *t, pid_t tid, struct stop *stop, struct err *e);

/* In the segment that a live program is in? */
bool cursor_is_last(const struct cursor *t);
/*
 * history_end.c: from there on, until something of breaks or the edge (STOP_END). fresh: from the segment's start, where the
 * first visible state may be a stop.
 */
int cursor_run_to_edge(struct cursor *t, bool fresh, const struct breaks *breaks, struct stop *stop, struct err *e);
/* Does it stand at the edge? */
int cursor_at_edge(struct cursor *t, bool *yes, struct err *e);
/* The first visible state of the last segment, or STOP_END if another thread than `step` moves there. */
int cursor_enter_last(struct cursor *t, pid_t step, struct stop *stop, struct err *e);

/* cursor_signals.c: a stop at the call of a handler becomes STOP_HANDLER, if its signal is one; others stay what they are. */
void cursor_see_signal(struct cursor *t, struct stop *stop);
/* May signals stop it between the beginning and here? */
bool cursor_has_signals(struct cursor *t);

/* Ends looking: no thread is held, no copy lives. The process may be anywhere. */
int cursor_leave(struct cursor *t, struct err *e);
/* A copy of the thread that moved last, on memory of its own. */
int cursor_copy(struct cursor *t, struct trace *copy, struct err *e);
/* Event n, then inside the segment behind it. 1: it has no visible state; the process stands at n. */
int cursor_enter(struct cursor *t, uint64_t n, struct err *e);
/* As that, also into a segment in which only the shim's own calls can stop: see segcur_enter_any. */
int cursor_enter_any(struct cursor *t, uint64_t n, struct err *e);
/*
 * CURSOR_INSIDE, where it stays: a checkpoint of the event before it, which lasts until it is removed; *id in the store. id NULL: it
 * lasts as long as there is room. 1: there is no store.
 */
int cursor_keep(struct cursor *t, uint64_t *id, struct err *e);
/* The first event behind `from` at which the process becomes its child, or the last one up to `to`; 0: there is none. */
int cursor_next_fork(struct cursor *t, uint64_t from, uint64_t *fork, struct err *e);
int cursor_fork_before(struct cursor *t, uint64_t to, uint64_t *fork, struct err *e);
/* Through the segment before that event, as cursor_run. 1: nothing stopped it there; what cursor_cross says. */
int cursor_run_fork(struct cursor *t, uint64_t fork, pid_t *step, struct stop *stop, struct err *e);
/* From a segment to its end, all threads held. A thread `step` that forks, where that is followed, is another one now. */
int cursor_cross(struct cursor *t, pid_t *step, struct err *e);
/* CURSOR_GROUP: what thread t->tid has come to becomes a copy in its segment. */
int cursor_go_inside(struct cursor *t, struct err *e);
/* 0: there is no such thread. */
uint32_t cursor_ordinal(const struct cursor *t, pid_t tid);
/* Event n, all threads held. */
int cursor_hold(struct cursor *t, uint64_t n, struct err *e);
#define CURSOR_CUTS 12
/*
 * Where to leave checkpoints between two events: a long way gets some, so that what is gone through again is short.
 * How many.
 */
unsigned cursor_cuts(struct cursor *t, uint64_t from, uint64_t to, uint64_t cuts[CURSOR_CUTS]);
/* The segment behind that event may have stops that are not counted. */
void cursor_maybe(struct cursor_last *last, uint64_t event);
/*
 * The segments in which there may be stops, in all->maybe (to be freed), of a piece of the way before event *to, which becomes the
 * piece's beginning.
 */
int cursor_stopped_segments(struct cursor *t, uint64_t *to, struct cursor_last *all, struct err *e);
/* Does memory become other memory with one of the events behind `from`, up to `to`? Then nobody knows what was in there. 1, 0 or -1. */
int cursor_remaps(struct cursor *t, uint64_t from, uint64_t to, struct err *e);
/* CURSOR_GROUP at an event: lets go of the process, which goes on standing. 1: it cannot, and is gone. */
int cursor_stand(struct cursor *t, struct err *e);
/* From CURSOR_GROUP at an event, where it stays: leaves a checkpoint there. That there is none is no error. */
int cursor_checkpoint(struct cursor *t, struct err *e);
/* The last visible state of all. 1: there is none; nothing is held. */
int cursor_last(struct cursor *t, struct err *e);
/*
 * From CURSOR_GROUP on: until something of breaks, thread `step` (0: none) has made a visible step, or event `until`
 * (STOP_LIMIT; the end of the timeline is STOP_END).
 */
int cursor_run(struct cursor *t, pid_t step, uint64_t until, struct stop *stop, struct err *e);

#endif
