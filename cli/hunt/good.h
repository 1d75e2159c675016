/* SPDX-License-Identifier: MIT */
/*
 * good.h: of each class of schedules, the recording of one run that passed: failures of that class are compared with
 * it. It is in passed/CLASS/rec of the state's folder, as complete as a failure's: it is renamed there.
 */
#ifndef FRED_HUNT_GOOD_H
#define FRED_HUNT_GOOD_H

#include "hunt/state.h"

struct hunt_run;

/* Is there none of this class yet? */
bool good_is_wanted(const struct hunt_state *s, enum hunt_class sched);
/* This run passed, and its recording is finished: its folder is gone, or was kept. */
void good_keep(const struct hunt_state *s, const struct hunt_run *r);
unsigned long long good_bytes(const struct hunt_state *s);
void good_drop(const struct hunt_state *s);
/* The one with which a failure is compared, by the failure's folder; malloc'd. NULL: there is none. */
char *good_of(const char *failure, enum hunt_class sched);

#endif
