/* SPDX-License-Identifier: MIT */
/*
 * seek.h: the search for the place of a PREEMPT record (point.h), shared by these files:
 *
 * seek.c: begins and ends a search.
 * seek_look.c: compares where the thread stands with the record.
 * seek_walk.c: the thread runs in translated code, which compares at each pass of the place's address.
 * seek_time.c: it runs by itself, with a timer and breakpoints: where it is traced, or cannot be translated.
 * lookahead.c: a copy of the process runs first, to see how often the address is passed.
 */
#ifndef FRED_RECORD_SEEK_H
#define FRED_RECORD_SEEK_H

#include "record/core/regs.h"
#include "record/core/state.h"
#include "record/dbt/xlate.h"
#include "record/dbt/xlate_emit.h"
#include "record/preempt/point.h"

#define MAX_WORDS 6144u
#define CLOCK_STEPS 5u /* from then on a word that moves is a clock */
#define STOP_NS 15000u /* a stop takes at most this long */
#define STEPS_SLOWER                                                                                                   \
	5000u /* by the trap flag, where there is no breakpoint of perf's: than the program by itself, at most */

struct clock {
	uint64_t last, base;
	uint64_t last_ns, base_ns;
	uint64_t step; /* the word moves by multiples of this */
	double fast; /* the fastest pace so far, in units per ns */
	int32_t dir;
	uint32_t n;
};

struct seek {
	struct point head;
	const uint8_t *regions, *blocks; /* struct point_region and point_block, not aligned */
	uint64_t begin_ns; /* clock at the last return to the program */
	uint64_t ran_ns, gone_ns; /* CPU time of the program so far; of the process that goes to the place for it */
	uint64_t at_place_ns; /* when the breakpoint was set */
	uint64_t least_ns; /* the shortest time between two looks: what stopping alone takes */
	uint64_t was_left, wanted; /* the time left at the look before; how much of it should be over now */
	int64_t lead_ns; /* how much too late the program really goes on: the timer is set earlier by this */
	uint32_t in_vain; /* ticks in succession that found the thread in the recorder */
	uint32_t looks, quiet, words, nmust;
	uint64_t tls; /* the thread pointer */
	uint64_t image_lo, image_len; /* the program itself */
	uint32_t missing; /* at the start: regions and blocks that could not be read */
	uint64_t hits, period; /* hits of the breakpoint; it stops at each `period`-th one */
	/* what a lookahead copy said: hits of the place's address from here to it; and at its first answer, with the
	 * time then */
	int ask, no_lookahead;
	uint64_t far, first_far, first_way, first_ns, exact;
	int timer, fd, stepping, trap_was_blocked;
	struct xlate *walk; /* NULL: there was none; it stays after something that cannot be translated */
	uint64_t ticks;
	int walking, walks, thorough; /* a lookahead copy goes first */
	int traced;
	uint32_t blind; /* replay_ctl.blind when the walk was made */
	/* What has changed on the stack may differ from the recording: a signal has left something there. */
	int soft;
	uint64_t until_before; /* `until` before a fault */
	uint64_t until; /* hits, of the place that a lookahead copy has seen; SEEK_LATER: not before it stops to walk */
#define SEEK_LATER UINT64_MAX
	uint64_t natives; /* calls of the recorder when what those may leave behind was last examined */
	int frozen; /* the clocks are not used any more */
	uint16_t order[POINT_BLOCKS]; /* the order in which the blocks are compared: the one that last differed first */
	uint64_t want[MAX_WORDS], now[MAX_WORDS], addr[MAX_WORDS], base[MAX_WORDS];
	uint8_t must[MAX_WORDS]; /* 1: its low half, 2: its high half has changed and must be as recorded */
	uint16_t list[MAX_WORDS]; /* the words with `must` set */
	struct clock clock[MAX_WORDS];
};
_Static_assert(sizeof(struct seek) <= POINT_AREA_BYTES, "struct seek");

/* Words are registers (POINT_REGS), then those at addr. regs: as point_regs gives them. */
static inline uint64_t seek_word(const struct seek *s, const uint64_t *regs, uint32_t i)
{
	return i < POINT_REGS ? regs[i] : *(const volatile uint64_t *)s->addr[i];
}

#define TICK_NS 100000000u /* between looks at the time, in translated code */
#define PASS_NS 60u /* of CPU time that a pass of the place takes in translated code, on a busy machine too */
#define PASSES_PER_NS 4u /* that the recorded run may have made, at most: a loop of one cycle, at 4 GHz */

#define FRESH_NS 40u /* the same of a block that is compared with the original first, as code made at run time is */
#define FRESH_PER_NS 1u /* such blocks per ns in the recorded run, at most */
#define SEEK_WORK_MOST_NS(run_ns) ((run_ns) * (PASSES_PER_NS * PASS_NS + FRESH_PER_NS * FRESH_NS))

static inline uint64_t seek_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * CPU time for what translated code has done so far. Translation slows a loop of a few cycles down, and code that may
 * change, so much that no single factor fits all programs: each pass, and each block of such code, has its own
 * allowance.
 */
static inline uint64_t seek_work_ns(const struct seek *s)
{
	uint64_t run = s->head.run_ns;

	return s->walk ? seek_least(xlate_hits(s->walk), run * PASSES_PER_NS) * PASS_NS +
				 seek_least(xlate_fresh_blocks(s->walk), run * FRESH_PER_NS) * FRESH_NS
		       : 0;
}

/*
 * The bits of a word that must be as recorded: of a stack slot, one half may be left over from the recorder or the
 * kernel.
 */
static inline uint64_t seek_mask(unsigned must)
{
	return (must & 1 ? 0xffffffffull : 0) | (must & 2 ? 0xffffffffull << 32 : 0);
}

/* Which halves of a word have changed, or differ: 1: the low one, 2: the high one. */
static inline uint8_t seek_halves(uint64_t changed)
{
	return (uint8_t)((changed & 0xffffffffu ? 1 : 0) | (changed >> 32 ? 2 : 0));
}

/* Is this value of word i as recorded, in the bits that must be? */
static inline int seek_same(const struct seek *s, uint32_t i, uint64_t v)
{
	return !((v ^ s->want[i]) & seek_mask(s->must[i]));
}

/* ---- seek_look.c ---- */

/* Reads the words before the program goes on; registers follow at the first look. */
void seek_start(struct seek *s);
/*
 * Compares all words with the look before: those that have changed must be as recorded. clocks: the time in between was
 * the program's.
 */
void seek_look(struct seek *s, const uint64_t *regs, int clocks);
void seek_demand(struct seek *s, uint32_t i, unsigned must); /* these halves of a word must be as recorded */
/* Is everything that must be as recorded? The word that differs is compared first the next time. */
int seek_matches(struct seek *s, const uint64_t *regs);
/*
 * How good is the place: how many other words and blocks are not as recorded? None of them has been changed by the
 * program, so they may be left over, or what the program has yet to write. Stops counting at limit. SEEK_WRONG: this is
 * not the place.
 */
#define SEEK_WRONG UINT32_MAX
uint32_t seek_doubts(struct seek *s, const uint64_t *regs, uint32_t limit);
/* The thread is at the place: what is not as recorded here does not count as a doubt the next time. */
void seek_remember(const struct seek *s);
/*
 * The recorder has run, and left something in registers and on the stack below top: of those, only what changes from
 * here on must be as recorded.
 */
void seek_rebase(struct seek *s, const uint64_t *regs, uint64_t top);
#define SEEK_ALL UINT64_MAX
/* A word that differs and that translated code can compare. */
void seek_filter(const struct seek *s, const uint64_t *regs, struct xlate_filter *f);
/* At the last look: the longest time in ns that a clock gives until the place. */
uint64_t seek_left(const struct seek *s);
int seek_has_clock(const struct seek *s);

/* ---- seek_stop.c ---- */

struct seek *seek_of(const struct thr *t);

int seek_make_timer(struct seek *s); /* -1: there is none */
void seek_arm(const struct seek *s, uint64_t ns); /* the next tick */
/*
 * Sets a breakpoint at the place, which stops at each `period`-th pass. uc: the thread's state; NULL: in translated
 * code.
 */
void seek_watch(struct seek *s, ucontext_t *uc, uint64_t period);
void seek_step(struct seek *s,
	       ucontext_t *uc); /* where there is no breakpoint: uc goes on instruction by instruction */
void seek_unwatch(struct seek *s, ucontext_t *uc);
void seek_found(struct thr *t, struct seek *s, ucontext_t *uc); /* the thread is at the place */
void seek_lost(struct thr *t, const char *why);

/* ---- seek_walk.c ---- */

/* From uc, in a signal handler, in translated code. -1: not possible. */
int seek_walk_begin(struct thr *t, struct seek *s, ucontext_t *uc);
/* At a pass of the place: notes what has changed, in all words if `all`. */
void seek_walk_look(struct seek *s, const uint64_t *regs, int all);
void seek_walk_tick(struct thr *t, struct seek *s);
/*
 * A fault in translated code: the handler *fn, which is about to run, sees the state of the original code, and runs in
 * translated code itself, as does what it jumps to. When it has returned, seek_fault_done wants the result.
 */
uint64_t seek_fault(struct thr *t, ucontext_t *uc, void (**fn)(int, siginfo_t *, void *));
void seek_fault_done(struct thr *t, ucontext_t *uc, uint64_t fault);

/* ---- seek_time.c ---- */

void time_tick(struct thr *t, struct seek *s, ucontext_t *uc);
void time_trap(struct thr *t, struct seek *s, ucontext_t *uc); /* at the breakpoint */

#endif
