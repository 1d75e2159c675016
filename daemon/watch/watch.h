/* SPDX-License-Identifier: MIT */
/* watch.h: reverse-watch in one process image of a recording: the search (search/search.h) on real processes. */
#ifndef FRED_WATCH_WATCH_H
#define FRED_WATCH_WATCH_H

#include <jansson.h>

#include "gdb/gdb.h"
#include "search/search.h"
#include "replay/operation.h"
#include "reclog/rec.h"

struct watch_params {
	const char *expr;
	const char *good, *bad; /* positions, NULL: start, end; bad may lie inside a segment */
	enum search_on_error on_error;
	bool inside; /* bad at both ends: look for good states in between, inside of segments, too */
	bool suggest; /* when both ends are equal: look for a better position */
	uint64_t nth; /* which of several transitions: the nth behind the good position, from 1; 0: the last one ... */
	bool all; /* ... however long it takes to know that; else as far as a second shows */
	bool insn; /* what it is between two instructions counts, not only between two statements */
	bool exact; /* the position's hits are wanted, however long that takes */
	bool anywhere; /* true at both ends: the first event at which it is false is the bad end, if there is one */
	const json_t *asked; /* the request, for the command that an error suggests; NULL: a session's */
};

enum watch_outcome { WATCH_FOUND = 0, WATCH_EQUAL = 1, WATCH_NO_SYMBOL = 2 };

/*
 * Returns enum watch_outcome, or -1. WATCH_FOUND: *result is the object of the contract. WATCH_EQUAL: good and bad
 * count the same, e says so (ERR_NOT_FOUND); WATCH_NO_SYMBOL: the expression has no meaning in this
 * program, e is GDB's message (ERR_USAGE).
 */
int watch_process(const struct rec *rec, uint32_t process, const struct watch_params *p, struct gdb *g,
		  struct op_ctx *ctx, json_t **result, struct err *e);

#endif
