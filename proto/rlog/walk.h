/* SPDX-License-Identifier: MIT */
/*
 * walk.h: a copy of a replaying process, of one thread that the worker holds by ptrace in the program's code, goes on in
 * translated code until it comes to a place for the nth time, or to a place in a given state: some nanoseconds a time.
 * Freestanding.
 *
 * The worker maps memory in the copy, puts struct replay_walk at its start, and lets the thread begin at
 * replay_ctl.walk_addr with rdi at it and rsp at the end. The thread stops at an int3, end. Unless start is 0, it goes on at
 * start with its own registers. It stops again at end with its own registers, but for rip (`at` is where it stands) and
 * gs_base, which was 0; what is in map is to be unmapped. Where it stops for another reason nobody knows where it is.
 */
#ifndef FRED_RLOG_WALK_H
#define FRED_RLOG_WALK_H

#include <stdint.h>

#define REPLAY_WALK_PLACES 4
#define REPLAY_WALK_WORDS 64
#define REPLAY_WALK_REGS 18 /* as gregs[] of a ucontext has them, up to the flags */
#define REPLAY_WALK_MAPS 9
#define REPLAY_WALK_STACK 65536 /* bytes behind the struct */

enum replay_walk_state {
	REPLAY_WALK_NTH = 1,
	REPLAY_WALK_GOAL = 2, /* registers and words are as wanted; it can go on at `again` */
	REPLAY_WALK_LEFT = 3, /* what comes now cannot be translated, or is the kernel's or the recorder's */
};

struct replay_walk_word {
	uint64_t addr, value;
};

struct replay_walk {
	/* The worker's. Arrivals are those at place[], and each coming into the range; see xlate_plan in plugins/record/xlate.h. */
	uint64_t pc; /* where the thread stands */
	uint64_t nth; /* it ends at this arrival, from 1; 0: at none */
	uint64_t place[REPLAY_WALK_PLACES];
	uint64_t range_lo, range_hi, range_sp;
	uint64_t goal; /* an address where it ends if registers and words are these; 0: none */
	uint64_t reg[REPLAY_WALK_REGS];
	struct replay_walk_word word[REPLAY_WALK_WORDS];
	uint32_t places, words;
	/* The shim's. */
	uint32_t state, maps;
	uint64_t start, end;
	uint64_t at, again;
	uint64_t count_at; /* where arrivals are counted */
	uint64_t arrivals; /* the last one included */
	uint64_t goals; /* times at goal, whatever the state; the last one included */
	struct {
		uint64_t addr, len;
	} map[REPLAY_WALK_MAPS];
	uint64_t counted; /* goals is true at every end; 0: of an older recorder, only at a goal */
};

#endif
