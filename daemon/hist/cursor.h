/* SPDX-License-Identifier: MIT */
/*
 * cursor.h: going to a place of a debug history: restart at the latest checkpoint and issue the
 * commands again, or go on from where the process stands.
 */
#ifndef FRED_HIST_CURSOR_H
#define FRED_HIST_CURSOR_H

#include "hist/hist.h"

/* Where the process stands. */
struct hist_place {
	uint64_t pos;	/* grows with every instruction executed: a total order of states */
	unsigned depth; /* frames on the stack of the thread that is followed */
};

/* The debugger. All return 0, or -1 with e set. */
struct hist_ops {
	/* Back to the latest checkpoint. */
	int (*restart)(void *ctx, struct err *e);
	/* Issues a command `count` times; at the end of the program it just stays there. */
	int (*exec)(void *ctx, enum hist_cmd cmd, uint64_t count, struct err *e);
	int (*where)(void *ctx, struct hist_place *p, struct err *e);
	/* Checkpoints here; restarts come here from now on. May be NULL. */
	int (*checkpoint)(void *ctx, struct err *e);
};

struct hist_cursor {
	const struct hist_ops *ops;
	void *ctx;
	uint64_t base; /* the latest checkpoint lies after so many commands of the history */
	uint64_t at;   /* the process stands after so many of them */
	bool alive;    /* it does */
	uint64_t restarts, checkpoints;
};

void hist_cursor_init(struct hist_cursor *c, const struct hist_ops *ops, void *ctx);
/* To the place after the first k commands of h; k is not before the latest checkpoint. */
int hist_cursor_goto(struct hist_cursor *c, const struct hist *h, uint64_t k, struct err *e);
/* The process is no longer at a place of the history. */
void hist_cursor_lost(struct hist_cursor *c);
/* Checkpoints where the cursor stands, if the debugger can. */
int hist_cursor_checkpoint(struct hist_cursor *c, struct err *e);
int hist_cursor_where(struct hist_cursor *c, struct hist_place *p, struct err *e);

#endif
