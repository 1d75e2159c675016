/* SPDX-License-Identifier: MIT */
/*
 * mark.h: a stop as it can be noted at no cost, and found again: the event before it, and what the thread had in its
 * registers and on top of its stack. An exact position (cursor_where) counts how often the PC was passed, for which the
 * program has to go there once more.
 */
#ifndef FRED_TIMETRAVEL_MARK_H
#define FRED_TIMETRAVEL_MARK_H

#include "timetravel/cursor.h"

#define MARK_WORDS 64

/* Kept in files: its layout is that of struct user_regs_struct and fixed-width numbers. */
struct mark {
	uint64_t event;
	int32_t tid;
	uint32_t words; /* valid ones of stack */
	struct user_regs_struct regs;
	uint64_t stack[MARK_WORDS];
};

int mark_take(struct cursor *t, struct mark *s, struct err *e);
/* The same stop? */
bool mark_same(const struct mark *a, const struct mark *b);
/*
 * Goes there. *exact: it is the very same state; false: the most similar one behind that event, or, if its PC is not met
 * there, the first.
 */
int mark_goto(struct cursor *t, const struct mark *s, bool *exact, struct err *e);

#endif
