/* SPDX-License-Identifier: MIT */
/*
 * travel.h: a recording's process that runs forwards and backwards for a debugger. It stands at a visible state
 * (view/sight.h) of one thread, or at the end of the timeline.
 *
 * Forwards all its threads are held by ptrace and run at full speed; the shim lets one of them move at a time.
 * Backwards it is brought to the event before the wanted state, from a checkpoint, and a copy of it goes into the
 * segment from there (debug/inside.h), which is then what is looked at.
 */
#ifndef FRED_DEBUG_TRAVEL_H
#define FRED_DEBUG_TRAVEL_H

#include "debug/ahead.h"
#include "debug/inside.h"
#include "view/outside.h"

enum travel_mode {
	TRAVEL_NOWHERE = 0,
	TRAVEL_GROUP, /* the process itself, all threads stopped */
	TRAVEL_INSIDE, /* a copy in a segment */
};

/* The last stop of some: it was the kth one behind its event, from 1; 0: there was none. */
struct travel_last {
	uint64_t event, k;
	bool many; /* it was not counted to the end: the kth, or a later one */
	bool all; /* every segment with stops is put to `maybe` */
	uint64_t written, writes; /* watched words were written without being changed: behind which event, and how often there */
	uint64_t *maybe; /* later segments, by their events, rising: there may be changes in them; malloc'd */
	size_t maybes;
};

/* Is that the very place of the live program? */
enum edge_found {
	EDGE_EXACT = 0,
	EDGE_ALIKE, /* the most similar state; none is the same */
	EDGE_EARLIER, /* it has computed for long without an event: the place is further on, who knows where */
};

/* Where a program that is still being recorded stands: the hits-th time at pc behind event n, the last one. */
struct travel_edge {
	bool on;
	enum edge_found found;
	uint64_t n, pc, hits;
};

#define TRAVEL_CALLS_MAX 512

/* Calls of the kernel that are stops. */
struct travel_calls {
	bool on, all;
	uint64_t set[TRAVEL_CALLS_MAX / 64]; /* bit N of them: number N */
	struct timeline_point at; /* the last stop for one; pc 0: there was none */
};

struct travel {
	struct nav *nav; /* borrowed */
	struct travel_last *count; /* travel_run: breakpoints and watchpoints are counted here, and stop nothing; else NULL */
	struct travel_edge edge; /* the timeline ends there, and not with an event */
	struct breaks breaks; /* what both directions stop at */
	struct travel_calls calls;
	bool faults; /* some were met that are stops */
	int signals; /* are some recorded? 0: not known yet, 1, or -1 */
	enum travel_mode mode;
	struct sight sight;
	struct outside outside;
	struct scene scene; /* both, for breaks */
	struct group group;
	struct inside in;
	struct group_thread *other; /* TRAVEL_INSIDE: threads held to be looked at */
	unsigned others;
	pid_t tid; /* the thread of the last stop */
	uint64_t least, most; /* events between which a stop is looked for: behind, and before; 0: everywhere. travel_many.c */
	uint32_t runs; /* of travel_run */
	struct ahead ahead; /* of the thread that is stepped */
	/* Does the user want to stop? May be NULL. */
	bool (*interrupted)(void *ctx);
	void *ctx;
};

void travel_init(struct travel *t, struct nav *nav);
void travel_fini(struct travel *t);

/* To the first visible state at or behind event n. */
int travel_goto(struct travel *t, uint64_t n, struct err *e);
/* From here on signals are stops, too, but those in t->breaks.pass; where it stands now, the shim is mapped. */
void travel_stop_at_signals(struct travel *t);
/* Of the signal that stopped it where it stands, what its handler is told (sigaction(2)). ERR_NOT_FOUND: none has. */
int travel_siginfo(struct travel *t, siginfo_t *info, struct err *e);
/* To the hits-th time at pc behind event n. */
int travel_goto_pc(struct travel *t, uint64_t n, uint64_t pc, uint64_t hits, struct err *e);

int travel_continue(struct travel *t, struct stop *stop, struct err *e);
/* One visible step of thread tid; the others go on as the timeline has it. */
int travel_step(struct travel *t, pid_t tid, struct stop *stop, struct err *e);
/* To the last stop before this state, or the beginning. */
int travel_back_continue(struct travel *t, struct stop *stop, struct err *e);
/* To the state before of thread tid. */
int travel_back_step(struct travel *t, pid_t tid, struct stop *stop, struct err *e);

/*
 * To where thread tid came into [lo, hi), in which it is and has been since, or to a breakpoint behind that. What it executes with a
 * stack pointer below sp does not count. 1: nothing is gained, and nothing has happened.
 */
int travel_back_over(struct travel *t, pid_t tid, uint64_t lo, uint64_t hi, uint64_t sp, struct stop *stop, struct err *e);

/* As travel_goto_pc, but to the visible state before, if that one is none. */
int travel_goto_seen(struct travel *t, uint64_t n, uint64_t pc, uint64_t hits, struct err *e);
/* To the last visible state before event n + 1. */
int travel_goto_end(struct travel *t, uint64_t n, struct err *e);
/*
 * Where it stands, exactly; pc 0: at the end of the timeline, behind the event. What is looked at stays the same.
 */
int travel_where(struct travel *t, struct timeline_point *p, struct err *e);
/* edge.c: to where a live program stands (rec->live is set), which becomes the end. */
struct stance;
int travel_goto_live(struct travel *t, const struct stance *p, struct err *e);
/* The last event. */
uint64_t travel_total(const struct travel *t);
/* Events done. */
uint64_t travel_event(const struct travel *t);
/* A stopped thread to read registers of; NULL and e set when there is none. */
struct trace *travel_thread(struct travel *t, pid_t tid, struct err *e);
/* The process whose memory it is. */
pid_t travel_memory(const struct travel *t);

#endif
