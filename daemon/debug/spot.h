/* SPDX-License-Identifier: MIT */
/*
 * spot.h: a stop as it can be noted at no cost, and found again: the event before it, and what the thread had in its
 * registers and on top of its stack. An exact position (travel_where) counts how often the PC was passed, for which the
 * program has to go there once more.
 */
#ifndef FRED_DEBUG_SPOT_H
#define FRED_DEBUG_SPOT_H

#include "debug/travel.h"

#define SPOT_WORDS 64

/* Kept in files: its layout is that of struct user_regs_struct and fixed-width numbers. */
struct spot {
	uint64_t event;
	int32_t tid;
	uint32_t words; /* valid ones of stack */
	struct user_regs_struct regs;
	uint64_t stack[SPOT_WORDS];
};

int spot_take(struct travel *t, struct spot *s, struct err *e);
/* The same stop? */
bool spot_same(const struct spot *a, const struct spot *b);
/*
 * Goes there. *exact: it is the very same state; false: the most similar one behind that event, or, if its PC is not met
 * there, the first.
 */
int spot_goto(struct travel *t, const struct spot *s, bool *exact, struct err *e);

#endif
