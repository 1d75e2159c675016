/* SPDX-License-Identifier: MIT */
/*
 * walk.h: runs a copy of a replaying process in code that the recorder translates (rlog/walk.h), until
 * it reaches an address for the nth time, or a given state. Passing an address costs some nanoseconds,
 * a ptrace stop ten microseconds.
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

struct trace_walk_ops {
	/*
	 * t stands at the goal's address, with the goal's registers and words. 1: this is the goal. 0: it
	 * is not; *tell has words of memory that differ from the goal's, with their values here. -1: error.
	 * NULL: it always is the goal.
	 */
	int (*is_goal)(void *ctx, struct trace *t, struct walk_tell *tell, struct err *e);
	/* The report is full (rlog/report.h): its entries are to be taken out. 0 or -1. NULL: there is no report. */
	int (*full)(void *ctx, struct trace *t, struct err *e);
	/* The copy runs: what was taken out may be looked at. Without ptrace. May be NULL. */
	void (*meanwhile)(void *ctx);
	/*
	 * An instruction of the translated code, at pc, has faulted, as the program's own would. *at: the program's
	 * instruction of which it is a copy; the walk ends there (LEFT), in front of the fault. pc itself: it is an
	 * instruction of the program's that the recorder, or what it has called, has called. 1: done; 0: it is not
	 * known; -1: error. NULL: it is never known, and the walk ends with CANNOT.
	 */
	int (*fault)(void *ctx, struct trace *t, uint64_t pc, uint64_t *at, struct err *e);
	/*
	 * Watched words have changed: entries after number `from`, up to ask->changes, are in ask->log, and are not
	 * told again. NULL: only the last changes are wanted, which the log has at the end.
	 */
	void (*changes)(void *ctx, const struct replay_walk *ask, uint64_t from);
	/* Has t left its segment? Called when end_watch was written to, and now and then while it runs. 0 or -1. */
	int (*ended)(void *ctx, struct trace *t, bool *ended, struct err *e);
	/* Does the user want to stop? May be NULL. Ends with ERR_CANCELLED. */
	bool (*cancelled)(void *ctx);
};

enum walk_end {
	WALK_THERE = 1, /* at the nth arrival, or the goal */
	WALK_LEFT, /* the next instruction cannot be translated; nothing that was asked for came before it */
	WALK_OVER, /* the segment has ended: the copy is useless; ask.arrivals counts all arrivals */
	WALK_CANNOT, /* where it stands is unknown: the copy is useless */
	WALK_OUTSIDE, /* with `outside`: at the goal, but not in translated code: the copy is useless; ask.arrivals
			 counts all arrivals up to there */
};

struct trace_walk {
	uint64_t enter; /* replay_ctl.walk_addr; 0: this recorder cannot translate */
	uint64_t gadget; /* a `syscall` instruction that the shim's filter lets through */
	uint64_t end_watch; /* 8 bytes that are written to at the end of the segment */
	const struct trace_walk_ops *ops;
	void *ctx;
	struct replay_walk ask; /* the request (trace_walk_go sets pc) and the answer */
	uint64_t told; /* changes that ops->changes has been told of */
	uint64_t last_change; /* the caller's ask.nth_change, while that says when the log is full */
	/*
	 * set by the caller: after LEFT, the translated code and its memory stay in the copy, for the next call with
	 * the same struct, copy and request. Until then the copy may run, but not map, unmap or protect memory.
	 */
	bool stays;
	unsigned met_outside; /* private */
	bool outside; /* set by the caller: the goal may be in a function that the recorder calls */
	uint64_t memory; /* private: the memory that stayed; 0: none */
	uint64_t request; /* private: where the copy has `ask` */
	bool resumed; /* the caller's: arrivals and goals add up several calls of trace_walk_go; changes and log are the
			 last call's */
};

/* Sets the registers that the goal has. */
void trace_walk_want(struct trace_walk *w, const struct user_regs_struct *r);

/*
 * t: a copy (trace_fork) with one thread that stands in the program's code, and with no slots set: all
 * of them are used here. At most 3 addresses in all, places and goal. Returns enum walk_end, or -1.
 * After THERE and LEFT the copy's state is as if it had run natively.
 */
int trace_walk_go(struct trace_walk *w, struct trace *t, struct err *e);
/*
 * After OVER, goes on from there, past the end of the segment; t may run meanwhile (trace_let_run). Results are as
 * those of trace_walk_go.
 */
int trace_walk_on(struct trace_walk *w, struct trace *t, struct err *e);
/* To be called within ops->ended: calls ops->changes for the changes up to here. */
int trace_walk_tell(struct trace_walk *w, struct trace *t, struct err *e);
/*
 * Was v the lower or upper half of an address to which one of the last walks of this process has let the recorder
 * return?
 */
bool trace_walk_had(uint32_t v, unsigned upper);

#endif
