/* SPDX-License-Identifier: MIT */
/* traps.h: pNNNN/traps: the system calls that were trapped, by caller. */
#ifndef FRED_DESCRIBE_TRAPS_H
#define FRED_DESCRIBE_TRAPS_H

#include <jansson.h>

#include "base/err.h"
#include "reclog/rec.h"

/*
 * {calls, callers [{calls, name, number, file, offset, function, function_offset}]}: of all processes, the most
 * frequent first. Where the code was in no known file, file is null and offset the address. NULL on failure.
 */
json_t *traps_json(const struct rec *rec, struct err *e);

#endif
