/* SPDX-License-Identifier: MIT */
/*
 * navigate.h: going to a position of a recording, forward or back, with checkpoints: the store of the
 * recording (ckpt/store.h) is filled while replaying and used to go back.
 */
#ifndef FRED_REPLAY_NAVIGATE_H
#define FRED_REPLAY_NAVIGATE_H

#include "ckpt/store.h"
#include "reclog/pos.h"
#include "replay/forked.h"
#include "replay/memory.h"
#include "replay/operation.h"
#include "target/branch.h"
#include "target/target.h"

struct nav_stats {
	uint64_t checkpoints, restarts;
	double checkpoint_s, restart_s;
};

struct nav {
	struct target t;
	struct ckpt_store *store; /* NULL: this recording's folder cannot be written: no checkpoints */
	struct forked_list forked; /* in a plain cell, in the place of the store's */
	struct ckpt_env env;
	struct op_ctx *ctx; /* for progress; may be NULL */
	const char *what; /* text of the progress */
	double span_lo, span_hi; /* the part of the progress bar that a run fills */
	struct nav_stats stats;
	bool parallel; /* set by nav_climb: the threads ran side by side */
};

/*
 * Opens an image of a recording by the schedule variant that is known to replay it. Nothing
 * is launched yet.
 */
int nav_init(struct nav *n, const struct rec *rec, uint32_t process, uint32_t flags, struct op_ctx *ctx, struct err *e);
void nav_fini(struct nav *n);

uint64_t nav_at(const struct nav *n); /* the position it stands at */
uint64_t nav_total(const struct nav *n);
uint64_t nav_first(const struct nav *n); /* the least position: 0, or what a bounded recording begins with */

/* Launches the process, or restores the checkpoint that a bounded recording begins with. */
int nav_begin(struct nav *n, struct err *e);
/* The folder of the checkpoint that a bounded recording begins with, malloc'd. */
char *nav_start_store(const struct rec *rec, uint32_t process);
/* Goes to position `to`; from a checkpoint when that is nearer than where it stands. */
int nav_goto(struct nav *n, uint64_t to, struct err *e);
/*
 * Restores the nearest checkpoint at or before at_most (or begins at the start), even if the process is nearer. *at:
 * the position then.
 */
int nav_restart(struct nav *n, uint64_t at_most, uint64_t *at, struct err *e);
#define NAV_CUTS_MAX 32
/*
 * Between two events: the places for `count` checkpoints at about equal distances in recorded time, at most 2 * count,
 * rising. Returns how many there are.
 */
unsigned nav_cuts(struct nav *n, uint64_t from, uint64_t to, unsigned count, uint64_t *cuts);
/* How many checkpoints are worth making on a first way between these events. */
unsigned nav_checkpoints_wanted(struct nav *n, uint64_t from, uint64_t to);
/* Runs to `to`, making checkpoints on the way; count is at most NAV_CUTS_MAX. */
int nav_run_with_checkpoints(struct nav *n, uint64_t to, unsigned count, struct err *e);
/* Makes a checkpoint at the present position. 1: there is no store. */
int nav_checkpoint(struct nav *n, struct err *e);
/* As nav_checkpoint, but the checkpoint stays until it is removed: *id is its number in the store. */
int nav_keep(struct nav *n, uint64_t *id, struct err *e);
/* Removes the checkpoint at this event, unless it is to stay (nav_keep) or another process restores it. */
int nav_drop_checkpoint(struct nav *n, uint64_t event, struct err *e);
/* The last checkpoint at or before event, or the first after it. */
bool nav_ckpt_before(struct nav *n, uint64_t event, uint64_t *at);
bool nav_ckpt_after(struct nav *n, uint64_t event, uint64_t *at);

/* Converts a position as the user wrote it to a point. */
int nav_resolve(struct nav *n, const char *text, struct timeline_point *p, struct err *e);

/*
 * Replays to the end with one schedule variant after the other until one does not diverge, and notes that variant in
 * the recording. If all diverge, the error is that of the first variant. With `parallel`, threads first run side by
 * side; a divergence then proves nothing. With `memory`, which needs a linear replay, it stops and compares memory at
 * memory's positions; a difference is ERR_NOT_FOUND. The children that the process forks are added to `branches`, or
 * only those of branches_want; then it ends with the last of these. NULL: no children are made. Where threads run side
 * by side, none are made either.
 */
int nav_climb(const struct rec *rec, uint32_t process, uint32_t flags, bool parallel, struct memory_check *memory,
	      struct branch_set *branches, struct op_ctx *ctx, struct nav *out, struct err *e);

/*
 * As nav_climb, for a process that waits in branches: from where it waits, with the variant of the replay that made it.
 * A failure proves nothing.
 */
int nav_branch(const struct rec *rec, uint32_t process, uint32_t flags, struct branch_set *branches, struct op_ctx *ctx,
	       struct nav *out, struct err *e);

/* What to say of a divergence where no other variant is looked for. */
#define NAV_TRY_VARIANTS                                                                                               \
	"`fredctl replay` tries other orders of the events that no lock orders, and what replays is used from then on"
/* Could there be another variant? */
bool nav_may_have_variants(const struct nav *n);

#endif
