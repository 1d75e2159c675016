/* SPDX-License-Identifier: MIT */
/* procs.h: the processes of a recording: how each one ended, and which one an operation is about. */
#ifndef FRED_RECLOG_PROCS_H
#define FRED_RECLOG_PROCS_H

#include <jansson.h>
#include <stdint.h>

#include "reclog/rec.h"

/* How an image ended, from its logs. PROCS_RUNNING: the logs do not show it. */
enum procs_end { PROCS_RUNNING, PROCS_EXECED, PROCS_EXITED, PROCS_FAILED, PROCS_CRASHED };

struct procs_ending {
	enum procs_end how;
	int value; /* the exit code or the signal */
	uint64_t when; /* a stamp; 0: unknown */
	uint64_t last; /* the last stamp of its threads */
	uint64_t events; /* in its own logs */
};
struct procs_ending procs_ending(const struct rec *rec, const struct rec_image *img);
/* "exited with 3", "was killed by SIGSEGV" ...; malloc'd. */
char *procs_ending_text(const struct procs_ending *end);
/* The arguments of its program, or of the one that it was forked from. */
char *const *procs_argv(const struct rec *rec, const struct rec_image *img);

/*
 * Sorts the images of a recording by what the user most likely means: those that died of a signal, those that exited
 * with a failure, the program that was started (the last image of its PID), the rest. A failure before the program's
 * own successful end is among the rest, since the program has dealt with it. A process that ended in the same way as
 * its last child comes after that child. ordinals has room for rec->nimages; returns how many.
 */
unsigned procs_order(const struct rec *rec, uint32_t *ordinals);
/*
 * Finds an image by its number, else by its PID (the last image with it), else by its program's name (if several have
 * it, the first in that order). 0 and ERR_USAGE when there is none.
 */
uint32_t procs_find(const struct rec *rec, const char *name, struct err *e);
/* The first in that order; 0: the recording holds no process. */
uint32_t procs_default(const struct rec *rec);

/*
 * All of them: [{process, pid, parent, ppid, origin ("exec" or "fork"), exe, argv, end, events, started_s, ended_s,
 * default}]. end is {code}, {signal} or {exec} (the process that it went on as), or null where the recording does not
 * tell; times are seconds from the start of the recording, or null.
 */
json_t *procs_json(const struct rec *rec);

#endif
