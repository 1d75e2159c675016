/* SPDX-License-Identifier: MIT */
/*
 * breakpoints.h: what a debugger wants to stop at: breakpoints (an int3 in the text, there only while the process
 * runs) and data watchpoints (debug registers).
 */
#ifndef FRED_VISIBILITY_BREAKPOINTS_H
#define FRED_VISIBILITY_BREAKPOINTS_H

#include "visibility/condition.h"
#include "visibility/shim_frames.h"
#include "trace/group.h"

#define BREAKS_HANDLERS 31 /* a kind: where the shim calls signal handlers (visibility/signal_handlers.h) */
#define BREAKS_WATCHES (TRACE_SLOTS - 1) /* the last slot is for the end of a segment */

struct breaks_point {
	uint64_t addr;
	unsigned kinds; /* bit i: set as kind i */
	struct conds conds;
	uint8_t saved; /* the byte under the int3 */
	bool in;
	bool data; /* nothing is executed there: never inserted */
};

struct breaks {
	struct breaks_point *v;
	unsigned n;
	struct group_slot watch[BREAKS_WATCHES];
	struct group_slot *more; /* for which there is no debug register; those are all taken then */
	unsigned nmore;
	bool many; /* may there be such? */
	const struct process_view *view; /* of a user's, who sees only what is visible in there; NULL: all states are wanted */
	bool libraries; /* breaks_wanted: BREAKS_LIBRARY, too */
	bool signals; /* are stops too, but those that pass */
	uint64_t pass; /* bit N - 1: signal N */
};

enum breaks_verdict {
	BREAKS_PASS = 0,
	BREAKS_STOP,
	/*
	 * In the loader, which a function of the shim has called: nothing for a user, but the debugger, which has breakpoints
	 * of its own there, is to look for new libraries.
	 */
	BREAKS_LIBRARY,
};

/* Forgets all points, and nothing else. */
void breaks_fini(struct breaks *b);
bool breaks_stops_at_signal(const struct breaks *b, int sig);
/*
 * kind (0 to 31) keeps those apart that are set for different reasons: each is set and removed by itself, and setting it
 * again changes nothing. It has no conditions until it gets some.
 */
void breaks_add(struct breaks *b, uint64_t addr, unsigned kind);
void breaks_condition(struct breaks *b, uint64_t addr, const uint8_t *code, size_t len);
/*
 * pid cannot execute what is at addr, which is set: an int3 there would only spoil data. GDB leaves the place on the stack
 * to which a function that it calls returns set when that never does.
 */
void breaks_check(struct breaks *b, uint64_t addr, pid_t pid);
/* All of b's points, once each, besides those of to. */
void breaks_add_all(struct breaks *to, const struct breaks *b);
void breaks_remove(struct breaks *b, uint64_t addr, unsigned kind);
bool breaks_has(const struct breaks *b, uint64_t addr);
/*
 * t stands at one of b's points: is it to be stopped there? With a scene, in a function that the shim has called only when
 * it has just returned there: that is how one comes out of a function of the program's which was called from in there.
 */
enum breaks_verdict breaks_wanted(const struct breaks *b, struct trace *t);
/* No breakpoint and no watchpoint: nothing but a signal stops. */
bool breaks_empty(const struct breaks *b);

/* What is watched, by slot; what cannot be read is 0. */
struct breaks_words {
	uint8_t v[BREAKS_WATCHES][8];
};
void breaks_look(const struct breaks *b, pid_t pid, struct breaks_words *w);
/*
 * A stop in which these debug registers were hit: the one of b that it is for, and *w is brought up to date. A write of what was there
 * already is none: the debugger would only go on. *written: one of b's was hit. NULL: it is for none of them.
 */
const struct group_slot *breaks_watch_met(const struct breaks *b, pid_t pid, unsigned slots, struct breaks_words *w, bool *written);

/* Aligned pieces of up to 8 bytes. 1: there are not so many debug registers, and no more are allowed. */
int breaks_watch(struct breaks *b, enum group_slot_kind kind, uint64_t addr, unsigned len);
void breaks_unwatch(struct breaks *b, enum group_slot_kind kind, uint64_t addr, unsigned len);

/* t has executed an int3: 1: one of b, and the PC is put back to it; 0: another one; -1: error. */
int breaks_hit(const struct breaks *b, struct trace *t, struct err *e);

/* Puts the int3s into the text of a stopped process and takes them out. Text that is not mapped is skipped. */
int breaks_insert(struct breaks *b, pid_t pid, struct err *e);
int breaks_take_out(struct breaks *b, pid_t pid, struct err *e);
/* While they are in: takes out the one at addr alone, or puts it in again. */
int breaks_lift(struct breaks *b, pid_t pid, uint64_t addr, bool out, struct err *e);
/* The same in a copy of that process (a fork), while they stay in the process itself. */
int breaks_clean_copy(const struct breaks *b, pid_t copy, struct err *e);
/* The process has another program now: what was in its text is gone. */
void breaks_forget_text(struct breaks *b);

#endif
