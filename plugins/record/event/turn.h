/* SPDX-License-Identifier: MIT */
/* turn.h: what turn.c and lend.c share. */
#ifndef FRED_RECORD_TURN_H
#define FRED_RECORD_TURN_H

#include "record/core/shim.h"

const struct rlog_kind_info *shim_kinds(void);
void give_turn(uint32_t to);

enum { STANDS = 1, STANDS_INSIDE = 2 };

/* May t run on, when the turn goes to another one? Not where its next slot lies past the bound. */
int turn_runs_ahead(const struct thr *t);
/* Is the event behind the present one t's too? */
int turn_stays(const struct thr *t);

static inline int has_turn(const struct thr *t)
{
	const struct replay_ctl *c = G.ctl;

	/* another process: the parent of a followed fork, about to end, while the child goes on */
	return __atomic_load_n(&c->owner, __ATOMIC_SEQ_CST) == t->ordinal && c->process == G.process;
}

/* Do threads run on behind their slots, up to the next record? */
static inline int turn_parallel(void)
{
	return G.ctl->turn < G.ctl->ahead_until;
}

/* A thread that runs in a lent turn comes to a record. */
void lend_end(struct thr *t);
/* snap.c, REPLAY_CMD_SNAP: the PID of a copy that has left the timeline; or -errno. */
long turn_snap(struct replay_ctl *c);

#endif
