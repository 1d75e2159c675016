/* SPDX-License-Identifier: MIT */
/*
 * inside.h: inside a segment, in both directions. The process stands at the event before; its moving thread is
 * held at the segment's start, and copies of it go into the segment. `now` is the copy that a user looks at; back is a
 * new copy of an earlier one that goes less far. No copy leaves the segment.
 * Steps are from one visible state (view/sight.h) to the next.
 */
#ifndef FRED_DEBUG_INSIDE_H
#define FRED_DEBUG_INSIDE_H

#include "view/breaks.h"
#include "view/sight.h"
#include "session/nav.h"
#include "session/segment.h"

#define INSIDE_MARKS 8

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
	STOP_GOAL, /* inside_int.h: an invisible state that was looked for */
	STOP_CALL, /* of the kernel, which comes next; addr: its number */
	STOP_HOT, /* inside_int.h: watched words were written to so often, without a change */
};

struct stop {
	enum stop_kind kind;
	int sig;
	uint64_t addr;
	enum group_slot_kind watch;
	bool before; /* STOP_WATCH: it stands before the instruction that makes the change, not behind it */
};

struct goal;
struct inside_trail;
struct outside;

struct inside {
	uint64_t n; /* the event before it */
	struct sight sight;
	struct outside *outside; /* borrowed */
	struct gaze gaze; /* of base */
	struct segment seg;
	struct trace base; /* at the segment's start, on memory of its own */
	struct trace mark[INSIDE_MARKS]; /* visible states in rising order; the first is the segment's first */
	uint64_t mark_steps[INSIDE_MARKS]; /* from the mark before; 0: unknown */
	unsigned marks;
	struct trace now;
	uint64_t times; /* at its PC from the first mark up to now; 0: unknown */
	bool interrupted_at_end; /* inside_end.c */
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
	struct inside_trail *trail; /* copies that run for long leave others behind; NULL: they do not */
};

/*
 * The target stands at event n. `now` is the first visible state. 1: the segment has none; nothing is entered.
 */
int inside_enter(struct inside *in, struct target *t, uint64_t n, struct outside *o, struct err *e);
/* As that, but a segment without one is entered too: there is no `now` then. */
int inside_enter_any(struct inside *in, struct target *t, uint64_t n, struct outside *o, struct err *e);
/* Ends all copies; the process goes on to event n + 1 and stands there. Fine when nothing was entered. */
int inside_leave(struct inside *in, struct err *e);

/*
 * Lets go of the process, which stands at event n as it did, while the copies stay; what is to be done with it comes between
 * these two.
 */
int inside_release(struct inside *in, struct err *e);
int inside_take(struct inside *in, struct err *e);
/* `now` is the first visible state again. 1: there is none. */
int inside_rewind(struct inside *in, struct err *e);

/*
 * One visible step: STOP_STEP, STOP_OVER (now is where it was; watch and addr: what was met meanwhile), STOP_SIGNAL, or STOP_WATCH of b
 * (NULL: none).
 */
int inside_step(struct inside *in, const struct breaks *b, struct stop *stop, struct err *e);
/* What inside_step would say; `now` stays where it is. */
int inside_look_on(struct inside *in, const struct breaks *b, struct stop *stop, struct err *e);
/* Runs to the next of b, even if it stands at one. STOP_OVER: no copy is now. */
int inside_run(struct inside *in, struct breaks *b, struct stop *stop, struct err *e);
/* To the visible state before. 1: this is the first one. */
int inside_back(struct inside *in, struct err *e);
/* Does the segment end where its thread was interrupted? Then no copy of `now` finds its end (inside_end.c). */
bool inside_ends_in_program(const struct inside *in);
/* To the last visible state. */
int inside_to_end(struct inside *in, struct err *e);
/* To the state of another process that stands in this segment too. 1: it is not met. */
int inside_find(struct inside *in, struct trace *want, struct err *e);
/* A copy at a stop, or, kind 0, somewhere. */
struct inside_kept {
	struct trace t;
	struct stop stop;
	uint64_t k; /* its number, or how many were before */
	uint64_t ns; /* its CPU time */
};
/* What one that runs for long has left behind: it is near, so that nobody need come from the beginning again. */
struct inside_trail {
	struct inside_kept last; /* at a visible state */
	const uint64_t *k; /* how many stops there have been, for last.k; NULL: nobody counts */
};
/* Stops on the way to a state. Free it with inside_count_fini. */
struct inside_count {
	uint64_t most; /* of them; 0: any number */
	uint64_t k; /* those before the state */
	bool known; /* they are all counted */
	bool keep;
	struct inside_kept near, before; /* keep: one of the last of them, and a state some time before that */
	struct inside_trail trail; /* keep */
};
/* As inside_find, and how many stops of b are before it. 1: there are too many on the way. *c is to be freed in any case. */
int inside_find_counting(struct inside *in, struct trace *want, struct breaks *b, struct inside_count *c, struct err *e);
/* To the last of those counted. 1: there is none. */
int inside_to_counted(struct inside *in, struct breaks *b, struct inside_count *c, struct stop *stop, struct err *e);
void inside_count_fini(struct inside_count *c);
/* To the k-th stop of b (from 1). 1: there are not so many. */
int inside_nth_stop(struct inside *in, struct breaks *b, uint64_t k, struct stop *stop, struct err *e);
/* See travel_back_over: stops of b count. */
int inside_back_over(struct inside *in, struct breaks *b, uint64_t lo, uint64_t hi, uint64_t sp, struct err *e);
/* To the last stop of b in the segment. 1: there is none. */
int inside_last_stop(struct inside *in, struct breaks *b, struct stop *stop, struct err *e);
/* To the last stop of b before now. 1: there is none. */
int inside_back_to_stop(struct inside *in, struct breaks *b, struct stop *stop, struct err *e);
/* A change of what b watches, by slot: the instruction at pc makes it, the hits-th time that it is met. */
struct inside_change {
	uint64_t pc, hits;
	uint64_t was[BREAKS_WATCHES], now[BREAKS_WATCHES];
};
#define INSIDE_CHANGES 200 /* no more at once */
/*
 * The last changes behind the first visible state, up to now or to the end of the segment: at most `most`, rising, in v; *n: how many of
 * *all. b watches for writes alone. 1: it cannot be done so.
 */
int inside_changes(struct inside *in, struct breaks *b, bool to_end, struct inside_change *v, unsigned most, unsigned *n, uint64_t *all,
		   struct err *e);
/* The number of stops of b before now. */
int inside_count_stops(struct inside *in, struct breaks *b, uint64_t *k, struct err *e);

#endif
