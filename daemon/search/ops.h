/* SPDX-License-Identifier: MIT */
/*
 * ops.h: the operations that a search needs. The search is pure: it sees neither GDB nor CRIU nor a process, only this
 * table, so that it runs on made-up timelines too.
 *
 * Positions are event numbers. There is one live process, which stands at one position (the one
 * that `restart` reported or `run_to` reached) and can only move forward; going back is a restart.
 * All functions return 0, or -1 with e set; a failure ends the search with that error.
 */
#ifndef FRED_SEARCH_OPS_H
#define FRED_SEARCH_OPS_H

#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

/* What the watched expression gives as a truth value; ERROR: it cannot be evaluated here. */
enum search_value { SEARCH_FALSE = 0, SEARCH_TRUE = 1, SEARCH_ERROR = 2 };

/*
 * The stages of FReD section 3.2, and the check of the two ends before them. Stage B does nothing: the debugger's
 * commands are positions on the timeline, which stages A and C search (docs/architecture.md, "Stage B"). Its costs,
 * always 0, stay among the others, as results have a column for each stage of the paper.
 */
enum search_stage {
	SEARCH_ENDS = 0,
	SEARCH_A, /* Search-Ckpts */
	SEARCH_B, /* Search-Debug-History */
	SEARCH_C, /* Search-Determ-Event-Log */
	SEARCH_D, /* Local-Search */
	SEARCH_STAGES
};

/* Costs of one stage: the columns of FReD's Table 1. */
struct search_costs {
	uint64_t checkpoints, restarts, evaluations;
	uint64_t states; /* among which the stage finds one, at its beginning; 0: it did not bisect */
	uint64_t checkpoint_ns, restart_ns, evaluate_ns;
	uint64_t run_ns; /* time spent running forward */
	uint64_t total_ns; /* the whole stage */
};

struct pred; /* pred.h */

struct search_progress {
	enum search_stage stage;
	uint64_t left, right; /* the interval that is left: good, bad */
	uint64_t evaluations; /* so far */
	uint64_t evaluations_max; /* upper bound for stages up to C */
};

struct search_ops {
	/* The expression at the current position. Must leave the process as it was. */
	int (*evaluate)(void *ctx, enum search_value *v, struct err *e);
	/* Replaces the live process by the nearest checkpoint at or before at_most (the start of
	 * the timeline counts as one) and says in *at where it stands. */
	int (*restart)(void *ctx, uint64_t at_most, uint64_t *at, struct err *e);
	/* Moves the live process forward to position n, which is not before the current one. */
	int (*run_to)(void *ctx, uint64_t n, struct err *e);

	/* All below may be NULL. */

	/* Checkpoints the current position. 1: declined, nothing was done and nothing is wrong. */
	int (*checkpoint)(void *ctx, struct err *e);
	/* The search no longer needs a checkpoint that it made. */
	int (*drop)(void *ctx, uint64_t at, struct err *e);
	/* The last checkpoint at or before n: true and *at, or false. */
	bool (*ckpt_before)(void *ctx, uint64_t n, uint64_t *at);
	/* Time at which event n was recorded, in any unit, never falling: midpoints go by it. */
	uint64_t (*weight)(void *ctx, uint64_t n);
	/* A monotonic clock in nanoseconds, for the costs and the decision to checkpoint. */
	uint64_t (*clock_ns)(void *ctx);
	/* The client asked to stop: asked before every other op. */
	bool (*cancelled)(void *ctx);
	void (*progress)(void *ctx, const struct search_progress *p);

	/*
	 * Stage D. The live process is at event n, where the expression is good by pred; at n + 1 it is bad. The
	 * process cannot be used afterwards. The costs are added to *costs, except for total_ns.
	 */
	int (*local)(void *ctx, uint64_t n, const struct pred *pred, struct search_costs *costs, struct err *e);
};

#endif
