/* SPDX-License-Identifier: MIT */
/*
 * spec.h: what a hunt is to do. The part that must not change between its starts is kept in STATE/hunt.json.
 *
 * The folder cli/hunt is `fredctl bisect`: it runs a program again and again under the recorder until it fails, has the
 * cause of each failure looked for, groups failures by their causes, and reports. It knows neither command lines
 * (cmd_bisect.c) nor the recorder (struct hunt_hooks). Where to begin: hunt.h, hunt.c (the loop), state.h (what
 * survives a kill -9), report/report.h.
 */
#ifndef FRED_HUNT_SPEC_H
#define FRED_HUNT_SPEC_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* Classes of schedules, as of record --sched. */
enum hunt_class { HUNT_PARALLEL, HUNT_SERIAL, HUNT_CHAOS, HUNT_CLASSES };

#define HUNT_TIMEOUT_NONE (-1.0)

struct hunt_spec {
	/* kept */
	struct strv argv; /* the program and its arguments */
	char *cwd; /* where it runs; absolute */
	struct strv invariants;
	bool watch_always; /* they are looked at at every event, not at the end alone */
	char *fail_if; /* NULL: none */
	unsigned scheds; /* bits: 1 << enum hunt_class */
	uint64_t seed; /* of the run 0; run N has seed + N */
	uint64_t shard, shards; /* 0 of 1: all runs; else the runs N with N % shards == shard */
	bool isolate; /* each run has a working directory of its own */
	double timeout_s; /* 0: 20 times the longest run that passed, at least 10 s; or HUNT_TIMEOUT_NONE */

	/* kept too, but a later start may change these */
	uint64_t runs; /* in all, of all shards; 0: no bound */
	bool until_failure;
	double budget_s; /* of each start; 0: none */

	/* of this start only */
	unsigned jobs;
	unsigned keep; /* recordings kept of each group */
	uint64_t max_disk; /* bytes */
	bool record_only; /* causes are not looked for */
};

void hunt_spec_fini(struct hunt_spec *s);
/* The part that is kept, as a new reference; and the reverse, which leaves the other fields as they are. */
json_t *hunt_spec_json(const struct hunt_spec *s);
int hunt_spec_from_json(struct hunt_spec *s, const json_t *v, struct err *e);

/* Parses "parallel,serial,chaos:7" (words of record --sched). *seed is unchanged if none is given. */
int hunt_parse_scheds(const char *text, unsigned *scheds, uint64_t *seed, struct err *e);
/* "parallel", "serial", "chaos". */
const char *hunt_class_name(enum hunt_class c);
/* As record --sched takes it: "chaos:7". malloc'd. */
char *hunt_sched_text(enum hunt_class c, uint64_t seed);

/* "90", "1.5s", "15m", "1h30m", "500ms" in seconds. */
int hunt_parse_duration(const char *text, double *seconds, struct err *e);
/* "64K", "8M", "1G", or bytes. */
int hunt_parse_size(const char *text, uint64_t *bytes, struct err *e);
/* "1.2 s", "3 min 20 s", "2 h 5 min"; malloc'd. */
char *hunt_duration_text(double seconds);
/* An argument vector as a shell takes it; malloc'd. */
char *hunt_command_text(const struct strv *argv);

#endif
