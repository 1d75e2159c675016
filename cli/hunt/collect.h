/* SPDX-License-Identifier: MIT */
/* collect.h: hunts as folders: new ones, the latest one, and one report of several. */
#ifndef FRED_HUNT_COLLECT_H
#define FRED_HUNT_COLLECT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

/* A new folder $FRED_HOME/hunts/PROGRAM-N; malloc'd, or NULL. */
char *collect_new(const char *program, struct err *e);
/* The hunt in $FRED_HOME/hunts that a task worked on last; malloc'd. NULL: ERR_USAGE, there is none. */
char *collect_latest(struct err *e);
/* Do two specs (spec.h) say the same about an option of the command line? */
bool collect_same(const json_t *a, const json_t *b, const char *option);

/*
 * Makes the report of the hunts in these folders, each of which is a hunt or holds some. They must be of one program.
 * Causes that are not known yet are not searched for. New reference; NULL: ERR_USAGE.
 */
json_t *collect(const struct strv *dirs, struct err *e);

#endif
