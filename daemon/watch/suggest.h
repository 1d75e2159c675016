/* SPDX-License-Identifier: MIT */
/*
 * suggest.h: when an expression has the same truth value at both ends of a search: tries positions in between, to find
 * one at which it differs, so that the error can say where a search would succeed.
 */
#ifndef FRED_WATCH_SUGGEST_H
#define FRED_WATCH_SUGGEST_H

#include "expr/expr.h"
#include "replay/navigate.h"

struct suggestion {
	bool found;
	unsigned looked; /* how many positions were evaluated */
	uint64_t first, last; /* position at which the value counts differently */
	struct expr_value at_first, at_last;
};

/*
 * Evaluates at positions between `from` and `to`, at which the truth value is `end`. on_error: what a position without
 * a value counts as. The process cannot be used afterwards.
 */
int suggest_look(struct nav *n, struct gdb *g, struct expr *x, uint64_t from, uint64_t to, enum search_value end,
		 enum search_value on_error, struct suggestion *s, struct err *e);

/*
 * The fredctl command of a request of reverse_watch with another end ("good" or "bad") and all its other options, as a
 * shell takes it; of the process, where the recording has several. malloc'd.
 */
char *suggest_command(const json_t *asked, const struct rec *rec, uint32_t process, const char *end, uint64_t at);

#endif
