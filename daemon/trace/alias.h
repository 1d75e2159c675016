/* SPDX-License-Identifier: MIT */
/*
 * alias.h: memory that the program has mapped more than once (aliases). In a replay such memory is shared and anonymous
 * (plugins/record/shm/alias.c); all other shared mappings belong to the recorder.
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

/* Is the mapping one of an alias? By its name: anonymous shared memory, or a memfd, which CRIU makes of it. */
bool alias_is(const struct mapping *m);
/* For a copy, which shares aliased memory with its original: gives it memory of its own, mapped at the same addresses.
 */
int alias_own(struct trace *t, uint64_t gadget, struct err *e);
/* Adds the other addresses of the words' memory to the words: writes there change them, too. */
int alias_add_words(pid_t pid, struct trace_words *w, struct err *e);

#endif
