/* SPDX-License-Identifier: MIT */
/*
 * lines.h: steps back by lines. GDB makes them instruction by instruction, even if a loop within one line has millions
 * of rounds. If cli/gdb/commands.py sends the lines of the function before such a command (`monitor lines`), one step
 * goes back over all further rounds of that loop: GDB has seen the same instructions in the rounds before, and would
 * not stop in these either.
 */
#ifndef FRED_DEBUG_LINES_H
#define FRED_DEBUG_LINES_H

#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

struct lines_range {
	uint64_t lo, hi; /* addresses of instructions, hi is not one of them */
	uint32_t line; /* equal for the same line; no line's number */
};

struct lines {
	struct lines_range *v; /* rising, no gaps */
	unsigned n;
	uint64_t *insn; /* addresses of the instructions, rising; none: not known */
	unsigned insns;
	/* The steps so far that stayed in one line, of the frame with stack pointer sp; those of deeper ones do not
	 * count. */
	uint64_t event, lo, last, sp;
	uint32_t line;
	unsigned steps, due;
	uint64_t first; /* the PC of the first one */
	bool crossed; /* there were events in between */
	unsigned rounds, far_due; /* how often they came back to that instruction */
};

struct debug;
/*
 * `lines START LENGTH:LINE[:INSNS] ...`, in hex: of the function in which GDB is about to step back by lines. INSNS:
 * the length of each instruction there, a digit each.
 */
int lines_set(struct debug *d, const char *args, struct buf *out, struct err *e);
/* The command is over. */
void lines_fini(struct lines *l);
/* A step has gone back to this state, after this event. */
void lines_note(struct lines *l, uint64_t event, uint64_t pc, uint64_t sp);
/*
 * Were there so many steps that the line must contain a loop? Then everything from *range on, with that stack pointer
 * or a lower one, is to be left in one step. After an answer of true, it is false again until as many further steps
 * were made.
 */
bool lines_due(struct lines *l, struct lines_range *range, uint64_t *sp);
/*
 * The same where each round has events. Then the last instruction of another line is searched for, in the frame with
 * stack pointer l->sp.
 */
bool lines_far_due(struct lines *l);
/* Does the instruction belong to the line? */
bool lines_is_in(const struct lines *l, uint64_t pc);

/* line_back.c: a step back of thread tid, or back over the rounds of a loop that GDB would go through step by step. */
struct stop;
int lines_back_step(struct debug *d, int tid, struct stop *stop, struct err *e);

#endif
