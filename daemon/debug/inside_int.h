/* SPDX-License-Identifier: MIT */
/* inside_int.h: what inside.c lends to inside_back.c. */
#ifndef FRED_DEBUG_INSIDE_INT_H
#define FRED_DEBUG_INSIDE_INT_H

#include "debug/inside.h"
#include "trace/walk.h"

/* What a copy runs towards: a state, or the end of the segment. */
struct goal {
	struct trace *want; /* NULL: the end */
	uint64_t pc;
	struct breaks stop; /* at its PC */
	unsigned compared; /* states whose memory was compared with its */
};

/* Is t there? 1: yes; 0: no; -1: error. */
int inside_is_goal(struct goal *g, struct trace *t, struct err *e);
/* As that; if only memory says no, tell gets words that do. May be NULL. */
int inside_is_goal_tell(struct goal *g, struct trace *t, struct walk_tell *tell, struct err *e);
/*
 * The state of another process that is in the segment, which stays the caller's; NULL: the end. Free g->stop with breaks_fini.
 */
int inside_goal_init(struct goal *g, struct trace *want, struct err *e);

/*
 * inside_walk.c: hot places. What is passed more often than this on the way to a goal is not stopped at each time, but
 * walked (trace/walk.h). All of these return 1 when they cannot, and INSIDE_WALK_OVER when the segment ends before.
 */
#define INSIDE_HOT 300
#define INSIDE_WALK_OVER 2
#define INSIDE_WALK_LEFT 3 /* inside_walk.c's own: it stands where the processor itself has to go on */
/* What a walk to a goal tells. */
struct walked {
	uint64_t times; /* at the goal's PC, the goal included */
	uint64_t stops; /* at points of b and changes of what it watches, likewise */
	bool changed; /* the instruction before the goal has changed what b watches */
	struct trace t; /* the copy, at the goal */
};

/* A copy of `from` goes to the goal. b: NULL, or walkable. */
int inside_walk_to_goal(struct inside *in, struct trace *from, struct goal *g, const struct breaks *b, struct walked *w,
			struct err *e);
/*
 * A copy of the first mark goes to the state that has these registers, and of which is_goal says that it is the one
 * (struct walk_ops), for so many seconds at most; then 1 as well.
 */
int inside_walk_to_state(struct inside *in, const struct user_regs_struct *want, double seconds,
			 int (*is_goal)(void *ctx, struct trace *t, struct walk_tell *tell, struct err *e), void *ctx,
			 struct walked *w, struct err *e);
/* How often it is at now's PC from the first mark up to now, which g is. */
int inside_walk_times(struct inside *in, struct goal *g, uint64_t *times, struct err *e);
/* *t, a copy of `from`, goes to the nth time at a point of b, which is plain. */
int inside_walk_to_nth(struct inside *in, struct trace *from, const struct breaks *b, uint64_t nth, struct trace *t,
		       struct err *e);
/*
 * now goes on to the next stop of b, or to the goal if that comes first: STOP_BREAK or STOP_GOAL. fresh: from the segment's
 * beginning.
 */
int inside_walk_on(struct inside *in, bool fresh, struct breaks *b, struct goal *g, struct stop *stop, struct err *e);
/*
 * now becomes the nth stop of b, which is walkable, behind the first mark. STOP_WATCH: it stands before the instruction that makes
 * the change, or behind it (stop->before).
 */
int inside_walk_to_stop(struct inside *in, struct breaks *b, uint64_t nth, struct stop *stop, struct err *e);
/*
 * From the first mark to the goal, to the end of the segment (g or g->want is NULL), or to change number `last` of what b watches
 * (0: to none). *ask: changes, and the log of the last of them, with the arrivals at `place` (0: none) before each. More than 0: it
 * cannot be done so.
 */
int inside_walk_log(struct inside *in, struct goal *g, struct breaks *b, uint64_t place, uint64_t last, struct replay_walk *ask,
		    struct err *e);
/* How many stops of b, which is walkable, there are from the first mark to the end of the segment. */
int inside_walk_all(struct inside *in, struct breaks *b, uint64_t *k, struct err *e);
/* Marks some times at the goal's PC before the goal. */
int inside_walk_marks(struct inside *in, struct goal *g, struct err *e);
/* Can it be walked: are there only a few points in the program's own code, and without conditions? */
bool inside_is_plain(const struct inside *in, const struct breaks *b);
/* As that, or with words that are watched for writes. */
bool inside_is_walkable(const struct inside *in, const struct breaks *b);

#define INSIDE_SLICE_NS 50000000u /* of what runs on: how often the user is asked whether to stop */
/* Does the user want to stop? Asked only each `every` times, which is a power of 2: the question costs a microsecond. */
bool inside_is_given_up(struct inside *in, unsigned every);

/* inside_end.c: does the segment end inside the program? Copies of base are not to know of that. */
int inside_learn_end(struct inside *in, struct err *e);
/* Is now there? 1: yes; 0: no, or it ends in the shim; -1: error. */
int inside_is_at_end(struct inside *in, struct err *e);
/* in->end, if it ends inside the program. */
int inside_find_end(struct inside *in, struct err *e);
/* A copy has run for so much CPU time without a stop: must it be behind such an end? 1, 0 or -1. */
int inside_is_lost(struct inside *in, uint64_t ns, struct err *e);

int inside_copy(struct inside *in, struct trace *from, struct trace *to, struct err *e);
/* Kills a copy; fine on a zeroed one. */
void inside_drop(struct trace *t);
/* t, which is zeroed, becomes what the user looks at. */
void inside_set_now(struct inside *in, struct trace *t);

/* On to the next time at the goal's PC, or the end of the segment, or of the time. */
int inside_to_arrival(struct inside *in, struct goal *g, struct trace *t, int *sig, const struct trace_limit *limit,
		      struct stop *stop, struct err *e);
enum inside_reach { INSIDE_REACHED = 0, INSIDE_PASSED = 1, INSIDE_SHORT = 2, INSIDE_TOO_HOT = 3 };
/*
 * Runs a copy until it is at the goal, for at most limit_ns (0: any time), or, TOO_HOT, it has been at most `hot` times at its PC
 * (0: any number). *ns: the CPU time it was.
 */
int inside_run_to_goal(struct inside *in, struct goal *g, struct trace *t, uint64_t limit_ns, unsigned hot, uint64_t *ns,
		       struct err *e);
/* How far the goal is from another state, in CPU time. */
int inside_distance(struct inside *in, struct trace *from, struct goal *g, unsigned hot, uint64_t *ns, struct err *e);
/* t, which is zeroed, becomes the last mark, so many steps behind the one before (0: unknown). */
void inside_push_mark(struct inside *in, struct trace *t, uint64_t steps);
/* t, in which b is inserted, has run for a slice without a stop: leaves a copy on in->trail, now and then. */
int inside_leave_trail(struct inside *in, struct trace *t, const struct breaks *b, struct err *e);
/* The last copy on a trail becomes a mark, if there is one. */
void inside_mark_trail(struct inside *in, struct inside_trail *trail);
/* Sets marks up to near the goal: it is *steps visible steps behind the last one. */
int inside_count_back(struct inside *in, struct goal *g, uint64_t *steps, struct err *e);

/* t stands at one of b's points: STOP_BREAK, STOP_LIBRARY, or 0: it goes on. */
enum stop_kind inside_meets(const struct breaks *b, struct trace *t);

/* inside_stops.c */
#define INSIDE_STOPS 20000 /* up to so many are quicker met than walked to: some tenths of a second */
#define INSIDE_WRITES 300 /* that change nothing: likewise */
#define INSIDE_MANY 2000 /* stops: from then on it is worth while to look for a nearer place to count from */
/* t stands at a stop of b and the goal's PC: does it count as one of b's? 1, 0 or -1. */
int inside_is_stop(const struct breaks *b, struct trace *t, enum stop_kind kind, struct err *e);
/* t becomes what the user looks at; so many marks are before it. */
void inside_be_now(struct inside *in, struct trace *t, int sig, unsigned marks);
/* The next stop of a copy that has made k of them already. */
int inside_next_stop(struct inside *in, struct trace *t, struct breaks *b, uint64_t k, int *sig, struct stop *stop,
		     struct err *e);
/* A copy of `from` at the kth stop becomes *t. 1: there are not so many. */
int inside_run_to_nth(struct inside *in, struct trace *from, struct breaks *b, uint64_t k, struct trace *t, int *sig,
		      struct stop *stop, struct err *e);
/*
 * Counts the stops of a copy of `from` before the goal: one of b, at which the goal itself is, is none. A data watchpoint traps
 * behind its instruction: that stop is before now only if now is behind it too. 1: there are more than `most` (0: any number),
 * or too many look like the goal until memory is compared.
 */
int inside_count_to(struct inside *in, struct trace *from, struct breaks *b, struct goal *g, uint64_t most, uint64_t *k,
		    struct err *e);
/* From the base, and at most INSIDE_STOPS: *c is for inside_to_counted, and to be freed in any case. */
int inside_count_keeping(struct inside *in, struct breaks *b, struct goal *g, struct inside_count *c, struct err *e);
/* Those of t itself, which has made what is here already, up to the end of the segment. 1: there are too many. */
int inside_count_rest(struct inside *in, struct trace *t, struct breaks *b, uint64_t *k, struct err *e);
/* t itself goes on to the kth stop behind here. 1: there are not so many, or words are written to very often. */
int inside_run_on(struct inside *in, struct trace *t, struct breaks *b, uint64_t k, int *sig, struct stop *stop, struct err *e);
/* Stops before the first mark, where walks begin. */
int inside_count_before_walks(struct inside *in, struct breaks *b, uint64_t *k, struct err *e);
/* To the kth stop, by walking, as inside_walk_to_stop. More than 0: it cannot be done so. */
int inside_walk_to_kth(struct inside *in, struct breaks *b, uint64_t k, struct stop *stop, struct err *e);
/* All stops before the goal, which is now, by walking. More than 0: it cannot be done so. */
int inside_count_by_walk(struct inside *in, struct breaks *b, struct goal *g, uint64_t *k, struct err *e);

/* One visible step of a copy from a visible state; *sig is to be delivered first, and afterwards what is still to be. */
int inside_step_copy(struct inside *in, struct trace *t, int *sig, struct stop *stop, struct err *e);
/* Runs a copy to the next stop; one at its very PC counts. */
int inside_run_copy(struct inside *in, struct trace *t, int *sig, struct breaks *b,
		    const struct trace_limit *limit, struct stop *stop, struct err *e);
/* As that; one at its very PC does not count. */
int inside_onwards(struct inside *in, struct trace *t, int *sig, struct breaks *b, struct stop *stop,
		   struct err *e);

#endif
