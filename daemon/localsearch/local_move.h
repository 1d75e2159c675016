/* SPDX-License-Identifier: MIT */
/* local_move.h: how the local search moves a thread: to the next change of a word, by CPU time, by instructions. */
#ifndef FRED_LOCALSEARCH_LOCAL_MOVE_H
#define FRED_LOCALSEARCH_LOCAL_MOVE_H

#include "localsearch/local.h"
#include "trace/budget.h"

#define LOCAL_CHUNKS TRACE_SLOTS

enum local_unit {
	LOCAL_HIT, /* watchpoint hits that changed a word */
	LOCAL_STEP, /* instructions, or, with the words known, those that change a word */
};

struct local {
	const struct trace_local_params *p;
	const struct trace_local_ops *ops;
	void *ctx;
	struct trace_local_result *r;
	struct trace left; /* good here */
	bool left_is_copy;
	struct trace original; /* when left is a copy */
	struct trace_words guess; /* n > 0: watched instead of the words that the expression reads */
	uint64_t guess_before[2]; /* their contents before the last unit */
	struct trace_words words; /* as of the last evaluation at left */
	uint64_t span_ns; /* after narrowing: a copy that ran from `left` for this long ended bad */
	bool hurry; /* local_advance gives up when `lasting` is over */
	struct trace_budget lasting; /* of work, for the search for later transitions */
	uint64_t counted_ns; /* the work (trace/budget.h) up to the last time that it was subtracted from `lasting` */
	uint64_t cost_ns; /* of all evaluations */
	unsigned free_slots; /* slots not needed for the end */
	struct user_regs_struct before; /* before the last single step */
	bool before_known;
	struct trace_local_place place; /* of the left end */
	bool none; /* the last evaluation gave no value */
};

enum local_move {
	LOCAL_MOVED = 1, /* all units done */
	LOCAL_ENDED, /* the segment's end came first */
	LOCAL_LIMIT, /* the CPU time, or the number of raw hits or steps, was reached */
	LOCAL_EXITED,
};

/* Begins the time for later transitions: work that is counted, so that it goes as far each time. */
void local_begin_lasting(struct local *l, uint64_t ns);
/* t: what moves now. */
bool local_lasting_is_over(struct local *l, const struct trace *t);
/* Do the words fit into the free debug registers? */
bool local_watchable(const struct local *l);
/* Are the words that the expression reads at the left end known, and the same in both states? Then so is its value. */
bool local_same_words(const struct local *l, const struct trace *a, const struct trace *b);
/* Adds what the words hold in t to *sum, which tells one way of their contents from another. */
void local_add_contents(const struct local *l, const struct trace *t, uint64_t *sum);
/*
 * How many debug registers are left for words. One is for the end of the segment, or, if the search ends before that,
 * for its end_break: the segment's end is not met then.
 */
unsigned local_free_slots(const struct local *l);
/* Sets the slot for the end. */
int local_arm_end(struct local *l, struct trace *t, struct err *e);
/*
 * Moves t by `count` units of l->words, for at most `raw_max` hits or instructions (0: no limit). *done:
 * how many units were done.
 */
int local_advance(struct local *l, struct trace *t, enum local_unit unit, uint64_t count, uint64_t raw_max,
		  uint64_t *done, enum local_move *how, struct err *e);
/* Runs t until it reaches the breakpoint in this slot: LOCAL_MOVED, LOCAL_ENDED or LOCAL_EXITED. */
int local_run_to_slot(struct local *l, struct trace *t, unsigned slot, enum local_move *how, struct err *e);
/* Runs t without watchpoints for cpu_ns of CPU time; *ran: how long it really ran. */
int local_run(struct local *l, struct trace *t, uint64_t cpu_ns, uint64_t *ran, enum local_move *how, struct err *e);

#endif
