/* SPDX-License-Identifier: MIT */
/*
 * lookahead.h: how far is it to the place that a PREEMPT record describes? A copy of the process goes there in translated
 * code (xlate.h), which compares each time it comes by the place's address, and counts: what a computation does from here
 * on is always the same. Of the places at which all that has changed is as recorded, it is the one with the fewest doubts.
 */
#ifndef FRED_RECORD_LOOKAHEAD_H
#define FRED_RECORD_LOOKAHEAD_H

#include "record/core/state.h"
#include "record/dbt/xlate.h"
#include "record/preempt/seek.h"

enum lookahead_state {
	LOOKAHEAD_UNKNOWN, /* this code cannot be translated */
	LOOKAHEAD_FOUND,
	LOOKAHEAD_NEVER, /* an event comes first, or it takes much longer than it did */
};

struct lookahead_answer {
	enum lookahead_state state;
	uint64_t hits; /* of the address, the place itself included */
	uint32_t stops; /* before it; if there were any, hits says nothing: some came by in the original code */
	uint64_t way_ns; /* CPU time of the copy, without what it does at the start */
};

/*
 * From the state in uc, in its signal handler. 0: the answer is in a. 1: this is the copy, and returns from the
 * handler to go on there. A second one goes where the first one has not found anything: more slowly, and not sure of what
 * is on the stack.
 */
int lookahead_ask(struct seek *s, ucontext_t *uc, struct lookahead_answer *a);
/*
 * From translated code, at this pass of the place, which has so many doubts: is there one with fewer ahead? hits counts on
 * from there. Else the same: in the copy lookahead_hit is to be called from now on.
 */
int lookahead_ahead(struct seek *s, uint64_t hits, uint32_t doubts, struct lookahead_answer *a);
enum xlate_go lookahead_hit(struct seek *s, const uint64_t *regs, uint64_t hits, struct xlate_filter *f);
/* The copy comes to an event; to what it cannot translate; the same, but it can go on behind that. */
_Noreturn void lookahead_event(void);
void lookahead_leaves(int goes_on);
_Noreturn void lookahead_stop(void);

#endif
