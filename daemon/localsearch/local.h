/* SPDX-License-Identifier: MIT */
/*
 * local.h: the search inside one thread's segment (stage D): from a state in which the expression is
 * good, find the first instruction after which it is bad.
 *
 *  - The memory words that the expression reads are watched by debug registers; it is evaluated only
 *    after a hit changed one of them. Each evaluation gives the words anew, since pointers move.
 *  - States are numbered by the branches executed before them, and bisected (local_count.h). Where that
 *    is impossible:
 *  - If the expression does not say what it reads, or reads too much, words that make the difference
 *    between this state and the segment's end are watched as a guess (local_guess.h).
 *  - Without words to watch, or with too many hits, the segment is first narrowed by CPU time, on forked
 *    copies: a copy found good becomes the left end, one found bad is dropped.
 *  - What remains is searched hit by hit, or instruction by instruction. If evaluating is expensive,
 *    in blocks of doubling size on copies, then in blocks of half the size.
 *  - If the last transition is wanted (params.lasting), the changes after the one found are followed for
 *    a second, or a fixed number of states is looked at where it is not known what the expression reads;
 *    where the expression becomes good again, the search continues from there. The segment may then begin
 *    with a bad state, too.
 *  - A state without a value is not bad, but does not make the expression good either.
 *
 * Only the held thread may change the words meanwhile.
 */
#ifndef FRED_LOCALSEARCH_LOCAL_H
#define FRED_LOCALSEARCH_LOCAL_H

#include "trace/trace.h"
#include "trace/words.h"

/* TRACE_NONE: the expression has no value there, which is neither good nor bad. */
enum trace_side { TRACE_GOOD = 0, TRACE_BAD, TRACE_NONE };

enum trace_recorder {
	TRACE_NOT_IN_RECORDER = 0,
	TRACE_LEAVES_RECORDER, /* it returns to *pc with *sp, unless an event comes first */
	TRACE_LOST_IN_RECORDER, /* where it returns to is unknown */
};

struct trace_local_ops {
	/* Evaluates in t's process, which is stopped, and must leave it as it was. *words comes
	 * with n == 0 and complete == false. 0; 1: the same, but all of it was known; -1 ends the search. */
	int (*eval)(void *ctx, struct trace *t, enum trace_side *side, struct trace_words *words, struct err *e);
	/* The time that is counted for the last evaluation (trace/budget.h). NULL: none. */
	uint64_t (*cost_ns)(void *ctx);
	/* Has t reached the end of its segment? Asked whenever it stops at end_break, at end_watch,
	 * or by a limit (each slice of slice_ns of wall time). NULL: end_break and end_watch always
	 * are the end. 0 or -1. */
	int (*ended)(void *ctx, struct trace *t, bool *ended, struct err *e);
	/* A copy was made: separate it from what it shares with the original, by trace_unshare_memory.
	 * NULL: nothing to do. */
	int (*forked)(void *ctx, struct trace *copy, struct err *e);
	/* Does the client want to stop? May be NULL. The search then ends with ERR_CANCELLED. */
	bool (*cancelled)(void *ctx);
	/*
	 * A number for the statement, in the program's own source, that the instruction at pc belongs to; 0: none.
	 * *begins: the instruction starts a range of the statement's code. With it, what the expression is inside of a
	 * statement does not count. May be NULL.
	 */
	uint64_t (*line)(void *ctx, struct trace *t, uint64_t pc, bool *begins);
	/* Where does t, which stands in the recorder's code, return to the program's? Needed with params.walk. */
	enum trace_recorder (*leave)(void *ctx, struct trace *t, uint64_t *pc, uint64_t *sp);
};

struct trace_local_params {
	uint64_t gadget; /* a `syscall` instruction in the target, for forks */
	uint64_t end_break; /* the segment ends before the instruction here; 0: none */
	uint64_t end_hits; /* ... when it is reached for the end_hits-th time; 0: when ops->ended says so */
	uint64_t end_watch; /* ... or at a write to these 8 bytes, which is not waited for with end_break; 0: none */
	uint64_t walk; /* replay_ctl.walk_addr: branches can be counted (trace/walk.h); 0: they cannot */
	/* All below: 0 is the default. */
	uint64_t hits_limit; /* hits after which the search goes by CPU time: 5000 */
	uint64_t settle_hits_ns; /* a span of CPU time below this is searched hit by hit: 30 us */
	uint64_t settle_steps_ns; /* ... or instruction by instruction: 20 us */
	uint64_t slice_ns; /* wall time between two calls of `ended`: 50 ms */
	uint64_t nth; /* find the nth transition, from 1, counting changes of the words; 0: any */
	bool lasting; /* find the last transition, as far as it is found within ... */
	uint64_t lasting_ns; /* ... so many ns of work (trace/budget.h): 1 s */
	bool no_forks; /* never make copies: hits or steps only */
	bool no_watch; /* never watch (for tests) */
	bool no_guess; /* never evaluate made-up states (local_guess.h) */
};

enum trace_local_outcome {
	TRACE_LOCAL_FOUND = 1, /* exactly one instruction: good before it, bad after it */
	TRACE_LOCAL_AT_END, /* good before the end, bad at it, but no instruction was seen to change it */
	TRACE_LOCAL_GOOD, /* still good at the end */
	TRACE_LOCAL_BAD, /* bad from beginning to end */
	TRACE_LOCAL_EXITED, /* the thread ended while it was still good */
};

/*
 * Where in the segment a state is, so that it can be reached again, and passes of an address on the way be counted:
 * from the beginning of the segment over this many gaps (code that cannot be walked), then to before the nth branch (0:
 * none), then this many changes of the words, or instructions.
 */
struct trace_local_place {
	bool known;
	uint64_t gaps, branches, changes, steps;
};

/* The statement in which the transition was made. */
struct trace_local_statement {
	bool known;
	bool at_begin; /* it began with the segment, or earlier */
	enum trace_side side; /* before its first instruction */
	uint64_t pc, hits; /* of that; the hits-th time in the segment */
};

struct trace_local_result {
	enum trace_local_outcome outcome;
	/* The thread in the final state, held: the one given, or a copy (t.own: trace_kill it). */
	struct trace t;
	bool is_copy;
	uint64_t turns; /* params.nth: number of transitions up to this one, itself included */
	bool begins_bad; /* the segment begins with a bad state */
	bool lasts; /* FOUND: no later change in the segment makes it good again */
	bool before_known;
	struct user_regs_struct before; /* registers before the instruction, if known */
	struct user_regs_struct after;
	uint64_t pc_after;
	uint64_t pc_insn; /* address of the instruction, 0: unknown */
	uint64_t pc_inside; /* an address inside it: what to look a source line up by */
	struct trace_local_place place;
	uint64_t turn_pc,
		turn_hits; /* FOUND: the instruction, at its turn_hits-th execution in the segment; 0, 0: not known */
	struct trace_local_statement statement; /* FOUND, with ops->line and without params.nth */
	uint64_t hits, steps, evaluations, forks;
	/*
	 * How many were bisected: gaps, branches in one part that can be walked, instructions between two branches; 0:
	 * none.
	 */
	uint64_t gaps, branches, instructions;
	uint64_t later_evaluations; /* how many of the evaluations were for later transitions, or to confirm this one */
	uint64_t evaluate_ns, fork_ns, run_ns, total_ns; /* wall */
};

/*
 * t: held, at a good state, with no slots set. Afterwards t is held as well: at the final state,
 * unless r->is_copy; then somewhere between its start and the transition. On -1 copies are gone, t
 * is held if it still lives. Signals that occur on the way are delivered.
 */
int trace_local_search(struct trace *t, const struct trace_local_params *p, const struct trace_local_ops *ops,
		       void *ctx, struct trace_local_result *r, struct err *e);

/*
 * How often the thread reaches pc, an address of the program, from the beginning of the segment, where t stands, up to
 * and including the instruction that made the transition at `place`. 1: it cannot be known, or the client wants to stop
 * (ops->cancelled). t is of no use afterwards.
 */
int trace_local_passes(struct trace *t, const struct trace_local_params *p, const struct trace_local_ops *ops,
		       void *ctx, const struct trace_local_place *place, uint64_t pc, uint64_t *passes, struct err *e);

#endif
