/* SPDX-License-Identifier: MIT */
/*
 * ledger.h: what all tasks of a hunt have found out so far, read from their journals. Lines:
 *
 *   {"t":"run","n":N,"sched":CLASS,"seed":N,"s":SECONDS}                    it passed; with "skip":true it is not
 *                                                                           counted
 *   {"t":"run", ... ,"fail":{kind, text, signal, code, threads}, "at":DIR}  it failed; DIR: in failures/
 *   {"t":"cause","n":N,"cause":{...}}                                       its cause was looked for (cause.h)
 *
 * Of several lines about the same the first one counts.
 */
#ifndef FRED_HUNT_LEDGER_H
#define FRED_HUNT_LEDGER_H

#include "hunt/plan.h"
#include "hunt/state.h"

struct failure {
	uint64_t n; /* the run, of all shards */
	enum hunt_class sched;
	uint64_t seed;
	double seconds;
	json_t *fail;
	char *dir; /* absolute */
	json_t *cause; /* NULL: not known yet */
	bool assumed; /* taken to be the cause of earlier runs that failed in the same way */
};

struct ledger {
	const struct hunt_state *state;
	uint64_t shard, shards;
	struct plan plan;
	uint8_t *done; /* by local number */
	uint64_t ndone; /* entries of it */
	uint64_t prefix; /* all local numbers below are done */
	struct plan_tally tally; /* of all */
	uint64_t runs, failed, skipped;
	double longest_s; /* of the runs that passed */
	struct failure *failures; /* by run */
	size_t nfailures;
	struct strv files; /* journals, and how far they have been read */
	uint64_t *offsets;
	unsigned lost;
};

void ledger_init(struct ledger *l, const struct hunt_state *state, const struct hunt_spec *spec);
void ledger_fini(struct ledger *l);
/* Reads the lines that have been added to the journals. */
int ledger_read(struct ledger *l, struct err *e);
/* Adds a line that this task has just written. */
void ledger_add(struct ledger *l, const json_t *line);
bool ledger_is_done(const struct ledger *l, uint64_t local);
uint64_t ledger_global(const struct ledger *l, uint64_t local);
/* NULL: it has not failed. */
struct failure *ledger_failure(const struct ledger *l, uint64_t n);

#endif
