/* SPDX-License-Identifier: MIT */
/* suppressing.h: which findings of a check are suppressed (suppress.h), by their JSON objects. */
#ifndef FRED_MEMCHECK_SUPPRESSING_H
#define FRED_MEMCHECK_SUPPRESSING_H

#include <jansson.h>

#include "memcheck/memcheck.h"
#include "memcheck/suppress.h"

/*
 * o: the finding's object, with its backtrace. Is it suppressed? If it is not and `writes` is set, it gets a
 * *suppression*.
 */
bool suppressing_sees(struct suppressions *s, const struct memory_finding *f, json_t *o, bool writes);
/* [{name, count}] of the suppressions that have suppressed something: a new reference. */
json_t *suppressing_json(const struct suppressions *s);

#endif
