/* SPDX-License-Identifier: MIT */
/* watch_int.h: what watch.c, watch_last.c (which of several transitions) and watch_result.c (the object of the contract) share. */
#ifndef FRED_WATCH_WATCH_INT_H
#define FRED_WATCH_WATCH_INT_H

#include "search/pred.h"
#include "expr/expr.h"
#include "replay/navigate.h"
#include "watch/segment_search.h"
#include "watch/watch.h"

struct watch {
	struct nav nav;
	struct gdb *g;
	struct expr x;
	struct statements *statements; /* NULL: each instruction counts */
	bool have_expr;
	struct op_ctx *ctx;
	uint64_t good, bad;
	struct timeline_point from; /* the good end; with a pc: inside the segment behind `good` */
	struct timeline_point here; /* with a pc: the bad end lies inside the segment before `bad` */
	struct expr_value at_good, at_bad;
	const struct watch_params *params;
	struct pred pred;
	struct segment_search d;
	bool have_d;
	uint64_t in_segment; /* with params->nth: which one there */
	uint64_t turn; /* the transition is in the segment behind this event */
	uint64_t false_at; /* with params->anywhere: the first event at which it is false, though it is true at both ends; 0: none */
	bool inside; /* both ends are bad */
	bool again; /* ... and the bad one has moved to the beginning of a statement, inside of which alone it was good */
	bool within; /* it is only inside of a statement that it was good there: there was no time to go back further */
	bool sure; /* nothing behind it makes the expression good again */
	uint64_t later_evaluations, later_ns; /* what it took to know that */
	pid_t good_copy; /* a copy of the process at the good end */
	double replay_s;
};

/* watch_ops.c: the search's view of the world, without stage D; the context is a struct watch. */
extern const struct search_ops watch_event_ops;

/*
 * Stage D (search/ops.h, `local`), and before it: which transition, if there are later ones than that behind event n.
 */
int watch_local(void *arg, uint64_t n, const struct pred *pred, struct search_costs *costs, struct err *e);
/*
 * Both ends are bad: is it good in between, as the changes of what it reads show, within a second by default? 1: so it is, and
 * stage D has the transition; 0: *looked says how far that was looked for.
 */
struct watch_looked {
	bool watched; /* its changes were followed ... */
	bool all; /* ... from end to end, or */
	uint64_t at; /* ... up to this event */
};
int watch_inside(struct watch *w, enum search_on_error on_error, struct search_costs *costs, struct watch_looked *looked, struct err *e);
/* It is true at both ends: sets w->false_at. The process is used up. */
int watch_anywhere(struct watch *w, struct err *e);
/* Ends what stage D still holds. */
void watch_drop_held(struct watch *w);

/* What stage D found, but for hits, notes and stats. GDB then is attached to the process. */
int watch_describe(struct watch *w, struct watch_result *r, struct err *e);

#endif
