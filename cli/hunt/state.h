/* SPDX-License-Identifier: MIT */
/*
 * state.h: the folder of a hunt. All in it outlives a kill -9 of everything and a reboot, and tasks on several machines
 * may work in it at the same time, if it is on a file system that they share:
 *
 *   hunt.json          the spec (spec.h); made once, atomically
 *   tasks/TASK.json    who works or worked here: host, boot, PID; its mtime says that it lives
 *   journal/TASK.jsonl what it has found out (journal.h)
 *   claims/WHAT.N      the N-th claim of runs or of a failure's search: the highest N counts, made by O_EXCL
 *   runs/TASK.RUN/     a run in flight: rec/ (its recording), cwd/ (--isolate)
 *   passed/CLASS/      a run that passed: rec/ (good.h)
 *   failures/RUN/      a run that failed: rec/, output, cwd/, cause.json
 *
 * A failing run is complete when the journal has it: its folder is renamed to failures/ before.
 */
#ifndef FRED_HUNT_STATE_H
#define FRED_HUNT_STATE_H

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"
#include "hunt/journal.h"
#include "hunt/spec.h"

struct hunt_state {
	char *dir; /* absolute */
	char *task; /* our name; NULL: this process only reads */
	int lock; /* our task file, locked as long as this process lives; or -1 */
	struct journal journal;
	double beat_s; /* when our task file was touched last (clock_s) */
};

/* Is there a hunt in this folder? */
bool state_exists(const char *dir);
/*
 * Makes the folder of a hunt with this spec, or opens the one that is there, of the same spec (by another task of it).
 * ERR_USAGE: it is of another hunt. state_fini in any case.
 */
int state_create(struct hunt_state *s, const char *dir, const json_t *spec, struct err *e);
/* Opens it; *spec: a new reference. ERR_USAGE: there is none. */
int state_open(struct hunt_state *s, const char *dir, json_t **spec, struct err *e);
void state_fini(struct hunt_state *s);
/* Makes this process a task of the hunt. What dead tasks of this machine have left is ended and removed. */
int state_join(struct hunt_state *s, struct err *e);
/* Touches the task's file, if that is not long ago, so that others know that it lives. */
void state_beat(struct hunt_state *s);

/* May this task do WHAT? 1: yes, it has claimed it; 0: another live task has; -1: e (ERR_HOST). */
int state_claim(struct hunt_state *s, const char *what, struct err *e);
/* Gives up the claim to WHAT, which is done, as the journal says. */
void state_release(struct hunt_state *s, const char *what);

/* DIR/a/b, b may be NULL; malloc'd. */
char *state_path(const struct hunt_state *s, const char *a, const char *b);

#endif
