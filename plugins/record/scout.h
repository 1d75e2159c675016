/* SPDX-License-Identifier: MIT */
/*
 * scout.h: how far is it to the place that a PREEMPT record describes? A copy of the process goes there in translated
 * code (xlate.h), which compares each time it comes by the place's address, and counts. So the answer needs no
 * word that moves evenly: what a computation does from here on is always the same.
 */
#ifndef FRED_RECORD_SCOUT_H
#define FRED_RECORD_SCOUT_H

#include "record/seek.h"

enum scout_state {
	SCOUT_UNKNOWN, /* this code cannot be translated */
	SCOUT_FOUND,
	SCOUT_NEVER, /* an event comes first, or it takes much longer than it did */
};

struct scout_answer {
	enum scout_state state;
	uint64_t hits; /* of the address, the place itself included */
	uint64_t way_ns; /* CPU time of the copy, without what it does at the start */
};

/*
 * From the state in uc, in its signal handler. 0: the answer is in a. 1: this is the copy, and returns from the
 * handler to go on there. What the copy meets in less than early_ns is only believed if nothing speaks against it until then.
 */
int scout_ask(struct seek *s, ucontext_t *uc, uint64_t early_ns, struct scout_answer *a);
/* The copy comes to an event. */
_Noreturn void scout_event(void);

#endif
