/* SPDX-License-Identifier: MIT */
/*
 * mark.h: a mark: a stop that is noted at no cost and can be found again, by the event before it and by the thread's
 * registers and top of stack. An exact position (cursor_where) has the number of passes of the PC instead; to count
 * these, the program has to go there once more.
 */
#ifndef FRED_TIMETRAVEL_MARK_H
#define FRED_TIMETRAVEL_MARK_H

#include "timetravel/cursor.h"

#define MARK_WORDS 64

/* Written to files as it is: struct user_regs_struct and fixed-width numbers. */
struct mark {
	uint64_t event;
	int32_t tid;
	uint32_t words; /* valid ones of stack */
	struct user_regs_struct regs;
	uint64_t stack[MARK_WORDS];
};

int mark_take(struct cursor *t, struct mark *s, struct err *e);
/* Are they the same stop? */
bool mark_same(const struct mark *a, const struct mark *b);
/*
 * Goes to the mark. *exact is false: it is the most similar state after the event, or the first one if the PC is not
 * met there.
 */
int mark_goto(struct cursor *t, const struct mark *s, bool *exact, struct err *e);
/* As mark_goto; but after budget_ns (trace/budget.h) the most similar state found so far is taken. */
int mark_goto_within(struct cursor *t, const struct mark *s, uint64_t budget_ns, bool *exact, struct err *e);

#endif
