/* SPDX-License-Identifier: MIT */
/*
 * alias.h: memory that the program has mapped more than once. In a replay it is shared and anonymous (plugins/record/alias.c), and
 * nothing else of the program's is shared.
 */
#ifndef FRED_TRACE_ALIAS_H
#define FRED_TRACE_ALIAS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/maps.h"
#include "trace/words.h"

struct trace;

/* By its name: anonymous, or as CRIU makes it again. All else that is shared is the recorder's. */
bool alias_is(const struct mapping *m);
/* t, a copy, would write into its original's memory: it gets its own, mapped at the same places. */
int alias_own(struct trace *t, uint64_t gadget, struct err *e);
/* The words' other addresses become words too: who writes there changes them. */
int alias_add_words(pid_t pid, struct trace_words *w, struct err *e);

#endif
