/* SPDX-License-Identifier: MIT */
/*
 * walk.h: the one live process of a search: where it stands, how it gets elsewhere, when a position
 * is worth a checkpoint, and what all of it costs. The stages move through this only.
 */
#ifndef FRED_SEARCH_WALK_H
#define FRED_SEARCH_WALK_H

#include "search/bisect.h"
#include "search/pred.h"

struct walk {
	const struct search_ops *ops;
	void *ctx;
	const struct search_params *params;
	struct search_result *result;
	enum search_stage stage;
	struct pred pred;
	struct bisect b;
	bool alive; /* the process stands at `at` */
	uint64_t at;
	uint64_t since_ckpt_ns;	     /* running time from the checkpoint behind `at` to it */
	uint64_t run_ns, run_events; /* for the rate */
	bool own;		     /* own_at is a checkpoint of this search, the latest one */
	uint64_t own_at;
	uint64_t evaluations_max;
};

/* Brings the live process to position n: forward, or by a restart when it is past it or a
 * checkpoint on the way makes that cheaper. */
int walk_to(struct walk *w, uint64_t n, struct err *e);
/* Evaluates at the current position. ON_ERROR_FAIL turns SEARCH_ERROR into a failure. */
int walk_evaluate(struct walk *w, enum search_value *v, struct err *e);
/* One step of the bisection w->b: goes to n, evaluates, narrows; a good midpoint is checkpointed
 * when that is worth it (FReD's progress condition). */
int walk_probe(struct walk *w, uint64_t n, struct err *e);
/* A set of positions: the last one at or before n, the first one after n. */
typedef bool walk_find(void *ctx, uint64_t n, uint64_t *at);
/* Of such a set the position nearest to the middle of w->b that the bound on evaluations allows. */
bool walk_choose(const struct walk *w, walk_find *before, walk_find *after, uint64_t *at);
/* Checkpoints the current position, which is good, unless running here again is cheaper. */
int walk_keep(struct walk *w, struct err *e);
/* Fails with ERR_CANCELLED when the client asked to stop; reports progress otherwise. */
int walk_check(struct walk *w, struct err *e);
uint64_t walk_clock(const struct walk *w);
struct search_costs *walk_costs(struct walk *w);

/* The stages; each narrows w->b. */
int stage_ckpt(struct walk *w, struct err *e);
int stage_event(struct walk *w, struct err *e);
int stage_local(struct walk *w, struct err *e);

#endif
