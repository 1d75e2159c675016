/* SPDX-License-Identifier: MIT */
/*
 * good.h: keeps the recording of one run that passed for each class of schedules: failures of that class are compared
 * with it. It is in passed/CLASS/rec of the state's folder. It is always complete, since it is renamed to there only
 * when it is finished.
 */
#ifndef FRED_HUNT_GOOD_H
#define FRED_HUNT_GOOD_H

#include "hunt/state.h"

struct hunt_run;

/* Is there no such recording of this class yet? */
bool good_is_wanted(const struct hunt_state *s, enum hunt_class sched);
/*
 * This run passed, and its recording is finished: keeps it, or removes it if there is one already. The run's folder is
 * gone afterwards.
 */
void good_keep(const struct hunt_state *s, const struct hunt_run *r);
unsigned long long good_bytes(const struct hunt_state *s);
void good_drop(const struct hunt_state *s);
/* The recording that this failure (a folder) is compared with; malloc'd. NULL: there is none. */
char *good_of(const char *failure, enum hunt_class sched);

#endif
