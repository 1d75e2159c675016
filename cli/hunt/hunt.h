/* SPDX-License-Identifier: MIT */
/*
 * hunt.h: the hunt itself: runs until something says stop, looks for causes, and makes the report. One process, one
 * poll loop; runs and searches are children of it. No result is in memory alone: the hunt may be killed at any moment
 * (state.h).
 */
#ifndef FRED_HUNT_HUNT_H
#define FRED_HUNT_HUNT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "hunt/spec.h"

#define HUNT_NOTES 16384u

/* What happened in a run: written by the run's process, read by the hunt. */
struct hunt_outcome {
	bool timed_out, unwanted; /* set by the hunt when it ends the run: why */
	bool left; /* the program has ended well, and processes that it has left behind are waited for */
	bool ended; /* the program has ended, and all processes that it left behind */
	bool recorded; /* ... and the recording is finished */
	bool failed; /* fred itself has failed: error says why */
	bool over; /* nothing is written any more */
	int signal, code; /* how the program ended, or what it left behind */
	double seconds;
	struct err error;
	char notes[HUNT_NOTES]; /* of the recorder, one a line */
};

/* What a run's process is to record. */
struct hunt_recording {
	const char *dir;
	char *const *argv;
	const char *cwd;
	enum hunt_class sched;
	uint64_t seed;
	/*
	 * To be called when the program has ended, with its status as from waitpid; false: the recording is not wanted.
	 * It returns when no process of the run is left; if one of these crashed, *status becomes its status.
	 */
	bool (*ended)(void *arg, int *status);
	void *arg;
};

/* Functions that the hunt gets from its caller. */
struct hunt_hooks {
	/*
	 * In a run's process: records the program, and fills in the outcome from `ended` on. -1: fred failed. Standard
	 * output and error are the program's.
	 */
	int (*record)(const struct hunt_recording *what, struct hunt_outcome *outcome, struct err *e);
	/* Shows the user a line of text. */
	void (*note)(void *arg, const char *text);
	/* Shows progress: fraction is in [0, 1], or negative if unknown. */
	void (*progress)(void *arg, double fraction, const char *text);
	void *arg;
};

/* Why the hunt stopped. */
enum hunt_stop {
	HUNT_ALL_RUNS, /* as many as were wanted */
	HUNT_FAILURE, /* --until-failure */
	HUNT_BUDGET,
	HUNT_INTERRUPTED,
	HUNT_ERROR, /* a full disk, say: what was found so far is kept */
};

/*
 * Hunts in the state folder, which exists; *report: a new reference (report.h), also when it was stopped. -1: fred
 * failed; then *report may be set all the same.
 */
int hunt_run(const struct hunt_spec *spec, const char *dir, const struct hunt_hooks *hooks, json_t **report,
	     struct err *e);
/* The exit code, as in fredctl(1). */
int hunt_exit_code(const json_t *report);

#endif
