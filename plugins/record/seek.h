/* SPDX-License-Identifier: MIT */
/*
 * seek.h: the search for the place of a PREEMPT record: what its parts share. seek.c moves the thread, seek_look.c looks
 * where it is, scout.c asks a copy of the process how far it still is.
 */
#ifndef FRED_RECORD_SEEK_H
#define FRED_RECORD_SEEK_H

#include "record/point.h"

#define MAX_WORDS 7168u
#define CLOCK_STEPS 5u /* from then on a word that moves is a clock */
#define STOP_NS 15000u /* what a stop takes, at most */

struct clock {
	uint64_t last, base;
	uint64_t last_ns, base_ns;
	uint64_t step; /* it moves by multiples of this */
	double fast; /* the fastest pace that was seen, in units per ns */
	int32_t dir;
	uint32_t n;
};

struct seek {
	struct point head;
	const uint8_t *regions; /* struct point_region, not aligned */
	uint64_t begin_ns; /* clock at the last return to the program */
	uint64_t ran_ns; /* CPU time of the program so far */
	uint64_t at_place_ns; /* when the breakpoint was set */
	uint64_t least_ns; /* the shortest time between two looks: what stopping alone takes */
	uint64_t was_left, wanted; /* at the look before; so much of it should be over now */
	int64_t lead_ns; /* how long before the program really goes on the timer has to be set */
	uint32_t looks, quiet, words, nmust;
	uint64_t hits, period; /* of the breakpoint; it stops at each so many */
	/* what a scout said: hits of the place's address from here to it; and at its first answer, with the time then */
	int ask, no_scout;
	uint64_t far, first_far, first_way, first_ns, exact;
	int timer, fd, stepping, done, trap_was_blocked;
	int frozen; /* the clocks are not looked at any more */
	uint64_t want[MAX_WORDS], now[MAX_WORDS], addr[MAX_WORDS];
	uint8_t must[MAX_WORDS]; /* 1: its low half, 2: its high half has changed and must be as recorded */
	uint16_t list[MAX_WORDS]; /* those that must */
	struct clock clock[MAX_WORDS];
};
_Static_assert(sizeof(struct seek) <= POINT_AREA_BYTES, "struct seek");


/* Words are registers (POINT_REGS), then those at addr. regs: as point_regs gives them. */
static inline uint64_t seek_word(const struct seek *s, const uint64_t *regs, uint32_t i)
{
	return i < POINT_REGS ? regs[i] : *(const volatile uint64_t *)s->addr[i];
}

/* Of a stack slot, half may be what someone left there. */
static inline uint64_t seek_mask(unsigned must)
{
	return (must & 1 ? 0xffffffffull : 0) | (must & 2 ? 0xffffffffull << 32 : 0);
}

/* Is this value of word i as recorded, in what must be? */
static inline int seek_same(const struct seek *s, uint32_t i, uint64_t v)
{
	return !((v ^ s->want[i]) & seek_mask(s->must[i]));
}

/* Compares all words with the look before: those that change must be as recorded. clocks: the time was the program's. */
void seek_look(struct seek *s, const uint64_t *regs, int clocks);
void seek_demand(struct seek *s, uint32_t i, unsigned must); /* these halves of a word must be as recorded */
/* Is this the place? The word that says no is asked first the next time. */
int seek_matches(struct seek *s, const uint64_t *regs);
/* At the last look: the longest time in ns, until the place, that a clock says; is there one? */
uint64_t seek_left(const struct seek *s);
int seek_has_clock(const struct seek *s);

#endif
