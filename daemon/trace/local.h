/* SPDX-License-Identifier: MIT */
/*
 * local.h: stage D inside one thread's segment: from a state in which the expression is good, find
 * the first instruction after which it is bad.
 *
 *  - The memory words the expression reads are watched in hardware; it is evaluated only where a
 * hit changed one of them. Words are asked for again after each evaluation (pointers move).
 *  - States are numbered by the branches on the way to them, and bisected (local_count.h). Where that cannot be:
 *  - If the expression does not say what it reads, or reads too much, words that make the
 * difference between this state and the segment's end are watched as a guess (local_guess.h).
 *  - With no words to watch, or too many hits, the segment is first narrowed by CPU time
 * on forked copies: a copy found good becomes the left end, one found bad is dropped.
 *  - Wanted is the last transition (params.lasting): the changes behind the one that was found are followed for a second, and
 * where it becomes good again, the search goes on from there. The segment may then begin with a bad state, too.
 *  - A state without a value is not bad, but nothing becomes good by it.
 *  - What is left then is gone through hit by hit, or instruction by instruction. Where evaluating
 * is dear, in doubling blocks on copies and then halving ones.
 *
 * Nothing but the held thread may change the words meanwhile.
 */
#ifndef FRED_TRACE_LOCAL_H
#define FRED_TRACE_LOCAL_H

#include "trace/trace.h"
#include "trace/words.h"

/* NONE: it has no value, and that is neither good nor bad. */
enum trace_side { TRACE_GOOD = 0, TRACE_BAD, TRACE_NONE };

enum trace_recorder {
	TRACE_NOT_IN_RECORDER = 0,
	TRACE_LEAVES_RECORDER, /* it goes on at *pc with *sp, if no event comes before */
	TRACE_LOST_IN_RECORDER, /* nobody knows where */
};

struct trace_local_ops {
	/* Evaluates in t's process, which is stopped, and must leave it as it was. *words comes
	 * with n == 0 and complete == false. 0, or -1 to give up. */
	int (*eval)(void *ctx, struct trace *t, enum trace_side *side, struct trace_words *words,
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
	/*
	 * A number for the statement that the instruction at pc is in, in the program's own source; 0: in none. *begins: it is the
	 * first one of a piece of its code. What the expression is inside of a statement then does not count. May be NULL.
	 */
	uint64_t (*line)(void *ctx, struct trace *t, uint64_t pc, bool *begins);
	/* t stands in the recorder's code, which cannot be walked: where it gets back into the program's. With params.walk. */
	enum trace_recorder (*leave)(void *ctx, struct trace *t, uint64_t *pc, uint64_t *sp);
};

struct trace_local_params {
	uint64_t gadget;    /* a `syscall` instruction in the target, for forks */
	uint64_t end_break; /* the segment ends before the instruction here; 0: none */
	uint64_t end_hits;  /* ... when it comes there for the end_hits-th time; 0: when ops->ended says so */
	uint64_t end_watch; /* ... or at a write to these 8 bytes; 0: none */
	uint64_t walk;	    /* replay_ctl.walk_addr: branches can be counted (trace/walk.h); 0: they cannot */
	/* All below: 0 is the default. */
	uint64_t hits_limit;	  /* hits before the search goes by CPU time: 5000 */
	uint64_t settle_hits_ns;  /* CPU time below which hits are gone through: 30 us */
	uint64_t settle_steps_ns; /* ... or instructions: 20 us */
	uint64_t slice_ns;	  /* wall time between two looks at `ended`: 50 ms */
	uint64_t nth;		  /* wanted is the nth transition, from 1, by changes of the words; 0: one that is found */
	bool lasting;		  /* wanted is the last transition, as far as it is found within ... */
	uint64_t lasting_ns;	  /* ... this wall time: 1 s */
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

/*
 * Where in the segment a state is, so that it can be gone to again and passes of an address on the way be counted: from the
 * segment's begin over so many gaps (what cannot be walked), then up to before the nth branch (0: none), then so many
 * changes of the words, or instructions.
 */
struct trace_local_place {
	bool known;
	uint64_t gaps, branches, changes, steps;
};

/* The statement in which the transition was made. */
struct trace_local_statement {
	bool known;
	bool at_begin; /* it has begun with the segment, or before that */
	enum trace_side side; /* before its first instruction */
	uint64_t pc, hits; /* of that; the hits-th time in the segment */
};

struct trace_local_result {
	enum trace_local_outcome outcome;
	/* The thread in the final state, held: the one given, or a copy (t.own: trace_kill it). */
	struct trace t;
	bool is_copy;
	uint64_t turns; /* params.nth: so many transitions there were, up to that one */
	bool begins_bad; /* the segment did */
	bool lasts; /* FOUND: no change behind it up to the end of the segment makes it good again */
	bool before_known;
	struct user_regs_struct before; /* registers before the instruction, if known */
	struct user_regs_struct after;
	uint64_t pc_after;
	uint64_t pc_insn;   /* address of the instruction, 0: unknown */
	uint64_t pc_inside; /* an address inside it: what to look a source line up by */
	struct trace_local_place place;
	uint64_t turn_pc, turn_hits; /* FOUND: the instruction, and which time in the segment it was; 0, 0: not known */
	struct trace_local_statement statement; /* FOUND, with ops->line and without params.nth */
	uint64_t hits, steps, evaluations, forks;
	uint64_t branches, instructions; /* so many states were bisected: before branches, and then between two of them; 0: they were not */
	uint64_t later_evaluations; /* of those, for looking at what comes behind */
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

/*
 * How often the thread comes to pc, an address in the program, from the segment's begin, where t stands, up to the
 * instruction that made the transition at `place`, that one included. 1: nobody knows, or the client does not want to wait
 * any longer (ops->cancelled). t is used up.
 */
int trace_local_passes(struct trace *t, const struct trace_local_params *p, const struct trace_local_ops *ops, void *ctx,
		       const struct trace_local_place *place, uint64_t pc, uint64_t *passes, struct err *e);

#endif
