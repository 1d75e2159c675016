/* SPDX-License-Identifier: MIT */
/*
 * branch.h: branches: children that forks have made in a replay, and that stand still there until it is their turn to
 * be replayed. So a whole tree of processes is replayed in the time that its processes take, each once: without them,
 * each would be replayed from the start of the first one.
 *
 * They lie in the root of their first ancestor of origin EXEC, and wait at words of its control page; so only those of
 * one such ancestor live at a time.
 */
#ifndef FRED_TARGET_BRANCH_H
#define FRED_TARGET_BRANCH_H

#include "target/target.h"

/* how many wait at the same time: each has its own copies of pages that its parent changes */
#define BRANCHES_MOST 128u

struct branch;

struct branch_set {
	const struct rec *rec;
	struct branch *v;
	unsigned n;
	uint32_t next; /* place */
	uint64_t after, until; /* see branches_want; until 0: all are made */
	bool more; /* ... and there are more after these */
	unsigned resumed; /* how many replays have continued from their checkpoints */
	struct replay_ctl *ctl; /* what the recorder has reported about itself */
	struct branch_process *processes; /* by ordinal; NULL: nothing is known of any */
};

struct branch_process {
	uint64_t forked; /* the event by which it was forked, in variant 0; 0: not known */
	uint64_t kept; /* the event of its checkpoint, from which it makes more children; 0: there is none */
};

void branches_init(struct branch_set *b, const struct rec *rec);
/* Ends all branches. */
void branches_clear(struct branch_set *b);
/* The same, and forgets what was noted of processes. */
void branches_fini(struct branch_set *b);
/* The notes about a process of the recording. */
struct branch_process *branches_process(struct branch_set *b, uint32_t process);
/*
 * Prepares the next replay of this process: it makes no children before `first`, and ends when no more can wait. 1:
 * this is worth while; 0: it is not.
 */
int branches_want(struct branch_set *b, uint32_t process, uint32_t first, const struct timeline_opts *opts);
/*
 * For target_init: lets the replay of `process` make new branches. If the process is a branch itself, that is set, too.
 */
struct target_branches branches_for(const struct branch_set *b, uint32_t process);
/* At the end of a replay: takes over what it has made. */
void branches_take(struct branch_set *b, struct target *t);
/* In place of target_launch, for a process that waits in a branch: it stands where it begins. */
int branch_launch(struct branch_set *b, struct target *t, struct err *e);
/* The branch of that process has been replayed, or need not be: ends it. */
void branches_end(struct branch_set *b, uint32_t process);

#endif
