/* SPDX-License-Identifier: MIT */
/*
 * parting.h: where two recordings of one program part. Each thread's events are compared with those of the thread of
 * the same number, in the thread's own order: what differs from run to run without meaning anything is left out
 * (addresses, PIDs, clocks, how threads waited). Of several differences, the result is the first one in the second
 * recording. If each thread did the same, the result may be an object that the threads acquired in another order, or a
 * call that wrote other bytes.
 */
#ifndef FRED_DIFF_PARTING_H
#define FRED_DIFF_PARTING_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reclog/timeline.h"

#define PARTING_OBJECTS 256 /* as many as hashes */

struct parting_did {
	uint64_t number; /* on the timeline */
	uint32_t what; /* equal for events that did the same */
	uint32_t written; /* a check of the bytes that a call wrote, 0: none */
};

struct parting_log {
	struct parting_did *v;
	size_t n, cap;
};

/* The threads that acquired an object, in their order. */
struct parting_turn {
	uint64_t number;
	uint32_t thread;
};

struct parting_turns {
	struct parting_turn *v;
	size_t n, cap;
};

/* One of the two recordings. */
struct parting_side {
	const char *name; /* of the parameter: "good" or "bad" */
	struct rec *rec;
	uint32_t process;
	struct timeline *tl;
	struct parting_log *threads; /* by ordinal */
	uint32_t count; /* ordinals are below it */
	struct parting_turns objects[PARTING_OBJECTS];
	uint64_t total;
};

struct parting {
	bool found;
	bool short_only; /* one of them has no further event: its process had ended */
	uint32_t thread; /* in good; of an order: of the object */
	uint32_t other; /* in bad */
	size_t index; /* from 0: of the thread's events, or of the acquisitions of the object */
	uint64_t good, bad; /* event numbers; 0: none */
};

/* Opens and reads the recording that params names by s->name. Call parting_side_fini in any case. */
int parting_read(struct parting_side *s, const json_t *params, struct err *e);
void parting_side_fini(struct parting_side *s);
/* ERR_USAGE: they are of different programs. Adds a note to result if their schedules are of different kinds. */
int parting_check_alike(const struct parting_side *g, const struct parting_side *b, json_t *result, struct err *e);

/* The events of a thread that are compared. */
const struct parting_log *parting_log(const struct parting_side *s, uint32_t thread);
/* The first difference of one thread; of all threads; in the order in which threads came to an object. */
struct parting parting_of_thread(const struct parting_side *g, const struct parting_side *b, uint32_t thread);
struct parting parting_first(const struct parting_side *g, const struct parting_side *b);
struct parting parting_of_order(const struct parting_side *g, const struct parting_side *b);
/* The first call that is the same in both, but wrote other bytes of the same number. */
struct parting parting_of_output(const struct parting_side *g, const struct parting_side *b);
/*
 * The number of the thread's last event before its event of this index; if there is none, the event after which the
 * timeline begins.
 */
uint64_t parting_before(const struct parting_side *s, uint32_t thread, size_t index);

#endif
