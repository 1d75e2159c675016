/* SPDX-License-Identifier: MIT */
/* watch_int.h: one search, as the files of daemon/watch share it: watch.c, watch_ops.c, watch_last.c, watch_exit.c,
 * watch_result.c.
 */
#ifndef FRED_WATCH_WATCH_INT_H
#define FRED_WATCH_WATCH_INT_H

#include "expr/expr.h"
#include "replay/navigate.h"
#include "search/pred.h"
#include "watch/exit_call.h"
#include "watch/segment_search.h"
#include "watch/watch.h"

struct watch {
	struct nav nav;
	struct gdb *g;
	struct expr x;
	struct statements *statements; /* NULL: each instruction counts */
	bool have_expr;
	struct expr_patience *patience; /* of an earlier search of the same command; NULL: this is the first */
	struct op_ctx *ctx;
	uint64_t good, bad;
	uint64_t cuts[2 * NAV_CUTS_MAX]; /* search_params.cuts */
	size_t cuts_n;
	struct timeline_point from; /* the good end; with a pc: inside the segment after `good` */
	struct timeline_point here; /* the bad end; with a pc: inside the segment before `bad` */
	struct expr_value at_good, at_bad;
	const struct watch_params *params;
	struct pred pred;
	struct segment_search d;
	bool have_d;
	uint64_t in_segment; /* with params->nth: which transition of its segment */
	uint64_t turn; /* the transition is in the segment after this event */
	uint64_t false_at; /* with params->anywhere: the first event at which it is false between two ends that are
			      true; 0: none */
	bool inside; /* both ends are bad */
	bool again; /* ... and the bad one was moved back over a statement inside of which alone it was good */
	bool within; /* ... within which alone it was good, and there was no time to search further back */
	bool sure; /* nothing after it makes the expression good again ... */
	bool at_events; /* ... or at least, it is good at no event after it */
	uint64_t later_evaluations, later_ns; /* what it took to find that out */
	/* at how many of the positions that were tried between the ends it has no value, if it has none at the ends */
	unsigned valueless;
	struct expr_value seen; /* the latest value at an event that is as at the good end ... */
	uint64_t seen_at; /* ... and 1 + that event; 0: none */
	struct exit_call exit; /* the bad end is inside of this call */
	/* ... and the position of the call, if the expression is to be examined there, too */
	struct timeline_point exit_at;
	pid_t good_copy; /* a copy of the process at the good end */
	double replay_s;
};

/* watch_ops.c: the search's view of the world, without stage D; the context is a struct watch. */
extern const struct search_ops watch_event_ops;

/* Stage D (search/ops.h, `local`). Before it, decides which transition is meant, if there are several after event n. */
int watch_local(void *arg, uint64_t n, const struct pred *pred, struct search_costs *costs, struct err *e);
/*
 * Both ends are bad: follows the changes of what the expression reads, for a second by default, to see whether it is
 * good in between. 1: it is, and stage D has found the transition; 0: it is not as far as *looked says.
 */
struct watch_looked {
	bool watched; /* changes were followed ... */
	bool all; /* ... from end to end, or */
	bool by_events; /* ... they could not be, for it reads too much: the values at events, and at some states in
			   between */
	uint64_t at; /* ... up to this event */
};
int watch_inside(struct watch *w, enum search_on_error on_error, struct search_costs *costs,
		 struct watch_looked *looked, struct err *e);
/* For an expression that is true at both ends: sets w->false_at. The process cannot be used afterwards. */
int watch_anywhere(struct watch *w, struct err *e);
/*
 * watch_exit.c: called after a search with outcome r. Sets w->exit_at if the search is to be made again up to the call
 * of exit. The process cannot be used afterwards.
 */
void watch_find_exit(struct watch *w, int r, const struct watch_result *result);
/* Ends the processes that stage D still holds. */
void watch_drop_held(struct watch *w);

/* Fills *r with what stage D found, but for hits, notes and stats. GDB then is attached to the process. */
int watch_describe(struct watch *w, struct watch_result *r, struct err *e);

#endif
