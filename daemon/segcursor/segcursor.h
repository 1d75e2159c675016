/* SPDX-License-Identifier: MIT */
/*
 * segcursor.h: the segment cursor: it stands in a visible state (visibility/visibility.h) between two events, and moves
 * there in both directions. The process itself stays at the event before; the thread that moves next is held at the
 * beginning of the segment, and copies of the process (forks) run into it. `now` is the copy that a user looks at. To
 * go back, a new copy is made of an earlier one, and stopped earlier than `now`. No copy leaves the segment.
 *
 * replay/segment.h can also run to the nth arrival at an address (segment_run_to), for searches, which do so thousands
 * of times. It is a function of its own because it moves the target itself, which cannot go back then, counts states
 * that are not visible, and needs one debug register, but no copies and no breakpoints. The functions here stop at all
 * breakpoints and watchpoints that a debugger has set.
 *
 * Functions return 0, or -1 with e set, unless said otherwise.
 */
#ifndef FRED_SEGCURSOR_SEGCURSOR_H
#define FRED_SEGCURSOR_SEGCURSOR_H

#include "replay/navigate.h"
#include "replay/segment.h"
#include "visibility/breakpoints.h"
#include "visibility/visibility.h"

#define SEGCUR_MARKS 8

enum stop_kind {
	STOP_STEP = 1, /* moved as far as was asked */
	STOP_BREAK,
	STOP_LIBRARY, /* BREAKS_LIBRARY: a breakpoint at which the debugger learns of libraries */
	STOP_WATCH, /* addr: what was written or read */
	STOP_SIGNAL, /* sig is about to be delivered */
	STOP_HANDLER, /* the handler of sig is called next */
	STOP_OVER, /* the segment ends here */
	STOP_LIMIT, /* CPU time is used up */
	STOP_INTERRUPT, /* the user wants to stop */
	STOP_BEGIN, /* the timeline begins here */
	STOP_FIRST, /* the thread begins here */
	STOP_END, /* the timeline ends here */
	STOP_GOAL, /* segcursor_int.h: a state that was looked for, and is not visible */
	STOP_CALL, /* a system call comes next; addr: its number */
	STOP_HOT, /* segcursor_int.h: watched words were written very often without a change */
};

struct stop {
	enum stop_kind kind;
	int sig;
	uint64_t addr;
	enum group_slot_kind watch;
	bool before; /* STOP_WATCH: it stands before the instruction that makes the change, not after it */
};

struct goal;
struct segcur_look;
struct segcur_trail;
struct shim_frames;

struct segcur {
	uint64_t n; /* the event before it */
	struct visibility visibility;
	struct shim_frames *shim_frames; /* borrowed */
	struct shim_call shim_call; /* how base has reached its state */
	struct segment seg;
	struct trace base; /* a copy at the segment's start */
	struct trace mark[SEGCUR_MARKS]; /* copies that stay at visible states, ascending; the first is the segment's
					    first state */
	uint64_t mark_steps[SEGCUR_MARKS]; /* steps from the mark before; 0: not known */
	unsigned marks;
	struct trace now;
	uint64_t times; /* arrivals at now's PC from the first mark up to now; 0: not known */
	bool interrupted_at_end; /* the segment ends in the middle of the program's code (segcursor_run.c) */
	bool to_end; /* a copy is being run to that end */
	struct trace end; /* a copy at that end; zeroed until it is needed */
	uint64_t end_ns; /* CPU time from base to there */
	bool blind; /* the segment has no visible state; `now` stands at a breakpoint inside a call of the shim */
	bool counted; /* `steps` is known */
	uint64_t steps; /* from the last mark to now */
	int sig; /* to be delivered when `now` is resumed; minus its number: a fault that has already been reported as a
		  * stop
		  */
	/* Does the user want to stop? May be NULL, as it is when a segment was entered. */
	bool (*interrupted)(void *ctx);
	void *ctx;
	unsigned beats; /* calls of segcur_is_given_up */
	unsigned instructions; /* single steps of copies in search of a visible state */
	uint64_t patience; /* a running copy stops after this many writes that change nothing (STOP_HOT); 0: no limit */
	bool hurry; /* copies also stop where stops are so dense that a walk past them is quicker */
	bool hurried; /* a copy has stopped for that reason */
	bool walks; /* it is known that a walk to the last stop is quicker */
	struct segcur_look *look; /* walks also count changes of its words; NULL: only of the watched words */
	struct goal *goal; /* a step also ends in this state, even if it is not visible; NULL: none */
	/* if there are more stops than this, segcur_to_counted passes over this many, and subtracts them here */
	uint64_t over;
	struct segcur_trail *trail; /* where copies that run for long leave others behind; NULL: they do not */
};

/*
 * The target stands at event n. `now` is the first visible state. 1: the segment has none; nothing is entered.
 */
int segcur_enter(struct segcur *in, struct target *t, uint64_t n, struct shim_frames *o, struct err *e);
/* The same, but a segment without a visible state is entered, too; then there is no `now`. */
int segcur_enter_any(struct segcur *in, struct target *t, uint64_t n, struct shim_frames *o, struct err *e);
/* Ends all copies; the process runs to event n + 1 and stops there. Does nothing if nothing was entered. */
int segcur_leave(struct segcur *in, struct err *e);

/* Between these two calls the process itself, which stands at event n, may be checkpointed; the copies remain. */
int segcur_release(struct segcur *in, struct err *e);
int segcur_take(struct segcur *in, struct err *e);
/* Makes `now` the first visible state again. 1: there is none. */
int segcur_rewind(struct segcur *in, struct err *e);

/*
 * One visible step: STOP_STEP, STOP_SIGNAL, STOP_WATCH of b (NULL: none), or STOP_OVER: there is no further state, and
 * now has not moved; watch and addr then tell which watchpoint was met on the way to the end.
 */
int segcur_step(struct segcur *in, const struct breaks *b, struct stop *stop, struct err *e);
/* Returns what segcur_step would; `now` does not move. */
int segcur_look_on(struct segcur *in, const struct breaks *b, struct stop *stop, struct err *e);
/*
 * Runs to the next stop of b, not counting the place where it stands. STOP_OVER: there is none; then there is no `now`
 * any more.
 */
int segcur_run(struct segcur *in, struct breaks *b, struct stop *stop, struct err *e);
/* Goes to the visible state before. 1: `now` is the first one. */
int segcur_back(struct segcur *in, struct err *e);
/* Does the segment end in the middle of the program? Then no copy of `now` finds its end (segcursor_run.c). */
bool segcur_ends_in_program(const struct segcur *in);
/* Goes to the last visible state. */
int segcur_to_end(struct segcur *in, struct err *e);
/* Goes to the state of `want`, a thread of another process in the same segment. 1: it is not found. */
int segcur_find(struct segcur *in, struct trace *want, struct err *e);
/* A copy that is kept for a while, at a stop or, if stop.kind is 0, between two stops. */
struct segcur_kept {
	struct trace t;
	struct stop stop;
	uint64_t k; /* the stop's number, or how many stops were before */
	uint64_t ns; /* its CPU time */
};
/*
 * Copies that a running copy has left behind on its way: the next run begins at one of them instead of the segment's
 * beginning.
 */
struct segcur_trail {
	struct segcur_kept last; /* at a visible state */
	const uint64_t *k; /* the number of stops so far, for last.k; NULL: they are not counted */
};
/* The stops on the way to a state. Free it with segcur_count_fini. */
struct segcur_count {
	uint64_t most; /* at most this many stops are counted; 0: any number */
	uint64_t k; /* stops before the state */
	bool known; /* all are counted */
	bool keep; /* near, before and trail are wanted */
	struct segcur_kept near, before; /* at one of the last stops, and some time before that */
	struct segcur_trail trail;
};
/* As segcur_find, and counts the stops of b before the state. 1: there are too many. Free *c in any case. */
int segcur_find_counting(struct segcur *in, struct trace *want, struct breaks *b, struct segcur_count *c,
			 struct err *e);
/* Goes to the last of the counted stops, or to one before it (segcur.over). 1: there is none. */
int segcur_to_counted(struct segcur *in, struct breaks *b, struct segcur_count *c, struct stop *stop, struct err *e);
void segcur_count_fini(struct segcur_count *c);
/* Goes to the k-th stop of b (from 1). 1: there are fewer. */
int segcur_nth_stop(struct segcur *in, struct breaks *b, uint64_t k, struct stop *stop, struct err *e);
/*
 * How many stops of b, which has no watchpoints, there are in the segment. 1: more than `most`, and they cannot be
 * counted by a walk. Afterwards it is not known where `now` is.
 */
int segcur_count_all(struct segcur *in, struct breaks *b, uint64_t most, uint64_t *k, struct err *e);
/* See cursor_back_over: stops of b count. SEGCUR_CHANGED: the last is a change of a watched word, and nothing has
 * moved. */
#define SEGCUR_CHANGED 2
int segcur_back_over(struct segcur *in, struct breaks *b, uint64_t lo, uint64_t hi, uint64_t sp, struct err *e);
/* Goes to the last stop of b in the segment. 1: there is none. */
int segcur_last_stop(struct segcur *in, struct breaks *b, struct stop *stop, struct err *e);
/* Which segments may have stops. */
struct segcur_far {
	uint64_t to; /* the search ends at this event; until then no other thread moves, and no memory is mapped */
	/*
	 * Called with each event after which there may be stops, in ascending order. NULL: the search ends at the first
	 * one.
	 */
	void (*maybe)(void *ctx, uint64_t event);
	void *ctx;
	uint64_t at; /* up to this event the result is known; with `found`, there may be stops after it */
	bool found;
};
/*
 * t, a copy of the thread that moves after event n of the target, stands inside the segment. Are there stops of b on
 * the rest of its way, and in the segments after it? *f: to, maybe and ctx are set. Afterwards it is not known where t
 * is.
 */
int segcur_go_far(struct target *target, uint64_t n, struct trace *t, const struct process_view *view, struct breaks *b,
		  struct segcur_far *f, struct err *e);
/* A thread of a copy that has several. */
struct segcur_thread {
	struct trace t;
	uint32_t ordinal;
};
/*
 * The same for a copy with several threads, of which thread who[i] moves after event n + i; f->maybe is not NULL. v[0]
 * is the one that moves after event n, and may stand anywhere; the others stand in the recorder, which must know of
 * replay_ctl.walks_threads. Stops count even if their conditions are false.
 */
int segcur_go_far_all(struct target *target, uint64_t n, struct segcur_thread *v, unsigned threads, const uint32_t *who,
		      const struct process_view *view, struct breaks *b, struct segcur_far *f, struct err *e);
/* Goes to the last stop of b before now. 1: there is none. */
int segcur_back_to_stop(struct segcur *in, struct breaks *b, struct stop *stop, struct err *e);
/* A change of watched words: by the instruction at pc, the hits-th time that the segment comes there; values by slot.
 */
struct segcur_change {
	uint64_t pc, hits;
	uint64_t was[BREAKS_WATCHES], now[BREAKS_WATCHES];
};
#define SEGCUR_CHANGES 200 /* the most at once */
/*
 * Finds the last changes after the first visible state, up to now or to the end of the segment. There are *all changes;
 * the last *n of these, at most `most`, are put into v, in ascending order. b must have only watchpoints for writes. 1:
 * a walk cannot do this.
 */
int segcur_changes(struct segcur *in, struct breaks *b, bool to_end, struct segcur_change *v, unsigned most,
		   unsigned *n, uint64_t *all, struct err *e);
/*
 * Walks to the hits-th time (from 1) at pc, which is passed very often: STOP_END, or a stop of b (NULL: none) on the
 * way. fresh: from the segment's beginning, else from `now`. 1: a walk cannot do this.
 */
int segcur_walk_until(struct segcur *in, bool fresh, const struct breaks *b, uint64_t pc, uint64_t hits,
		      struct stop *stop, struct err *e);

/*
 * A search for the state that is most similar to a partly known one, among all arrivals at pc in the segment. It ends
 * at a state that does not differ, at the end of the segment, or at a limit.
 */
struct segcur_similar {
	uint64_t pc;
	/*
	 * A copy stands at pc with registers r. 1: it differs by *differ, in a unit that the caller chooses, and which
	 * need not be exact if it is above `least`; 0: it is not a candidate; -1: error.
	 */
	int (*differ)(void *ctx, struct trace *t, const struct user_regs_struct *r, uint64_t least, uint64_t *differ,
		      struct err *e);
	void *ctx;
	uint64_t budget_ns; /* limits: 0: none; as in trace/budget.h */
	uint64_t most_arrivals;
	unsigned most_compared; /* after this many comparisons the search is complete, which is not SEGCUR_CUT */
	bool cut_will_do; /* a limit is no failure if there is a candidate */
	/* results; to be zeroed */
	uint64_t arrivals; /* at pc, up to where the search has ended */
	unsigned compared;
	uint64_t best; /* the arrival, from 1, that is most similar; 0: none is a candidate */
	uint64_t least; /* by how much it differs */
};
enum { SEGCUR_NONE = 1, SEGCUR_CUT = 2 };
/* `now` becomes that state (0). It stays where it is when there is no candidate (SEGCUR_NONE), or a limit was reached
 * (SEGCUR_CUT). */
int segcur_most_similar(struct segcur *in, struct segcur_similar *s, struct err *e);

/* The number of stops of b before now. */
int segcur_count_stops(struct segcur *in, struct breaks *b, uint64_t *k, struct err *e);

#endif
