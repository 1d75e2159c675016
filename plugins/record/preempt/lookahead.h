/* SPDX-License-Identifier: MIT */
/*
 * lookahead.h: how far is it to the place that a PREEMPT record describes? A fork of the replaying process runs ahead
 * to find out.
 *
 * The copy runs the program in translated code (xlate.h), which counts how often it reaches the place's address and
 * compares the state there with the record. A computation without events does the same in the original, so the count is
 * valid there. If everything that has changed is as recorded at several passes, the one with the fewest differences
 * elsewhere (seek_doubts) is the place; but one at which the program had yet to write what differs gives way to any
 * other.
 */
#ifndef FRED_RECORD_LOOKAHEAD_H
#define FRED_RECORD_LOOKAHEAD_H

#include "record/core/state.h"
#include "record/dbt/xlate.h"
#include "record/preempt/seek.h"

enum lookahead_state {
	LOOKAHEAD_UNKNOWN, /* the code cannot be translated */
	LOOKAHEAD_FOUND,
	LOOKAHEAD_NEVER, /* an event comes first, or the computation takes much longer than it did when recording */
};

struct lookahead_answer {
	enum lookahead_state state;
	uint64_t hits; /* passes of the address, up to and including the place */
	/* how often the copy left translated code before the place; unless 0, some passes were not counted */
	uint32_t stops;
	uint64_t way_ns; /* CPU time that the copy needed, without its start */
};

/*
 * Called in a signal handler; the copy starts from the state in uc. Returns 0 in the original, with the answer in *a,
 * and 1 in the copy, which then returns from the handler and runs. If the first copy finds nothing, a second one tries,
 * which does not rely on the stack.
 */
int lookahead_ask(struct seek *s, ucontext_t *uc, struct lookahead_answer *a);
/*
 * The same from translated code, at pass number `hits` of the address, at which this many words are in doubt: does a
 * pass with fewer doubts follow? a->hits counts on from hits. In the copy, lookahead_hit() is called at each further
 * pass.
 */
int lookahead_ahead(struct seek *s, const uint64_t *regs, uint64_t hits, uint32_t doubts, struct lookahead_answer *a);
enum xlate_go lookahead_hit(struct seek *s, const uint64_t *regs, uint64_t hits, struct xlate_filter *f);
/* In the copy: */
_Noreturn void lookahead_event(void); /* it reached an event */
void lookahead_tick(void); /* from time to time in translated code: has it taken too long? */
void lookahead_leaves(int goes_on); /* it reached code that cannot be translated; goes_on: only that instruction */
void lookahead_is_back(void); /* it is in translated code again, and missed no pass of the place */
_Noreturn void lookahead_stop(void); /* it cannot go on in translated code */

#endif
