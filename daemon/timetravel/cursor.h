/* SPDX-License-Identifier: MIT */
/*
 * cursor.h: the timeline cursor: a process of a recording that a debugger moves forwards and backwards. It always
 * stands at a visible state of one thread (visibility/visibility.h), or at the end of the timeline.
 *
 * Forwards, all threads of the process are held by ptrace and run at full speed; the shim lets one of them move at a
 * time (CURSOR_GROUP). Backwards, the process is brought from a checkpoint to the event before the wanted state, and a
 * copy of it goes from there into the segment (segcursor/segcursor.h); that copy is what the user then looks at
 * (CURSOR_INSIDE).
 *
 * All functions return 0, or -1 with e set, unless it is said otherwise.
 */
#ifndef FRED_TIMETRAVEL_CURSOR_H
#define FRED_TIMETRAVEL_CURSOR_H

#include "segcursor/segcursor.h"
#include "timetravel/next_segment.h"
#include "visibility/shim_frames.h"

enum cursor_mode {
	CURSOR_NOWHERE = 0,
	CURSOR_GROUP, /* the process itself, all threads stopped */
	CURSOR_INSIDE, /* a copy in a segment */
};

/* The last of the stops that a run counts (cursor.count). */
struct cursor_last {
	uint64_t event, k; /* it is the kth one after this event, from 1; k is 0: there was none */
	uint64_t met; /* all that were counted */
	bool many; /* not all stops after the event were counted: it is the kth or a later one */
	bool all; /* add the event of each segment with stops to `maybe` */
	uint64_t written, writes; /* after event `written`, watched words were written this often without a change */
	uint64_t all_writes; /* such writes, and stops, in all segments since one was left for that */
	uint64_t patience; /* when there are more such writes in a segment, the rest of it is left out */
	uint64_t *maybe; /* events of later segments that may have changes, ascending; malloc'd */
	size_t maybes;
};

/* How well the place of a live program was found. */
enum history_end_found {
	HISTORY_END_EXACT = 0,
	HISTORY_END_ALIKE, /* the most similar state; none is equal */
	HISTORY_END_EARLIER, /* it computes for long without an event: its place is somewhere after this one */
};

/* Where a program that is still being recorded stands, after the last recorded event. */
struct history_end {
	bool on;
	enum history_end_found found;
	struct timeline_point at;
};

#define CURSOR_CALLS_MAX 512

/* System calls that are stops (`catch syscall`). */
struct cursor_calls {
	bool on, all;
	uint64_t set[CURSOR_CALLS_MAX / 64]; /* bit N: system call number N */
	struct timeline_point at; /* the last stop for one; pc 0: there was none */
};

struct cursor_ops;

struct cursor {
	const struct cursor_ops *ops; /* cursor_ops.h; cursor_init sets those of a real process */
	struct nav *nav; /* borrowed */
	struct cursor_last
		*count; /* while set, a run counts breakpoints and watchpoints here and does not stop at them */
	uint64_t patience; /* a run without `count` stops after this many writes that are no stops, in one segment
			      (STOP_HOT); 0: no limit */
	struct history_end history_end; /* on: the timeline ends there, and not with an event */
	struct breaks breaks; /* what both directions stop at */
	struct breaks_words at_stop; /* what is watched, after the change or at the breakpoint last gone back to */
	struct cursor_calls calls;
	bool faults; /* a fault was a stop at least once */
	int signals; /* does the recording have signals? 0: not known yet, 1: yes, -1: no */
	enum cursor_mode mode;
	struct visibility visibility;
	struct shim_frames shim_frames;
	struct process_view view; /* of these two, for breaks */
	struct group group;
	bool in_translation; /* CURSOR_GROUP: interrupted in the shim's translated code, which is no position */
	struct segcur in;
	struct group_thread *other; /* CURSOR_INSIDE: threads of the process that are held only to be looked at */
	unsigned others;
	pid_t tid; /* the thread of the last stop */
	uint64_t least, most; /* stops are looked for after event `least` and before event `most`; 0: no bound */
	uint32_t runs; /* of cursor_run, counted */
	struct next_segment next; /* of the thread that is stepped */
	/*
	 * cursor_back_continue may pass over this many stops of its segment, which need not be met one by one then; it
	 * subtracts those that it has passed over
	 */
	uint64_t over;
	uint64_t work; /* the cost of its moves so far: about milliseconds on an idle machine */
	uint64_t move_ms; /* the cost of each move other than a step; 0: not known yet */
	bool (*interrupted)(void *ctx); /* does the user want to stop? May be NULL */
	void *ctx;
};

void cursor_init(struct cursor *t, struct nav *nav);
void cursor_fini(struct cursor *t);

/*
 * Going to a position, and telling where it stands. reclog/pos.h explains positions; README.md lists the functions that
 * convert one kind into another.
 */

/* Goes to the first visible state at or after event n. */
int cursor_goto(struct cursor *t, uint64_t n, struct err *e);
/*
 * Goes to a point inside a segment (pc is not 0). ERR_USAGE: the segment does not reach that address as often as the
 * point says.
 */
int cursor_goto_point(struct cursor *t, const struct timeline_point *p, struct err *e);
/*
 * Goes to a point that a user has given, which need not exist. ERR_USAGE tells how often the segment comes to that
 * address.
 */
int cursor_goto_given(struct cursor *t, const struct timeline_point *p, struct err *e);
/* As cursor_goto_given; but goes to the visible state before the point, if that is not visible. */
int cursor_goto_seen(struct cursor *t, const struct timeline_point *p, struct err *e);
/* Goes to the last visible state before event n + 1. 1: there is none after event n. */
int cursor_goto_end(struct cursor *t, uint64_t n, struct err *e);
/* live.c: goes to where a live program stands (rec->live is set), which becomes the end of history. */
struct thread_snapshot;
int cursor_goto_live(struct cursor *t, const struct thread_snapshot *p, struct err *e);
/* Where it stands, exactly. This does not change the visible state; CURSOR_GROUP becomes CURSOR_INSIDE. */
int cursor_where(struct cursor *t, struct timeline_point *p, struct err *e);
/* The last event that has taken effect, and the last one of the timeline. */
uint64_t cursor_event(const struct cursor *t);
uint64_t cursor_total(const struct cursor *t);

/* Moving: to the next stop, or by steps; *stop says why it stands there. */

int cursor_continue(struct cursor *t, struct stop *stop, struct err *e);
/* Makes one visible step of thread tid; the others move as they do on the timeline. */
int cursor_step(struct cursor *t, pid_t tid, struct stop *stop, struct err *e);
/*
 * Continues at full speed, where thread tid alone moves: up to one of these n addresses (STOP_STEP), to another stop,
 * or with a step over the end of its segment. 1: that cannot be done here, and nothing has happened: the caller has to
 * step.
 */
int cursor_run_within(struct cursor *t, pid_t tid, const uint64_t *at, unsigned n, struct stop *stop, struct err *e);
/* Goes back to the last stop before this state, or to the beginning (STOP_BEGIN). */
int cursor_back_continue(struct cursor *t, struct stop *stop, struct err *e);
/* Goes back to the previous visible state of thread tid. STOP_FIRST: the thread begins here. */
int cursor_back_step(struct cursor *t, pid_t tid, struct stop *stop, struct err *e);
/*
 * Goes back to where thread tid, which is in [lo, hi), last entered that range, or to a breakpoint after that.
 * Instructions executed with a stack pointer below sp are of called functions and do not count. 1: nothing has
 * happened: the caller has to step.
 */
int cursor_back_over(struct cursor *t, pid_t tid, uint64_t lo, uint64_t hi, uint64_t sp, struct stop *stop,
		     struct err *e);
/* From here on signals are stops, too, except those in t->breaks.pass. The shim has to be mapped where it stands. */
void cursor_stop_at_signals(struct cursor *t);

/* Looking at where it stands. */

/* The siginfo_t of the signal that it stopped for, as its handler gets it (sigaction(2)). ERR_NOT_FOUND: there is none.
 */
int cursor_siginfo(struct cursor *t, siginfo_t *info, struct err *e);
/* A stopped thread, to read registers of. NULL: there is none, e is set. */
/* In a plain cell a thread gets another TID when its process is started again: which one it has now. */
static inline pid_t cursor_now(const struct cursor *t, pid_t tid)
{
	return t->nav ? target_now(&t->nav->t, tid) : tid;
}
struct trace *cursor_thread(struct cursor *t, pid_t tid, struct err *e);
/* The process that has the memory to look at. */
pid_t cursor_memory(const struct cursor *t);

#endif
