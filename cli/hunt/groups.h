/* SPDX-License-Identifier: MIT */
/*
 * groups.h: failures by their causes, and the report: one object from which all kinds of reports are made, and which is
 * the result of `fredctl bisect --json` (described in fredctl(1)). Pure.
 */
#ifndef FRED_HUNT_GROUPS_H
#define FRED_HUNT_GROUPS_H

#include <jansson.h>

#include "hunt/hunt.h"
#include "hunt/ledger.h"

/* How a failure looks from outside; those that look the same often have one cause. malloc'd. */
char *groups_signs(const json_t *fail);
/* Are they of the same group? Both causes are known. */
bool groups_same(const struct failure *a, const struct failure *b);
/*
 * Is the recording of a better suited for a look at the failure than that of b? What counts, in this order: its own
 * cause was searched for, it replays, its schedule can be repeated, it is shorter.
 */
bool groups_better(const struct failure *a, const struct failure *b);
/* "function at file:line: text"; malloc'd. */
char *groups_place(const json_t *culprit);

struct groups_facts {
	const struct hunt_spec *spec;
	const char *dir; /* of the state */
	double seconds; /* of this start */
	enum hunt_stop why;
	const struct err *error; /* of HUNT_ERROR */
};

/* The report of one hunt, or of several shards of it. New reference. */
json_t *groups_report(const struct ledger *const *l, unsigned n, const struct groups_facts *facts);

#endif
