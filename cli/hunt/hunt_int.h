/* SPDX-License-Identifier: MIT */
/*
 * hunt_int.h: what the files of the hunt share: hunt.c (the loop), which uses settle.c (a child has ended), disk.c (the
 * disk) and stop.c (why it stops).
 */
#ifndef FRED_HUNT_HUNT_INT_H
#define FRED_HUNT_HUNT_INT_H

#include "hunt/cause.h"
#include "hunt/hunt.h"
#include "hunt/ledger.h"
#include "hunt/run.h"
#include "hunt/state.h"

enum job_kind { JOB_NONE, JOB_RUN, JOB_VERDICT, JOB_CAUSE };

struct job {
	enum job_kind kind;
	pid_t pid; /* of the process that asks for the verdict or searches for the cause; run has its own */
	struct hunt_run run;
	uint64_t n; /* the run whose cause is searched for */
};

struct hunt {
	const struct hunt_spec *spec;
	const struct hunt_hooks *hooks;
	struct hunt_state state;
	struct ledger ledger;
	struct job *jobs;
	unsigned njobs, busy;
	double began_s, looked_s, read_s;
	uint64_t limit; /* local runs; UINT64_MAX: no bound */
	uint64_t block; /* runs of a claim */
	uint64_t next, end; /* the remaining runs of the current claim: [next, end) */
	uint64_t *again; /* runs that were lost, to be done once more */
	size_t nagain;
	unsigned lost;
	int signals; /* signalfd */
	bool has_values; /* all invariants had a value at the end of some run */
	unsigned without_values; /* runs at whose end an invariant had no value; no_value says why in the first of them
				  */
	char *no_value;
	bool full; /* no run is begun until causes are found, since their recordings can be removed then */
	bool stopping; /* nothing new is begun */
	bool hurry; /* runs and searches in progress are ended */
	enum hunt_stop why;
	struct err error; /* of HUNT_ERROR */
	int signal;
};

/* ---- stop.c ---- */

/* Stops for this reason, unless it stops already. hurry: without waiting for runs and searches that are under way. */
void hunt_stop(struct hunt *h, enum hunt_stop why, bool hurry);
/* Stops with this error of fred's own. */
void hunt_fail(struct hunt *h, const struct err *e);
void hunt_note(const struct hunt *h, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- settle.c ---- */

/* A child of a job has ended with this status: the job continues with another child, or is over (JOB_NONE). */
void settle(struct hunt *h, struct job *j, int status);
/* Fails if an invariant had no value at the end of any run: it is a mistake of the user. */
void settle_check_values(struct hunt *h);
/* Claims the next failure whose cause is not being searched for yet. NULL: there is none. */
struct failure *settle_next_cause(struct hunt *h);
/* The name of a claim to the block of runs that this one is in: "b0000000012". malloc'd. */
char *settle_block(const struct hunt *h, uint64_t local);

/* ---- disk.c ---- */

/* Enforces --max-disk: removes recordings that are not needed, ends the largest run, and fails if that is not enough.
 */
void disk_enforce_limit(struct hunt *h);
/* Removes recordings of failures, but for the best `most` of each group. */
void disk_prune(struct hunt *h, unsigned most);
/* Is the disk so full that files may be incomplete? */
bool disk_is_full(const struct hunt *h);

#endif
