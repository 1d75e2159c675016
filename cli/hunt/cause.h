/* SPDX-License-Identifier: MIT */
/*
 * cause.h: the cause of one failure, from its recording, by other commands of fredctl: the replay is verified, then
 * reverse-watch searches for the invariant, or explain for what it finds itself. In a child, which leaves
 * DIR/cause.json:
 *
 *   replays     the replay is that of the recording
 *   by          "reverse-watch", "explain", "backtrace" (no cause: where it failed), or null
 *   found       a cause is known
 *   culprit     {function, file, line, text} or null;  functions: of its stack, innermost first;  backtrace: the frames
 *   at          what --at takes;  words: one line
 *   expr, before, after;  failure, chain, threads, end: as of explain;  notes
 *   events      of the recording
 *   diff        where it first differs from a run that passed under the same class of schedules: {good (its recording),
 *               parts, order}, as of diff
 *   errors      what went wrong, in words
 *   key         failures with the same key have the same cause; "" when nothing is known
 *   assumed     the cause was not searched in this recording, but taken from others (groups.h)
 */
#ifndef FRED_HUNT_CAUSE_H
#define FRED_HUNT_CAUSE_H

#include <jansson.h>
#include <sys/types.h>

#include "hunt/ledger.h"

/* Starts the search in a child. Returns its PID, or -1. */
pid_t cause_start(const struct failure *f, struct err *e);
/* Returns what the child found. New reference; NULL with e set when it died. */
json_t *cause_read(const struct failure *f, struct err *e);
/* The same in this process: of a recording, and how it failed; good: of a run that passed, or NULL. New reference. */
json_t *cause_of(const char *rec, const json_t *fail, const char *good);
/* For tests: the key of a cause without one. malloc'd. */
char *cause_key(const json_t *cause);

#endif
