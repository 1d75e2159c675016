/* SPDX-License-Identifier: MIT */
/* inside_int.h: what inside.c lends to inside_back.c. */
#ifndef FRED_DEBUG_INSIDE_INT_H
#define FRED_DEBUG_INSIDE_INT_H

#include "debug/inside.h"

/* What a copy runs towards: a state, or the end of the segment. */
struct goal {
	struct trace *want; /* NULL: the end */
	uint64_t pc;
	struct breaks stop; /* at its PC */
};

/* Is t there? 1: yes; 0: no; -1: error. */
int inside_is_goal(struct goal *g, struct trace *t, struct err *e);

int inside_pc(struct trace *t, uint64_t *pc, struct err *e);
int inside_copy(struct inside *in, struct trace *from, struct trace *to, struct err *e);
/* Kills a copy; fine on a zeroed one. */
void inside_drop(struct trace *t);
/* t, which is zeroed, becomes what the user looks at. */
void inside_set_now(struct inside *in, struct trace *t);

/* On to the next time at the goal's PC, or the end of the segment, or of the time. */
int inside_to_arrival(struct inside *in, struct goal *g, struct trace *t, int *sig, const struct trace_limit *limit,
		      struct stop *stop, struct err *e);
/* t, which is zeroed, becomes the last mark, so many steps behind the one before (0: unknown). */
void inside_push_mark(struct inside *in, struct trace *t, uint64_t steps);
/* Sets marks up to near the goal: it is *steps visible steps behind the last one. */
int inside_count_back(struct inside *in, struct goal *g, uint64_t *steps, struct err *e);

/* t stands at one of b's points: STOP_BREAK, STOP_LIBRARY, or 0: it goes on. */
enum stop_kind inside_meets(const struct breaks *b, struct trace *t);

/* One visible step of a copy from a visible state; *sig is to be delivered first, and afterwards what is still to be. */
int inside_step_copy(struct inside *in, struct trace *t, int *sig, struct stop *stop, struct err *e);
/* Runs a copy to the next stop; one at its very PC counts. */
int inside_run_copy(struct inside *in, struct trace *t, int *sig, struct breaks *b,
		    const struct trace_limit *limit, struct stop *stop, struct err *e);
/* As that; one at its very PC does not count. */
int inside_onwards(struct inside *in, struct trace *t, int *sig, struct breaks *b, struct stop *stop,
		   struct err *e);

#endif
