/* SPDX-License-Identifier: MIT */
/*
 * run.h: one run of the program, in a child of the hunt: it records the program, waits for it, ends processes that it
 * has left, and removes the recording when it is not needed. The child leads a session of its own; all processes of the
 * run are its descendants.
 */
#ifndef FRED_HUNT_RUN_H
#define FRED_HUNT_RUN_H

#include <jansson.h>
#include <sys/types.h>

#include "hunt/hunt.h"

#define RUN_OUTPUT (256u << 10) /* bytes kept of the output's beginning, and of its end */

/* The first and the last bytes of what the program wrote to its standard output and error. */
struct run_output {
	char *head, *tail; /* tail: a ring */
	size_t nhead;
	uint64_t total;
};

struct hunt_run {
	uint64_t local, n; /* its number in this shard, and of all */
	enum hunt_class sched;
	uint64_t seed;
	char *dir; /* in runs/ */
	pid_t pid; /* 0: it has ended, or was not started */
	int out; /* what it writes; -1: closed */
	struct run_output output;
	struct hunt_outcome *outcome; /* shared with the child */
	double started_s, deadline_s; /* clock_s; 0: no deadline */
	const char *ended_for; /* why the hunt ends it: "timeout", "disk", "stop"; NULL: it does not */
	double ended_s; /* since when */
};

/* Starts it; keep: a recording is wanted also when the program exits with 0. run_fini in any case. */
int run_start(struct hunt_run *r, const struct hunt_spec *spec, const struct hunt_hooks *hooks, bool keep,
	      struct err *e);
/* Reads the output that is there; never waits. */
void run_read(struct hunt_run *r);
/*
 * When the run is to be ended: the program by its deadline; the processes that a successful program left behind end by
 * themselves.
 */
double run_deadline_s(const struct hunt_run *r);
/*
 * Ends the program and all that it has started, for this reason. If the recording is wanted, it is finished first. To
 * be called again until the child has ended.
 */
void run_end(struct hunt_run *r, const char *reason);
/* The child has ended. Its output goes to DIR/output. */
int run_save_output(const struct hunt_run *r, struct err *e);
void run_fini(struct hunt_run *r);

/* How it failed by itself: {kind, text, signal or code, notes}; NULL: it did not. New reference. */
json_t *run_failure(const struct hunt_run *r);

#endif
