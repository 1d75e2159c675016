/* SPDX-License-Identifier: MIT */
/*
 * walk.h: a copy of a replaying process goes on in code that the recorder translates (rlog/walk.h), to a place for the nth
 * time or to a state: some nanoseconds each time that it comes by, where a stop costs ten microseconds.
 */
#ifndef FRED_TRACE_WALK_H
#define FRED_TRACE_WALK_H

#include "rlog/walk.h"
#include "trace/trace.h"

#define WALK_TELL 3
struct walk_tell {
	unsigned n;
	struct replay_walk_word v[WALK_TELL];
};

struct walk_ops {
	/*
	 * t stands at the goal with its registers and words. 1: this is it; 0: it is not, as these words of memory tell, with
	 * the values that they have there; -1: error. NULL: it always is.
	 */
	int (*is_goal)(void *ctx, struct trace *t, struct walk_tell *tell, struct err *e);
	/* Has it left its segment? Asked when end_watch was written to. 0 or -1. */
	int (*ended)(void *ctx, struct trace *t, bool *ended, struct err *e);
	/* Does the user want to stop? May be NULL. Ends with ERR_CANCELLED. */
	bool (*cancelled)(void *ctx);
};

enum walk_end {
	WALK_THERE = 1, /* at the nth arrival, or the goal */
	WALK_LEFT, /* what comes now cannot be translated; none of what was wanted came before */
	WALK_OVER, /* the segment is over: the copy is of no more use; ask.arrivals are all there were */
	WALK_CANNOT, /* nobody knows where it is: the copy is of no more use */
};

struct walk {
	uint64_t enter; /* replay_ctl.walk_addr; 0: this recorder cannot */
	uint64_t gadget; /* a `syscall` instruction that the shim's filter lets through */
	uint64_t end_watch; /* 8 bytes that are written to at the end of the segment */
	const struct walk_ops *ops;
	void *ctx;
	struct replay_walk ask; /* what is asked, besides pc, and the answer */
	bool resumed; /* the caller's: arrivals and goals are of more than one walk_go, changes and log only of the last */
};

/* The registers of the goal. */
void walk_want(struct walk *w, const struct user_regs_struct *r);

/*
 * t: a copy (trace_fork) of one thread in the program's code, with no slots set; it uses all of them. At most 3 addresses
 * count: places and goal. enum walk_end, or -1. After THERE and LEFT the copy is as if it had run on its own.
 */
int walk_go(struct walk *w, struct trace *t, struct err *e);

#endif
