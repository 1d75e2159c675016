/* SPDX-License-Identifier: MIT */
/* window.h: a part of the timeline, from one position to another, that an instrumented replay covers. */
#ifndef FRED_EXECUTED_WINDOW_H
#define FRED_EXECUTED_WINDOW_H

#include "instrument/instrument.h"

enum window_side { WINDOW_BEFORE, WINDOW_IN, WINDOW_AFTER };

struct exec_window {
	struct timeline_point from, to;
	uint64_t end; /* the event up to which segments are gone through */
	enum window_side side; /* of the last instruction that was reported */
	uint64_t insns; /* in the window, so far */
};

/* from and to: as a user wrote them; NULL: start, and end. ERR_USAGE: they are no positions, or in the wrong order. */
int window_init(struct exec_window *w, struct nav *nav, const char *from, const char *to, struct err *e);
/*
 * To be called at the beginning of a segment. ERR_USAGE: an end of the window is in code where positions are not
 * counted.
 */
int window_begun(struct exec_window *w, const struct instrument *i, struct err *e);
/*
 * For each instruction, in order. The window begins with the instruction at position `from`, and ends before the one at
 * `to`.
 */
enum window_side window_side(struct exec_window *w, const struct instrument *i, const struct instrument_insn *x);
/* To be called after the last segment. ERR_USAGE: a position of the window was not reached. */
int window_over(const struct exec_window *w, struct err *e);

#endif
