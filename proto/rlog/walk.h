/* SPDX-License-Identifier: MIT */
/*
 * walk.h: a walk: a copy of a replaying process, whose only thread the worker holds by ptrace in the program's code,
 * goes on in translated code until it reaches an address for the nth time, or in a given state. Each pass costs some
 * nanoseconds. If the recorder knows of it (replay_ctl.walks_threads), several threads of a copy may walk, each with
 * memory of its own, as long as one moves at a time. Freestanding.
 *
 * The worker maps memory in the copy, puts struct replay_walk at its start, and lets the thread begin at
 * replay_ctl.walk_addr with rdi at it and rsp at the end. The thread stops at an int3, end. Unless start is 0, it goes
 * on at start with its own registers. It stops again at end with its own registers, but for rip (`at` is where it
 * stands) and gs_base, which was 0; what is in map is to be unmapped. If it stops for another reason, it is not known
 * where it is.
 */
#ifndef FRED_RLOG_WALK_H
#define FRED_RLOG_WALK_H

#include <stddef.h>
#include <stdint.h>

#define REPLAY_WALK_PLACES 4
#define REPLAY_WALK_WORDS 64
#define REPLAY_WALK_REGS 18 /* as gregs[] of a ucontext has them, up to the flags */
#define REPLAY_WALK_MAPS 9
#define REPLAY_WALK_STACK 65536 /* bytes after the struct */
#define REPLAY_WALK_WATCHES 4
#define REPLAY_WALK_LOG 256
#define REPLAY_WALK_MARKS (1u << 20)
#define REPLAY_WALK_CODES 16

enum replay_walk_state {
	REPLAY_WALK_NTH = 1, /* at a place, or after the change of a word */
	REPLAY_WALK_GOAL = 2, /* registers and words have the wanted values; it can continue at `again` */
	REPLAY_WALK_LEFT = 3, /* the next code cannot be translated, or belongs to the kernel or the recorder */
	REPLAY_WALK_FULL = 4, /* the report is full; when it has been emptied, the walk can continue at `again` */
};

struct replay_walk_word {
	uint64_t addr, value;
};

/* One of the last changes of watched words. */
struct replay_walk_change {
	uint64_t number; /* from 1 */
	uint64_t from; /* the instruction that made it; 0: the recorder */
	uint64_t places; /* how many arrivals at place[] were before it */
	uint64_t was[REPLAY_WALK_WATCHES], now[REPLAY_WALK_WATCHES];
};

struct replay_walk {
	/*
	 * Set by the worker. Arrivals are those at place[], and each entry into the range; see struct xlate_count in
	 * plugins/record/dbt/xlate.h.
	 */
	uint64_t pc; /* where the thread stands */
	uint64_t nth; /* the walk ends at this arrival, counted from 1; 0: at none */
	uint64_t place[REPLAY_WALK_PLACES];
	uint64_t range_lo, range_hi, range_sp;
	uint64_t goal; /* an address at which the walk ends if registers and words have these values; 0: none */
	uint64_t reg[REPLAY_WALK_REGS];
	struct replay_walk_word word[REPLAY_WALK_WORDS];
	uint32_t places, words;
	/* Set by the shim. */
	uint32_t state, maps;
	uint64_t start, end;
	uint64_t at, again;
	uint64_t count_at; /* where arrivals are counted */
	uint64_t arrivals; /* including the last one */
	uint64_t goals; /* arrivals at goal with any values, including the last one */
	struct {
		uint64_t addr, len;
	} map[REPLAY_WALK_MAPS];
	uint64_t counted; /* goals is set at every end; 0: an older recorder, which sets it only at a goal */
	/*
	 * The worker's: words of 1, 2, 4 or 8 bytes. A change of one of them is an arrival, too; if the next
	 * instruction is at place[], both count as one arrival.
	 */
	struct {
		uint64_t addr, len;
		uint64_t value; /* set by the shim: the value after the last change, or at the start */
	} watch[REPLAY_WALK_WATCHES];
	uint64_t watches;
	uint64_t nth_change; /* the walk ends at this change, counted from 1; 0: at none */
	/* Set by the shim. */
	uint64_t can_watch; /* 0: an older recorder: nothing was watched */
	uint64_t changes; /* including the last one */
	uint64_t changed_now; /* NTH: the arrival is a change... */
	uint64_t from; /* ... made by this instruction; 0: by the recorder */
	uint64_t changed; /* GOAL: the instruction before it has made a change */
	struct replay_walk_change log[REPLAY_WALK_LOG]; /* change N is at N % REPLAY_WALK_LOG */
	/* The worker's: count branches, calls and returns, too; it ends before the nth of them, from 1 (NTH); 0: at
	 * none. */
	uint64_t count_branches, nth_branch;
	/*
	 * Set by the shim: how many, including the one before which it ended; and where they are counted. 0: an older
	 * recorder, which cannot.
	 */
	uint64_t branches, branches_at;
	uint64_t report; /* the worker's: address of a struct replay_report in the copy; 0: none */
	/*
	 * Set by the worker: the walk before this one had this struct, its map was not unmapped, and it ended with
	 * LEFT. The walk continues at pc with the code that is translated already; counts are added up, and nothing
	 * else of the request may differ.
	 */
	uint64_t resume;
	uint64_t can_resume; /* the shim's; 0: of an older recorder */
	/* The shim's: addresses of their number (32 bits), and of pairs: translated code, and the instruction whose
	 * copy begins there; 0: of an older recorder. */
	uint64_t nmarks_at, marks_at; /* at most REPLAY_WALK_MARKS */
	/*
	 * Set by the shim: where functions of its own return to that translated code has called; and the address of two
	 * words about the last such call: the place on the stack where `back` was put, and the return address that was
	 * there. 0: an older recorder.
	 */
	uint64_t back, native_at;
	/* The worker's: memory that has code, which may change without a call of the kernel, though it may not be
	 * executed. If the recorder knows of this: replay_ctl.walk_codes. */
	uint64_t codes;
	struct {
		uint64_t lo, hi; /* [lo, hi) */
	} code[REPLAY_WALK_CODES];
	/*
	 * Set by the shim: where it keeps the last values of the watched words, each negated, in 8 bytes; 0: an older
	 * recorder.
	 */
	uint64_t minus_at;
};

/* As in struct replay_ctl, new fields come at the end. */
_Static_assert(offsetof(struct replay_walk, can_watch) == 1584 && offsetof(struct replay_walk, can_resume) == 24200 &&
		       offsetof(struct replay_walk, native_at) == 24232 && offsetof(struct replay_walk, codes) == 24240,
	       "struct replay_walk");

#endif
