/* SPDX-License-Identifier: MIT */
/* suggest.c: see suggest.h. One more replay, from left to right. */
#include "session/suggest.h"

#include <string.h>

#define LOOKS 400u
#define LOOKS_BY_GDB 16u /* each costs some 0.1 s */

static int look(struct nav *n, struct gdb *g, struct expr *x, enum search_value end,
		enum search_value on_error, struct suggestion *s, struct err *e)
{
	struct expr_value v;

	if (expr_eval(x, g, &n->t, &v, e))
		return -1;
	s->looked++;
	if ((v.truth == SEARCH_ERROR ? on_error : v.truth) == end)
		return 0;
	if (!s->found) {
		s->first = nav_at(n);
		s->at_first = v;
	}
	s->found = true;
	s->last = nav_at(n);
	s->at_last = v;
	return 0;
}

int suggest_look(struct nav *n, struct gdb *g, struct expr *x, uint64_t from, uint64_t to,
		 enum search_value end, enum search_value on_error, struct suggestion *s, struct err *e)
{
	uint64_t count = x->compiled || x->direct ? LOOKS : LOOKS_BY_GDB;

	memset(s, 0, sizeof(*s));
	if (to - from - 1 < count)
		count = to - from - 1;
	n->what = "looking for a position where it differs";
	for (uint64_t i = 1; i <= count; i++)
		if (nav_goto(n, from + (uint64_t)((double)(to - from) * (double)i / (double)(count + 1)), e) ||
		    look(n, g, x, end, on_error, s, e))
			return -1;
	return 0;
}
