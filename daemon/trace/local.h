/* SPDX-License-Identifier: MIT */
/*
 * local.h: stage D inside one thread's segment: from a state in which the expression is good, find
 * the first instruction after which it is bad.
 *
 *  - The memory words the expression reads are watched in hardware; it is evaluated only where a
 * hit changed one of them. Words are asked for again after each evaluation (pointers move).
 *  - If the expression does not say what it reads, or reads too much, words that make the
 * difference between this state and the segment's end are watched as a guess (local_guess.h).
 *  - With no words to watch, or too many hits, the segment is first narrowed by CPU time
 * on forked copies: a copy found good becomes the left end, one found bad is dropped.
 *  - Wanted is the transition that lasts (params.lasting): where it becomes good again soon after, the search goes on.
 *  - What is left then is gone through hit by hit, or instruction by instruction. Where evaluating
 * is dear, in doubling blocks on copies and then halving ones.
 *
 * Nothing but the held thread may change the words meanwhile.
 */
#ifndef FRED_TRACE_LOCAL_H
#define FRED_TRACE_LOCAL_H

#include "trace/trace.h"

#define TRACE_WORDS_MAX 64

struct trace_word {
	uint64_t addr;
	uint32_t len;
};

struct trace_words {
	bool complete; /* the expression depends on these words only */
	unsigned n;
	struct trace_word w[TRACE_WORDS_MAX];
};

struct trace_local_ops {
	/* Evaluates in t's process, which is stopped, and must leave it as it was. *words comes
	 * with n == 0 and complete == false. An expression that cannot be evaluated is good or bad
	 * by the caller's policy. 0, or -1 to give up. */
	int (*eval)(void *ctx, struct trace *t, bool *bad, struct trace_words *words,
		    struct err *e);
	/* Has t reached the end of its segment? Asked whenever it stops at end_break, at end_watch,
	 * or by a limit (each slice of slice_ns of wall time). NULL: end_break and end_watch always
	 * are the end. 0 or -1. */
	int (*ended)(void *ctx, struct trace *t, bool *ended, struct err *e);
	/* A copy was made: detach it from what it shares with the original. NULL: nothing to do.
	 * trace_unshare_memory is what one wants here. */
	int (*forked)(void *ctx, struct trace *copy, struct err *e);
	/* The client wants to stop. May be NULL. Ends with ERR_CANCELLED. */
	bool (*cancelled)(void *ctx);
};

struct trace_local_params {
	uint64_t gadget;    /* a `syscall` instruction in the target, for forks */
	uint64_t end_break; /* the segment ends before the instruction here; 0: none */
	uint64_t end_watch; /* ... or at a write to these 8 bytes; 0: none */
	/* All below: 0 is the default. */
	uint64_t hits_limit;	  /* hits before the search goes by CPU time: 5000 */
	uint64_t settle_hits_ns;  /* CPU time below which hits are gone through: 30 us */
	uint64_t settle_steps_ns; /* ... or instructions: 20 us */
	uint64_t slice_ns;	  /* wall time between two looks at `ended`: 50 ms */
	bool lasting;		  /* if it becomes good again soon after, go on from there */
	bool no_forks;		  /* never make copies: hits or steps only */
	bool no_watch;		  /* never watch (for tests) */
	bool no_guess;		  /* never evaluate states that never were */
};

enum trace_local_outcome {
	TRACE_LOCAL_FOUND = 1, /* exactly one instruction: good before it, bad after it */
	TRACE_LOCAL_AT_END,    /* good up to the end; bad there although no instruction was seen */
	TRACE_LOCAL_GOOD,      /* good at the end too */
	TRACE_LOCAL_BAD,       /* bad from the beginning */
	TRACE_LOCAL_EXITED,    /* the thread died on the way, while still good */
};

struct trace_local_result {
	enum trace_local_outcome outcome;
	/* The thread in the final state, held: the one given, or a copy (t.own: trace_kill it). */
	struct trace t;
	bool is_copy;
	bool before_known;
	struct user_regs_struct before; /* registers before the instruction, if known */
	struct user_regs_struct after;
	uint64_t pc_after;
	uint64_t pc_insn;   /* address of the instruction, 0: unknown */
	uint64_t pc_inside; /* an address inside it: what to look a source line up by */
	uint64_t hits, steps, evaluations, forks;
	uint64_t evaluate_ns, fork_ns, run_ns, total_ns; /* wall */
};

/*
 * t: held, at a good state, with no slots set. Afterwards t is held as well: at the final state,
 * unless r->is_copy; then somewhere between its start and the transition. On -1 copies are gone, t
 * is held if it still lives. Signals that occur on the way are delivered.
 */
int trace_local_search(struct trace *t, const struct trace_local_params *p,
		       const struct trace_local_ops *ops, void *ctx, struct trace_local_result *r,
		       struct err *e);

#endif
