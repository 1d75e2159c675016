/* SPDX-License-Identifier: MIT */
/*
 * suggest.h: when an expression is the same at both ends: a look at positions in between, for one at which it is
 * not, so that the user is told where a search would succeed.
 */
#ifndef FRED_WATCH_SUGGEST_H
#define FRED_WATCH_SUGGEST_H

#include "expr/expr.h"
#include "replay/navigate.h"

struct suggestion {
	bool found;
	unsigned looked; /* at so many positions */
	uint64_t first, last; /* of those at which the value counts differently */
	struct expr_value at_first, at_last;
};

/*
 * Goes through (from, to), whose ends count as `end`. on_error: as what a position counts at which there is no
 * value. The process is used up.
 */
int suggest_look(struct nav *n, struct gdb *g, struct expr *x, uint64_t from, uint64_t to,
		 enum search_value end, enum search_value on_error, struct suggestion *s, struct err *e);

/*
 * The fredctl command of a request of reverse_watch with another end ("good" or "bad") and all its other options, as a
 * shell takes it; of the process, where the recording has several. malloc'd.
 */
char *suggest_command(const json_t *asked, const struct rec *rec, uint32_t process, const char *end, uint64_t at);

#endif
