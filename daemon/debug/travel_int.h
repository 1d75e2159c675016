/* SPDX-License-Identifier: MIT */
/* travel_int.h: what travel.c and travel_run.c lend to each other and to travel_back.c. */
#ifndef FRED_DEBUG_TRAVEL_INT_H
#define FRED_DEBUG_TRAVEL_INT_H

#include "debug/travel.h"

typedef int (*travel_go_fn)(struct travel *t, struct stop *stop, struct err *e);
/* travel_calls.c: as go, to the next or last stop, but to a call of the kernel that is caught, if it comes first. */
int travel_calls_forth(struct travel *t, travel_go_fn go, struct stop *stop, struct err *e);
int travel_calls_back(struct travel *t, travel_go_fn go, struct stop *stop, struct err *e);
/* As those of travel.h without `_few`, but for the words of breaks.more, of which these do not know. */
int travel_continue_few(struct travel *t, struct stop *stop, struct err *e);
int travel_step_few(struct travel *t, pid_t tid, struct stop *stop, struct err *e);
int travel_back_continue_few(struct travel *t, struct stop *stop, struct err *e);
int travel_back_step_few(struct travel *t, pid_t tid, struct stop *stop, struct err *e);

/* In the segment that a live program is in? */
bool travel_is_last(const struct travel *t);
/*
 * edge.c: from there on, until something of breaks or the edge (STOP_END). fresh: from the segment's start, where the
 * first visible state may be a stop.
 */
int travel_run_to_edge(struct travel *t, bool fresh, const struct breaks *breaks, struct stop *stop, struct err *e);
/* Does it stand at the edge? */
int travel_at_edge(struct travel *t, bool *yes, struct err *e);
/* The first visible state of the last segment, or STOP_END if another thread than `step` moves there. */
int travel_enter_last(struct travel *t, pid_t step, struct stop *stop, struct err *e);

/* signals.c: a stop at the call of a handler becomes STOP_HANDLER, if its signal is one; others stay what they are. */
void travel_see_signal(struct travel *t, struct stop *stop);
/* May signals stop it between the beginning and here? */
bool travel_has_signals(struct travel *t);

/* Ends looking: no thread is held, no copy lives. The process may be anywhere. */
int travel_leave(struct travel *t, struct err *e);
/* A copy of the thread that moved last, on memory of its own. */
int travel_copy(struct travel *t, struct trace *copy, struct err *e);
/* Event n, then inside the segment behind it. 1: it has no visible state; the process stands at n. */
int travel_enter(struct travel *t, uint64_t n, struct err *e);
/* As that, also into a segment in which only the shim's own calls can stop: see inside_enter_any. */
int travel_enter_any(struct travel *t, uint64_t n, struct err *e);
/*
 * TRAVEL_INSIDE, where it stays: a checkpoint of the event before it, which lasts until it is removed; *id in the store. id NULL: it
 * lasts as long as there is room. 1: there is no store.
 */
int travel_keep(struct travel *t, uint64_t *id, struct err *e);
/* The first event behind `from` at which the process becomes its child, or the last one up to `to`; 0: there is none. */
int travel_next_fork(struct travel *t, uint64_t from, uint64_t *fork, struct err *e);
int travel_fork_before(struct travel *t, uint64_t to, uint64_t *fork, struct err *e);
/* Through the segment before that event, as travel_run. 1: nothing stopped it there; what travel_cross says. */
int travel_run_fork(struct travel *t, uint64_t fork, pid_t *step, struct stop *stop, struct err *e);
/* From a segment to its end, all threads held. A thread `step` that forks, where that is followed, is another one now. */
int travel_cross(struct travel *t, pid_t *step, struct err *e);
/* TRAVEL_GROUP: what thread t->tid has come to becomes a copy in its segment. */
int travel_go_inside(struct travel *t, struct err *e);
/* 0: there is no such thread. */
uint32_t travel_ordinal(const struct travel *t, pid_t tid);
/* Event n, all threads held. */
int travel_hold(struct travel *t, uint64_t n, struct err *e);
#define TRAVEL_CUTS 12
/*
 * Where to leave checkpoints between two events: a long way gets some, so that what is gone through again is short.
 * How many.
 */
unsigned travel_cuts(struct travel *t, uint64_t from, uint64_t to, uint64_t cuts[TRAVEL_CUTS]);
/* The segment behind that event may have stops that are not counted. */
void travel_maybe(struct travel_last *last, uint64_t event);
/*
 * The segments in which there may be stops, in all->maybe (to be freed), of a piece of the way before event *to, which becomes the
 * piece's beginning.
 */
int travel_stopped_segments(struct travel *t, uint64_t *to, struct travel_last *all, struct err *e);
/* Does memory become other memory with one of the events behind `from`, up to `to`? Then nobody knows what was in there. 1, 0 or -1. */
int travel_remaps(struct travel *t, uint64_t from, uint64_t to, struct err *e);
/* TRAVEL_GROUP at an event: lets go of the process, which goes on standing. 1: it cannot, and is gone. */
int travel_stand(struct travel *t, struct err *e);
/* From TRAVEL_GROUP at an event, where it stays: leaves a checkpoint there. That there is none is no error. */
int travel_checkpoint(struct travel *t, struct err *e);
/* The last visible state of all. 1: there is none; nothing is held. */
int travel_last(struct travel *t, struct err *e);
/*
 * From TRAVEL_GROUP on: until something of breaks, thread `step` (0: none) has made a visible step, or event `until`
 * (STOP_LIMIT; the end of the timeline is STOP_END).
 */
int travel_run(struct travel *t, pid_t step, uint64_t until, struct stop *stop, struct err *e);

#endif
