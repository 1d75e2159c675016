/* SPDX-License-Identifier: MIT */
/*
 * stuck.h: a replay that makes no event: is it on its way to one, or does it wait for something that never comes? No clock decides, but
 * what the kernel says of the process: all its threads sleep, at every look for some seconds, though nothing here ever sleeps for a
 * time; or it has used far more processor time than the recorded segment took. What waits for a processor does neither, so that
 * the machine's load has no part in it.
 */
#ifndef FRED_SESSION_STUCK_H
#define FRED_SESSION_STUCK_H

#include "session/target.h"

struct stuck {
	bool begun;
	uint64_t turn; /* events done */
	uint64_t cpu_ns; /* of the process, when it had done that one */
	double limit_s; /* how much more it may use; 0: not known yet */
	double looked; /* by clock_s */
	unsigned asleep; /* looks in a row at which nobody ran */
};

/* Whatever it does now is no waiting: a tracer has held it. */
void stuck_reset(struct stuck *s);
/* To be asked often, while all its threads may run; looks some times a second. True: e says where it is stuck. */
bool stuck_look(struct stuck *s, const struct target *t, struct err *e);

#endif
