/* SPDX-License-Identifier: MIT */
/*
 * segcursor_int.h: what the files of this folder share. The layers, from below: segcursor_copy.c, segcursor_closed.c,
 * segcursor_run.c, segcursor_count.c, segcursor_look.c, segcursor_walk.c, segcursor_stops.c, segcursor_true.c,
 * segcursor_marks.c, segcursor_near.c, segcursor_back.c, segcursor_last.c; segcursor.c, segcursor_far.c,
 * segcursor_threads.c, segcursor_forth.c, segcursor_changes.c are used by none of them.
 */
#ifndef FRED_SEGCURSOR_SEGCURSOR_INT_H
#define FRED_SEGCURSOR_SEGCURSOR_INT_H

#include "segcursor/segcursor.h"
#include "trace/walk.h"

/* The goal of a copy's run: a state, or the end of the segment. */
struct goal {
	struct trace *want; /* NULL: the end */
	uint64_t pc;
	struct breaks stop; /* at its PC */
	unsigned compared; /* the number of states whose memory was compared with it */
};

/* Is t at the goal? 1: yes; 0: no; -1: error. */
int segcur_is_goal(struct goal *g, struct trace *t, struct err *e);
/* The same; if only memory differs, tell (may be NULL) gets some of the words that differ. */
int segcur_is_goal_tell(struct goal *g, struct trace *t, struct walk_tell *tell, struct err *e);
/* want: borrowed, a thread of another process in the segment; NULL: the end. Free g->stop with breaks_fini. */
int segcur_goal_init(struct goal *g, struct trace *want, struct err *e);

/*
 * segcursor_walk.c: if an address on the way to a goal is passed more often than this, it is not stopped at each time:
 * a copy walks, in translated code (trace/walk.h). These functions return 1 if a walk cannot be used, and
 * SEGCUR_WALK_OVER if the segment ends before the goal.
 */
#define SEGCUR_HOT 300
#define SEGCUR_WALK_OVER 2
/* within segcursor_walk.c: the walk has reached code that cannot be translated */
#define SEGCUR_WALK_LEFT 3
/* likewise: it is at the goal, in a function that the recorder has called */
#define SEGCUR_WALK_OUTSIDE 4
/* The result of a walk to a goal. */
struct walked {
	uint64_t times; /* arrivals at the goal's PC, including the goal */
	uint64_t stops; /* arrivals at points of b and changes of what it watches, including the goal */
	bool changed; /* the instruction before the goal has changed what b watches */
	struct trace t; /* the copy, at the goal */
};

/* A copy of `from` goes to the goal. b: NULL, or walkable. */
int segcur_walk_to_goal(struct segcur *in, struct trace *from, struct goal *g, const struct breaks *b, struct walked *w,
			struct err *e);
/*
 * How often a copy of `from` arrives at points of b up to the goal, which may be in a function that the recorder calls.
 */
int segcur_walk_count(struct segcur *in, struct trace *from, struct goal *g, const struct breaks *b, uint64_t *stops,
		      struct err *e);
/*
 * A copy of the first mark goes to the state that has these registers and that is_goal (struct trace_walk_ops)
 * accepts. 1 also when that takes longer than the budget in nanoseconds (trace/budget.h).
 */
int segcur_walk_to_state(struct segcur *in, const struct user_regs_struct *want, uint64_t ns,
			 int (*is_goal)(void *ctx, struct trace *t, struct walk_tell *tell, struct err *e), void *ctx,
			 struct walked *w, struct err *e);
/* How often now's PC is reached from the first mark up to now. g: the goal `now`. */
int segcur_walk_times(struct segcur *in, struct goal *g, uint64_t *times, struct err *e);
/* Moves *t, a copy of `from`, to the nth arrival at a point of b, which is plain. */
int segcur_walk_to_nth(struct segcur *in, struct trace *from, const struct breaks *b, uint64_t nth, struct trace *t,
		       struct err *e);
/*
 * `now` runs to the next stop of b, or to the goal if that comes first: STOP_BREAK or STOP_GOAL. fresh: from the
 * segment's beginning.
 */
int segcur_walk_on(struct segcur *in, bool fresh, struct breaks *b, struct goal *g, struct stop *stop, struct err *e);
/*
 * now becomes the nth stop of b, which is walkable, after the first mark. STOP_WATCH: it stands before the instruction
 * that makes the change, or after it (stop->before).
 */
int segcur_walk_to_stop(struct segcur *in, struct breaks *b, uint64_t nth, struct stop *stop, struct err *e);
/*
 * Walks from the first mark to the goal, to the end of the segment (if g or g->want is NULL), or to change number
 * `last` of what b watches (0: no such limit). *ask: the number of changes, and the log of the last of them, with the
 * arrivals at `place` (0: none) before each. More than 0: a walk cannot do this.
 */
int segcur_walk_log(struct segcur *in, struct goal *g, struct breaks *b, uint64_t place, uint64_t last,
		    struct replay_walk *ask, struct err *e);
/*
 * Walks from the first mark to the goal, or to the end of the segment; calls in->look for each change of what b
 * watches. More than 0: a walk cannot do this.
 */
int segcur_walk_changes(struct segcur *in, struct goal *g, struct breaks *b, struct err *e);
/* Makes that change `now`, as segcur_walk_to_stop does; changes of the words of in->look are counted, too. */
int segcur_walk_to_change(struct segcur *in, const struct breaks *b, uint64_t number, struct stop *stop, struct err *e);
/*
 * A copy of `now` walks past the stops of b, as *w asks. 0: it has reached what was asked for, and *stop says which
 * (STOP_WATCH: it stands after the change); SEGCUR_WALK_LEFT: it stands elsewhere; otherwise there is no *t.
 */
int segcur_walk_from_now(struct segcur *in, const struct breaks *b, struct trace_walk *w, struct trace *t,
			 struct stop *stop, struct err *e);
/* How many stops of b, which is walkable, there are from the first mark to the end of the segment. */
int segcur_walk_all(struct segcur *in, struct breaks *b, uint64_t *k, struct err *e);
/* segcursor_marks.c: sets marks at some of the last arrivals at the goal's PC, or at its caller, before the goal. */
int segcur_walk_marks(struct segcur *in, struct goal *g, struct err *e);
/* A running copy is stopped after each slice of CPU time, so that the user can be asked. */
#define SEGCUR_SLICE_NS 50000000u
/* Does the user want to stop? Only asked each `every` times (a power of 2), as the question costs a microsecond. */
bool segcur_is_given_up(struct segcur *in, unsigned every);

/* segcursor_run.c: sets interrupted_at_end, and then tells base not to look for that end. */
int segcur_learn_end(struct segcur *in, struct err *e);
/* Is now at an end inside the program? 1: yes; 0: no, or there is no such end; -1: error. */
int segcur_is_at_end(struct segcur *in, struct err *e);
/* Sets in->end. */
int segcur_find_end(struct segcur *in, struct err *e);
/* A copy has run for this much CPU time without a stop: is it certainly after such an end? 1, 0 or -1. */
int segcur_is_lost(struct segcur *in, uint64_t ns, struct err *e);

/* segcursor_copy.c: can a walk come to this address? */
bool segcur_is_visible_code(const struct segcur *in, uint64_t pc);
/*
 * Can stops of b be counted by walking: are there few points, all in the program's own code, and no conditions or
 * watched words?
 */
bool segcur_is_plain(const struct segcur *in, const struct breaks *b);
/* The same, but words may be watched for writes. */
bool segcur_is_walkable(const struct segcur *in, const struct breaks *b);

/*
 * segcursor_look.c: decides which changes of watched words are stops, if watchpoints have conditions. The walk's log
 * has the values of the watched words and of other words that the conditions read; a condition that reads anything else
 * counts as true.
 */
struct segcur_look {
	/* Called for each change; NULL: the words are only recorded in the log. */
	void (*change)(struct segcur_look *l, const struct replay_walk_change *c);
	const struct breaks *b;
	struct group_slot word[REPLAY_WALK_WATCHES]; /* words that are not watched, but that conditions read */
	unsigned n;
	/* the last change that is a stop (forwards: the first one); 0: none */
	uint64_t last, places;
	uint64_t other[REPLAY_WALK_WATCHES]; /* the words on its other side: after it (forwards: before it) */
	const struct watch_condition *true_one; /* its condition; NULL: it has none */
	/* memory on that side of a change at which the condition was false; n 0: it was not false yet */
	struct watch_reads false_at;
	struct watch_reads seen; /* forwards: memory after the previous change */
};
bool segcur_has_conditions(const struct breaks *b);
/* As segcur_is_walkable, whatever conditions the watchpoints have. */
bool segcur_conditions_walkable(const struct segcur *in, const struct breaks *b);
/* *l becomes in->look. pid: where the conditions are tried, to see what they read. */
void segcur_look_for_true(struct segcur *in, pid_t pid, const struct breaks *b, struct segcur_look *l);
/* `now` stands at the last change that is a stop: applies its condition. */
void segcur_look_note(const struct segcur_look *l, const struct stop *stop);
/* The points and words that w counts; those that cannot be counted go to *rare. */
void segcur_walk_ask(const struct segcur *in, const struct breaks *b, struct trace_walk *w, struct breaks *rare);
/* Reads the words that the walk watches, in the order of ask->watch; the rest of word[] is set to 0. */
int segcur_walk_words(const struct replay_walk *ask, pid_t pid, uint64_t word[REPLAY_WALK_WATCHES], struct err *e);
/*
 * segcursor_true.c: goes to the last stop of b before the goal, or in the segment, by walking. 1: there is none after
 * the first mark; 2: a walk cannot do this.
 */
int segcur_last_true(struct segcur *in, struct breaks *b, struct goal *g, struct stop *stop, struct err *e);

int segcur_copy(struct segcur *in, struct trace *from, struct trace *to, struct err *e);
/* Kills a copy; does nothing for a zeroed one. */
void segcur_drop(struct trace *t);
/* t, which is zeroed, becomes what the user looks at. */
void segcur_set_now(struct segcur *in, struct trace *t);

/* Runs to the next arrival at the goal's PC, to the end of the segment, or until the time is up. */
int segcur_to_arrival(struct segcur *in, struct goal *g, struct trace *t, int *sig, const struct trace_limit *limit,
		      struct stop *stop, struct err *e);
enum segcur_reach { SEGCUR_REACHED = 0, SEGCUR_PASSED = 1, SEGCUR_SHORT = 2, SEGCUR_TOO_HOT = 3 };
/*
 * Runs a copy until it is at the goal; for at most limit_ns (0: no limit); or until it has been at the goal's PC `hot`
 * times (TOO_HOT; 0: no limit). *ns: the CPU time used.
 */
int segcur_run_to_goal(struct segcur *in, struct goal *g, struct trace *t, uint64_t limit_ns, unsigned hot,
		       uint64_t *ns, struct err *e);
/* The CPU time from another state to the goal. */
int segcur_distance(struct segcur *in, struct trace *from, struct goal *g, unsigned hot, uint64_t *ns, struct err *e);
/* t, which is zeroed, becomes the last mark; steps: from the mark before it (0: unknown). */
void segcur_push_mark(struct segcur *in, struct trace *t, uint64_t steps);
/* t, into which b is inserted, has run for a slice without a stop: now and then leaves a copy on in->trail. */
int segcur_leave_trail(struct segcur *in, struct trace *t, const struct breaks *b, struct err *e);
/* The last copy on a trail becomes a mark, if there is one. */
void segcur_mark_trail(struct segcur *in, struct segcur_trail *trail);
/* Sets marks up to near the goal: it is *steps visible steps after the last one. */
int segcur_count_back(struct segcur *in, struct goal *g, uint64_t *steps, struct err *e);

/* t stands at one of b's points: STOP_BREAK, STOP_LIBRARY, or 0: it continues. */
enum stop_kind segcur_meets(const struct breaks *b, struct trace *t);

/* segcursor_stops.c */
#define SEGCUR_STOPS 20000 /* up to this many, meeting each is quicker than a walk: tenths of a second */
#define SEGCUR_WRITES 300 /* the same for writes that change nothing */
/* with more stops than this, it is worth while to look for a nearer place to count from */
#define SEGCUR_MANY 2000
/* t stands at a stop of b and the goal's PC: does it count as one of b's? 1, 0 or -1. */
int segcur_is_stop(const struct breaks *b, struct trace *t, enum stop_kind kind, struct err *e);
/* t becomes the state that the user sees; the number is that of the marks before it. */
void segcur_be_now(struct segcur *in, struct trace *t, int sig, unsigned marks);
/* Runs to the next stop of a copy that has passed k of them already. */
int segcur_next_stop(struct segcur *in, struct trace *t, struct breaks *b, uint64_t k, int *sig, struct stop *stop,
		     struct err *e);
/* Makes *t a copy of `from`, at the kth stop. 1: there are fewer. */
int segcur_run_to_nth(struct segcur *in, struct trace *from, struct breaks *b, uint64_t k, struct trace *t, int *sig,
		      struct stop *stop, struct err *e);
/*
 * Counts the stops of a copy of `from` before the goal; a stop at the goal itself does not count. A data watchpoint
 * traps after its instruction, so that stop is before `now` only if `now` is after it, too. 1: there are more than
 * `most` (0: any number), or too many states look like the goal until memory is compared.
 */
int segcur_count_to(struct segcur *in, struct trace *from, struct breaks *b, struct goal *g, uint64_t most, uint64_t *k,
		    struct err *e);
/*
 * The same from the base, for at most SEGCUR_STOPS: *c is for segcur_to_counted, and must be freed in any case. hurry:
 * also 1 if a walk is quicker (in->hurried).
 */
int segcur_count_keeping(struct segcur *in, struct breaks *b, struct goal *g, bool hurry, struct segcur_count *c,
			 struct err *e);
/* Counts the stops of t itself, from its current state up to the end of the segment. 1: there are too many. */
int segcur_count_rest(struct segcur *in, struct trace *t, struct breaks *b, uint64_t *k, struct err *e);
/* Runs t itself to the kth stop after its present place. 1: there are fewer, or words are written very often. */
int segcur_run_on(struct segcur *in, struct trace *t, struct breaks *b, uint64_t k, int *sig, struct stop *stop,
		  struct err *e);
/* Counts the stops before the first mark, where walks begin. */
int segcur_count_before_walks(struct segcur *in, struct breaks *b, uint64_t *k, struct err *e);
/* Goes to the kth stop, by walking, as segcur_walk_to_stop. More than 0: it cannot be done so. */
int segcur_walk_to_kth(struct segcur *in, struct breaks *b, uint64_t k, struct stop *stop, struct err *e);
/*
 * Counts the stops from the first mark up to the goal, which is `now`, by walking. More than 0: it cannot be done so.
 */
int segcur_count_walked(struct segcur *in, struct breaks *b, struct goal *g, uint64_t *k, struct err *e);
/* The same, plus the stops before the first mark. */
int segcur_count_by_walk(struct segcur *in, struct breaks *b, struct goal *g, uint64_t *k, struct err *e);

/*
 * Steps to the next visible state. shim_call: how the thread has reached its place. If a watched word of b (NULL: none)
 * changes on the way, this is reported there, as STOP_WATCH, or together with STOP_OVER.
 */
int segcur_step_seeing(struct segcur *in, struct trace *t, const struct breaks *b, struct shim_call shim_call, int *sig,
		       struct stop *stop, struct err *e);
/*
 * segcursor_closed.c: during a step without watchpoints, at *pc. The thread is in functions in which the program's code
 * cannot run, and goes to their return; or a step has led from `from` to the beginning of one. It may stop earlier: for
 * a signal, which becomes *sig; where a handler is called, which is visible (STOP_STEP); at the segment's end
 * (STOP_OVER). Else stop->kind is 0.
 */
int segcur_closed_leave(struct segcur *in, struct trace *t, struct shim_call *call, uint64_t *pc, int *sig,
			struct stop *stop, struct err *e);
int segcur_closed_pass(struct segcur *in, struct trace *t, uint64_t from, struct shim_call *call, uint64_t *pc,
		       int *sig, struct stop *stop, struct err *e);
/* One visible step of a copy from a visible state; *sig is delivered first, then set to what is still to be delivered.
 */
int segcur_step_copy(struct segcur *in, struct trace *t, int *sig, struct stop *stop, struct err *e);
/* Runs a copy to the next stop; one at its present PC counts. */
int segcur_run_copy(struct segcur *in, struct trace *t, int *sig, struct breaks *b, const struct trace_limit *limit,
		    struct stop *stop, struct err *e);
/* The same, but a stop at its present PC does not count. */
int segcur_onwards(struct segcur *in, struct trace *t, int *sig, struct breaks *b, struct stop *stop, struct err *e);
/* Runs a copy to where rip and rsp are those of `to`. 0: there; 1: it stopped elsewhere, as *stop says. */
int segcur_run_to_frame(struct segcur *in, struct trace *t, const struct user_regs_struct *to, struct stop *stop,
			struct err *e);

#endif
