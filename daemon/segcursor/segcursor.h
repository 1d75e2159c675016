/* SPDX-License-Identifier: MIT */
/*
 * segcursor.h: inside a segment, in both directions. The process stands at the event before; its moving thread is
 * held at the segment's start, and copies of it go into the segment. `now` is the copy that a user looks at; back is a
 * new copy of an earlier one that goes less far. No copy leaves the segment.
 * Steps are from one visible state (visibility/visibility.h) to the next.
 */
#ifndef FRED_SEGCURSOR_SEGCURSOR_H
#define FRED_SEGCURSOR_SEGCURSOR_H

#include "visibility/breakpoints.h"
#include "visibility/visibility.h"
#include "replay/navigate.h"
#include "replay/segment.h"

#define SEGCUR_MARKS 8

enum stop_kind {
	STOP_STEP = 1, /* moved as far as was asked */
	STOP_BREAK,
	STOP_LIBRARY, /* a breakpoint of the debugger's own at which it learns of libraries: BREAKS_LIBRARY */
	STOP_WATCH, /* addr: what was written or read */
	STOP_SIGNAL, /* sig is about to be delivered */
	STOP_HANDLER, /* of sig: it is called next */
	STOP_OVER, /* the segment ends here */
	STOP_LIMIT, /* CPU time is used up */
	STOP_INTERRUPT, /* the user wants to stop */
	STOP_BEGIN, /* the timeline begins here */
	STOP_FIRST, /* the thread does */
	STOP_END, /* ... and ends here */
	STOP_GOAL, /* segcursor_int.h: an invisible state that was looked for */
	STOP_CALL, /* of the kernel, which comes next; addr: its number */
	STOP_HOT, /* segcursor_int.h: watched words were written to so often, without a change */
};

struct stop {
	enum stop_kind kind;
	int sig;
	uint64_t addr;
	enum group_slot_kind watch;
	bool before; /* STOP_WATCH: it stands before the instruction that makes the change, not behind it */
};

struct goal;
struct segcur_trail;
struct shim_frames;

struct segcur {
	uint64_t n; /* the event before it */
	struct visibility visibility;
	struct shim_frames *shim_frames; /* borrowed */
	struct shim_call shim_call; /* of base */
	struct segment seg;
	struct trace base; /* at the segment's start, on memory of its own */
	struct trace mark[SEGCUR_MARKS]; /* visible states in rising order; the first is the segment's first */
	uint64_t mark_steps[SEGCUR_MARKS]; /* from the mark before; 0: unknown */
	unsigned marks;
	struct trace now;
	uint64_t times; /* at its PC from the first mark up to now; 0: unknown */
	bool interrupted_at_end; /* segcursor_end.c */
	bool to_end; /* a copy is on its way there */
	struct trace end; /* there; zeroed until somebody asks */
	uint64_t end_ns; /* CPU time from base to there */
	bool blind; /* the segment has no visible state; now is one where a breakpoint was met inside the shim's calls */
	bool counted;
	uint64_t steps; /* when counted: from the last mark to now */
	int sig; /* to be delivered when now goes on */
	/* Does the user want to stop? May be NULL, which it is when a segment was entered. */
	bool (*interrupted)(void *ctx);
	void *ctx;
	unsigned beats; /* how often that might have been asked */
	uint64_t patience; /* a copy that runs ends at so many writes that change nothing (STOP_HOT); 0: it does not */
	struct goal *goal; /* a step ends there too, though it be invisible; NULL: none */
	struct segcur_trail *trail; /* copies that run for long leave others behind; NULL: they do not */
};

/*
 * The target stands at event n. `now` is the first visible state. 1: the segment has none; nothing is entered.
 */
int segcur_enter(struct segcur *in, struct target *t, uint64_t n, struct shim_frames *o, struct err *e);
/* As that, but a segment without one is entered too: there is no `now` then. */
int segcur_enter_any(struct segcur *in, struct target *t, uint64_t n, struct shim_frames *o, struct err *e);
/* Ends all copies; the process goes on to event n + 1 and stands there. Fine when nothing was entered. */
int segcur_leave(struct segcur *in, struct err *e);

/*
 * Lets go of the process, which stands at event n as it did, while the copies stay; what is to be done with it comes between
 * these two.
 */
int segcur_release(struct segcur *in, struct err *e);
int segcur_take(struct segcur *in, struct err *e);
/* `now` is the first visible state again. 1: there is none. */
int segcur_rewind(struct segcur *in, struct err *e);

/*
 * One visible step: STOP_STEP, STOP_OVER (now is where it was; watch and addr: what was met meanwhile), STOP_SIGNAL, or STOP_WATCH of b
 * (NULL: none).
 */
int segcur_step(struct segcur *in, const struct breaks *b, struct stop *stop, struct err *e);
/* What segcur_step would say; `now` stays where it is. */
int segcur_look_on(struct segcur *in, const struct breaks *b, struct stop *stop, struct err *e);
/* Runs to the next of b, even if it stands at one. STOP_OVER: no copy is now. */
int segcur_run(struct segcur *in, struct breaks *b, struct stop *stop, struct err *e);
/* To the visible state before. 1: this is the first one. */
int segcur_back(struct segcur *in, struct err *e);
/* Does the segment end where its thread was interrupted? Then no copy of `now` finds its end (segcursor_end.c). */
bool segcur_ends_in_program(const struct segcur *in);
/* To the last visible state. */
int segcur_to_end(struct segcur *in, struct err *e);
/* To the state of another process that stands in this segment too. 1: it is not met. */
int segcur_find(struct segcur *in, struct trace *want, struct err *e);
/* A copy at a stop, or, kind 0, somewhere. */
struct segcur_kept {
	struct trace t;
	struct stop stop;
	uint64_t k; /* its number, or how many were before */
	uint64_t ns; /* its CPU time */
};
/* What one that runs for long has left behind: it is near, so that nobody need come from the beginning again. */
struct segcur_trail {
	struct segcur_kept last; /* at a visible state */
	const uint64_t *k; /* how many stops there have been, for last.k; NULL: nobody counts */
};
/* Stops on the way to a state. Free it with segcur_count_fini. */
struct segcur_count {
	uint64_t most; /* of them; 0: any number */
	uint64_t k; /* those before the state */
	bool known; /* they are all counted */
	bool keep;
	struct segcur_kept near, before; /* keep: one of the last of them, and a state some time before that */
	struct segcur_trail trail; /* keep */
};
/* As segcur_find, and how many stops of b are before it. 1: there are too many on the way. *c is to be freed in any case. */
int segcur_find_counting(struct segcur *in, struct trace *want, struct breaks *b, struct segcur_count *c, struct err *e);
/* To the last of those counted. 1: there is none. */
int segcur_to_counted(struct segcur *in, struct breaks *b, struct segcur_count *c, struct stop *stop, struct err *e);
void segcur_count_fini(struct segcur_count *c);
/* To the k-th stop of b (from 1). 1: there are not so many. */
int segcur_nth_stop(struct segcur *in, struct breaks *b, uint64_t k, struct stop *stop, struct err *e);
/* See cursor_back_over: stops of b count. */
int segcur_back_over(struct segcur *in, struct breaks *b, uint64_t lo, uint64_t hi, uint64_t sp, struct err *e);
/* To the last stop of b in the segment. 1: there is none. */
int segcur_last_stop(struct segcur *in, struct breaks *b, struct stop *stop, struct err *e);
/* To the last stop of b before now. 1: there is none. */
int segcur_back_to_stop(struct segcur *in, struct breaks *b, struct stop *stop, struct err *e);
/* A change of what b watches, by slot: the instruction at pc makes it, the hits-th time that it is met. */
struct segcur_change {
	uint64_t pc, hits;
	uint64_t was[BREAKS_WATCHES], now[BREAKS_WATCHES];
};
#define SEGCUR_CHANGES 200 /* no more at once */
/*
 * The last changes behind the first visible state, up to now or to the end of the segment: at most `most`, rising, in v; *n: how many of
 * *all. b watches for writes alone. 1: it cannot be done so.
 */
int segcur_changes(struct segcur *in, struct breaks *b, bool to_end, struct segcur_change *v, unsigned most, unsigned *n, uint64_t *all,
		   struct err *e);
/*
 * On to the hits-th time (from 1) at pc, which is passed very often, by walking: STOP_END, or a stop of b (NULL: none) on the
 * way. fresh: from the segment's beginning, else from `now`. 1: it cannot be done so.
 */
int segcur_walk_until(struct segcur *in, bool fresh, const struct breaks *b, uint64_t pc, uint64_t hits, struct stop *stop,
		      struct err *e);

/*
 * A search for the state most similar to one that is known in part only, among all times that the segment comes to pc. It
 * ends at a state that does not differ, at the end of the segment, or at a limit.
 */
struct segcur_similar {
	uint64_t pc;
	/*
	 * A copy stands at pc with registers r. 1: it differs by *differ, in a unit of the caller's, which need not be exact
	 * when it is above `least`; 0: it is no candidate; -1: error.
	 */
	int (*differ)(void *ctx, struct trace *t, const struct user_regs_struct *r, uint64_t least, uint64_t *differ,
		      struct err *e);
	void *ctx;
	double seconds; /* limits: 0: none */
	uint64_t most_arrivals;
	unsigned most_compared; /* with this many the search is complete: there is no SEGCUR_CUT */
	bool cut_will_do; /* a limit is no failure if there is a candidate */
	/* results; to be zeroed */
	uint64_t arrivals; /* at pc, as far as was looked */
	unsigned compared;
	uint64_t best; /* the arrival, from 1, that is most similar; 0: none is a candidate */
	uint64_t least; /* by how much it differs */
};
enum { SEGCUR_NONE = 1, SEGCUR_CUT = 2 };
/* `now` becomes that state (0). It stays where it is when there is no candidate (SEGCUR_NONE), or a limit was reached (SEGCUR_CUT). */
int segcur_most_similar(struct segcur *in, struct segcur_similar *s, struct err *e);

/* The number of stops of b before now. */
int segcur_count_stops(struct segcur *in, struct breaks *b, uint64_t *k, struct err *e);

#endif
