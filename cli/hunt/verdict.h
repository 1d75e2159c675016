/* SPDX-License-Identifier: MIT */
/*
 * verdict.h: decides whether a run that ended by itself has failed, by the user's --fail-if and invariants. That takes
 * a while, so a child does it, and writes its answer to DIR/verdict.json: {fail: {kind, text, ...} or null, skip: bool,
 * unknown: text (of an invariant that has no value at the end) or null, error: text or null}.
 */
#ifndef FRED_HUNT_VERDICT_H
#define FRED_HUNT_VERDICT_H

#include <jansson.h>
#include <sys/types.h>

#include "hunt/run.h"

bool verdict_is_needed(const struct hunt_spec *spec);
/* fail: how the run failed by itself, or NULL; borrowed. The child's PID, or -1. */
pid_t verdict_start(const struct hunt_spec *spec, const struct hunt_run *r, const json_t *fail, struct err *e);
/* Its answer, a new reference; an error when there is none. */
json_t *verdict_read(const char *dir, struct err *e);

#endif
