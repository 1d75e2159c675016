/* SPDX-License-Identifier: MIT */
/*
 * cursor.h: a recording's process that runs forwards and backwards for a debugger. It stands at a visible state
 * (visibility/visibility.h) of one thread, or at the end of the timeline.
 *
 * Forwards all its threads are held by ptrace and run at full speed; the shim lets one of them move at a time.
 * Backwards it is brought to the event before the wanted state, from a checkpoint, and a copy of it goes into the
 * segment from there (segcursor/segcursor.h), which is then what is looked at.
 */
#ifndef FRED_TIMETRAVEL_CURSOR_H
#define FRED_TIMETRAVEL_CURSOR_H

#include "timetravel/next_segment.h"
#include "segcursor/segcursor.h"
#include "visibility/shim_frames.h"

enum cursor_mode {
	CURSOR_NOWHERE = 0,
	CURSOR_GROUP, /* the process itself, all threads stopped */
	CURSOR_INSIDE, /* a copy in a segment */
};

/* The last stop of some: it was the kth one behind its event, from 1; 0: there was none. */
struct cursor_last {
	uint64_t event, k;
	bool many; /* it was not counted to the end: the kth, or a later one */
	bool all; /* every segment with stops is put to `maybe` */
	uint64_t written, writes; /* watched words were written without being changed: behind which event, and how often there */
	uint64_t *maybe; /* later segments, by their events, rising: there may be changes in them; malloc'd */
	size_t maybes;
};

/* Is that the very place of the live program? */
enum history_end_found {
	HISTORY_END_EXACT = 0,
	HISTORY_END_ALIKE, /* the most similar state; none is the same */
	HISTORY_END_EARLIER, /* it has computed for long without an event: the place is further on, who knows where */
};

/* Where a program that is still being recorded stands: the hits-th time at pc behind event n, the last one. */
struct history_end {
	bool on;
	enum history_end_found found;
	uint64_t n, pc, hits;
};

#define CURSOR_CALLS_MAX 512

/* Calls of the kernel that are stops. */
struct cursor_calls {
	bool on, all;
	uint64_t set[CURSOR_CALLS_MAX / 64]; /* bit N of them: number N */
	struct timeline_point at; /* the last stop for one; pc 0: there was none */
};

struct cursor {
	struct nav *nav; /* borrowed */
	struct cursor_last *count; /* cursor_run: breakpoints and watchpoints are counted here, and stop nothing; else NULL */
	struct history_end history_end; /* the timeline ends there, and not with an event */
	struct breaks breaks; /* what both directions stop at */
	struct cursor_calls calls;
	bool faults; /* some were met that are stops */
	int signals; /* are some recorded? 0: not known yet, 1, or -1 */
	enum cursor_mode mode;
	struct visibility visibility;
	struct shim_frames shim_frames;
	struct process_view view; /* both, for breaks */
	struct group group;
	struct segcur in;
	struct group_thread *other; /* CURSOR_INSIDE: threads held to be looked at */
	unsigned others;
	pid_t tid; /* the thread of the last stop */
	uint64_t least, most; /* events between which a stop is looked for: behind, and before; 0: everywhere. cursor_many.c */
	uint32_t runs; /* of cursor_run */
	struct next_segment next; /* of the thread that is stepped */
	/* Does the user want to stop? May be NULL. */
	bool (*interrupted)(void *ctx);
	void *ctx;
};

void cursor_init(struct cursor *t, struct nav *nav);
void cursor_fini(struct cursor *t);

/* To the first visible state at or behind event n. */
int cursor_goto(struct cursor *t, uint64_t n, struct err *e);
/* From here on signals are stops, too, but those in t->breaks.pass; where it stands now, the shim is mapped. */
void cursor_stop_at_signals(struct cursor *t);
/* Of the signal that stopped it where it stands, what its handler is told (sigaction(2)). ERR_NOT_FOUND: none has. */
int cursor_siginfo(struct cursor *t, siginfo_t *info, struct err *e);
/* To the hits-th time at pc behind event n. */
int cursor_goto_pc(struct cursor *t, uint64_t n, uint64_t pc, uint64_t hits, struct err *e);

int cursor_continue(struct cursor *t, struct stop *stop, struct err *e);
/* One visible step of thread tid; the others go on as the timeline has it. */
int cursor_step(struct cursor *t, pid_t tid, struct stop *stop, struct err *e);
/* To the last stop before this state, or the beginning. */
int cursor_back_continue(struct cursor *t, struct stop *stop, struct err *e);
/* To the state before of thread tid. */
int cursor_back_step(struct cursor *t, pid_t tid, struct stop *stop, struct err *e);

/*
 * To where thread tid came into [lo, hi), in which it is and has been since, or to a breakpoint behind that. What it executes with a
 * stack pointer below sp does not count. 1: nothing is gained, and nothing has happened.
 */
int cursor_back_over(struct cursor *t, pid_t tid, uint64_t lo, uint64_t hi, uint64_t sp, struct stop *stop, struct err *e);

/* As cursor_goto_pc, but to the visible state before, if that one is none. */
int cursor_goto_seen(struct cursor *t, uint64_t n, uint64_t pc, uint64_t hits, struct err *e);
/* To the last visible state before event n + 1. */
int cursor_goto_end(struct cursor *t, uint64_t n, struct err *e);
/*
 * Where it stands, exactly; pc 0: at the end of the timeline, behind the event. What is looked at stays the same.
 */
int cursor_where(struct cursor *t, struct timeline_point *p, struct err *e);
/* history_end.c: to where a live program stands (rec->live is set), which becomes the end. */
struct thread_snapshot;
int cursor_goto_live(struct cursor *t, const struct thread_snapshot *p, struct err *e);
/* The last event. */
uint64_t cursor_total(const struct cursor *t);
/* Events done. */
uint64_t cursor_event(const struct cursor *t);
/* A stopped thread to read registers of; NULL and e set when there is none. */
struct trace *cursor_thread(struct cursor *t, pid_t tid, struct err *e);
/* The process whose memory it is. */
pid_t cursor_memory(const struct cursor *t);

#endif
