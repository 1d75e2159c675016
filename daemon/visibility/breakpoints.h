/* SPDX-License-Identifier: MIT */
/*
 * breakpoints.h: where a debugger wants the program to stop: breakpoints (an int3 in the text, which is there only
 * while the process runs) and data watchpoints (debug registers).
 */
#ifndef FRED_VISIBILITY_BREAKPOINTS_H
#define FRED_VISIBILITY_BREAKPOINTS_H

#include "trace/group.h"
#include "visibility/condition.h"
#include "visibility/shim_frames.h"
#include "visibility/watch_conditions.h"

#define BREAKS_HANDLERS 31 /* the kind of the point at the call of signal handlers (visibility/signal_handlers.h) */
#define BREAKS_WATCHES (TRACE_SLOTS - 1) /* the last slot is for the end of a segment */

struct breaks_point {
	uint64_t addr;
	unsigned kinds; /* bit i: set as kind i */
	struct conds conds;
	uint8_t saved; /* the byte under the int3 */
	bool in;
	bool data; /* it is not executable, so no int3 is inserted */
};

struct breaks {
	struct breaks_point *v;
	unsigned n;
	struct group_slot watch[BREAKS_WATCHES];
	struct group_slot *more; /* watched words beyond the debug registers */
	unsigned nmore;
	bool many; /* `more` may be used */
	struct watch_conditions *watch_conditions; /* borrowed; NULL: none */
	const struct process_view *view; /* only states visible in it are stops; NULL: all are */
	bool libraries; /* breaks_wanted may answer BREAKS_LIBRARY */
	bool signals; /* signals are stops, except those in `pass` */
	uint64_t pass; /* bit N - 1: signal N */
};

enum breaks_verdict {
	BREAKS_PASS = 0,
	BREAKS_STOP,
	/*
	 * A breakpoint of the debugger's own in the loader, at which it learns of new libraries. The shim has called
	 * the loader, so this state is not shown to the user.
	 */
	BREAKS_LIBRARY,
};

/* Removes all breakpoints and watched words; settings stay. */
void breaks_fini(struct breaks *b);
bool breaks_stops_at_signal(const struct breaks *b, int sig);
/*
 * A point can be set for several reasons, called its kinds (0 to 31); it is removed with its last kind. Setting a point
 * removes its conditions.
 */
void breaks_add(struct breaks *b, uint64_t addr, unsigned kind);
void breaks_condition(struct breaks *b, uint64_t addr, const uint8_t *code, size_t len);
/*
 * If memory at addr, a point, cannot be executed in pid, no int3 is inserted there: it would only spoil data. GDB
 * leaves a breakpoint on the stack when a function that it called has not returned.
 */
void breaks_check(struct breaks *b, uint64_t addr, pid_t pid);
/* Adds all points of b to `to`, each once. */
void breaks_add_all(struct breaks *to, const struct breaks *b);
void breaks_remove(struct breaks *b, uint64_t addr, unsigned kind);
bool breaks_has(const struct breaks *b, uint64_t addr);
bool breaks_has_condition(const struct breaks *b, uint64_t addr);
/*
 * t stands at one of b's points: is it a stop? With b->view, a point in a function that the shim has called is a stop
 * only if the thread has just returned to it: in this way a debugger finishes a function of the program that was called
 * from there.
 */
enum breaks_verdict breaks_wanted(const struct breaks *b, struct trace *t);
/* Are there no breakpoints and no watchpoints? Then only a signal stops the program. */
bool breaks_empty(const struct breaks *b);

/* The values of the watched words, by slot; 0 if unreadable. */
struct breaks_words {
	uint8_t v[BREAKS_WATCHES][8];
};
void breaks_look(const struct breaks *b, pid_t pid, struct breaks_words *w);
/*
 * Thread t has hit the debug registers `slots`. Returns the watchpoint of b that it stops for; *w becomes the present
 * values. It does not stop (NULL) for a write that changes nothing, as the debugger would only continue, or for a
 * change at which the watchpoint's condition is false. *written: one of b's was hit (changes with a false condition do
 * not count, unless those are walked past).
 */
const struct group_slot *breaks_watch_met(const struct breaks *b, struct trace *t, unsigned slots,
					  struct breaks_words *w, bool *written);

/* A debug register that b does not use. -1: there is none. */
int breaks_free_slot(const struct breaks *b);
/*
 * Watches memory, in aligned pieces of up to 8 bytes. 1: there are not enough debug registers, and more words are not
 * allowed.
 */
int breaks_watch(struct breaks *b, enum group_slot_kind kind, uint64_t addr, unsigned len);
void breaks_unwatch(struct breaks *b, enum group_slot_kind kind, uint64_t addr, unsigned len);

/* t has executed an int3. 1: it is one of b's, and the PC is set back to it; 0: another one; -1: error. */
int breaks_hit(const struct breaks *b, struct trace *t, struct err *e);

/* Puts the int3s into the text of a stopped process and takes them out. Text that is not mapped is skipped. */
int breaks_insert(struct breaks *b, pid_t pid, struct err *e);
int breaks_take_out(struct breaks *b, pid_t pid, struct err *e);
/* While they are inserted: takes out only the one at addr, or inserts it again. */
int breaks_lift(struct breaks *b, pid_t pid, uint64_t addr, bool out, struct err *e);
/* Takes them out of a copy of that process (a fork); they stay in the process itself. */
int breaks_clean_copy(const struct breaks *b, pid_t copy, struct err *e);
/* The process has another program now: what was in its text is gone. */
void breaks_forget_text(struct breaks *b);

#endif
