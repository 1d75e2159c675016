/* SPDX-License-Identifier: MIT */
/*
 * calls.h: the calls that threads make, with the functions that are called, from the instructions that an instrumented
 * replay reports. A call ends when the stack pointer is above its return address; so a longjmp ends several, and a
 * program that switches to a stack at higher addresses ends all.
 */
#ifndef FRED_EXECUTED_CALLS_H
#define FRED_EXECUTED_CALLS_H

#include "executed/places.h"
#include "instrument/instrument.h"

struct call_frame {
	uint64_t sp; /* where the return address is */
	uint64_t pc; /* of the call */
	struct timeline_point at; /* the call, or the call in the program that led to it */
	uint64_t target; /* the function's first instruction; 0: not known */
	bool shown; /* the consumer's */
	unsigned depth; /* how many of the calls around it are shown; set before `begins` */
};

struct call_thread {
	struct call_frame *v; /* the outermost first */
	size_t n, cap;
	bool pending; /* v[n] is a call whose function is not known yet */
	uint64_t operand; /* of the last call: where the address of its function was read; 0: nowhere */
};

struct calls_seen {
	struct call_thread *threads; /* by ordinal */
	void (*begins)(void *ctx, struct instrument *i, struct call_frame *f);
	/* x: the instruction after the call */
	void (*ends)(void *ctx, struct instrument *i, const struct call_frame *f, const struct instrument_insn *x);
	void *ctx;
};

void calls_seen_init(struct calls_seen *c);
void calls_seen_fini(struct calls_seen *c);
/* Of instrument_ops: for each instruction, then for each access and call. */
void calls_seen_insn(struct calls_seen *c, struct instrument *i, const struct instrument_insn *x, uint64_t sp);
void calls_seen_access(struct calls_seen *c, struct instrument *i, const struct instrument_access *a);
void calls_seen_call(struct calls_seen *c, struct instrument *i, const struct instrument_insn *x);
/* Of instrument_ops, too. The call has the position of the program's call that led to it. */
void calls_seen_calls_back(struct calls_seen *c, struct instrument *i);
/* After a segment: ends calls into the recorder, whose return no instruction reports. */
void calls_seen_over(struct calls_seen *c, struct instrument *i);

#endif
