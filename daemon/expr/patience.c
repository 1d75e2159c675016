/* SPDX-License-Identifier: MIT */
/* patience.c: see patience.h. */
#include "expr/patience.h"

#include <stdlib.h>

#include "base/str.h"

/*
 * The limit of a call. The first one that does not return takes all of FIRST_MS, as one that walks along a list which
 * has become a ring at the bad end; later ones are ended when they take much longer than all that have returned.
 */
#define FIRST_MS 4000
#define LATER_MIN_MS 250
#define LATER_TIMES 10
#define OVERRUNS_MS 12000 /* all calls that did not return, in one command */

struct expr_patience {
	unsigned users;
	uint64_t longest_ns; /* of the calls that have returned */
	uint64_t overruns_ms; /* the time that calls took which did not return */
	unsigned overruns; /* how many these were */
};

struct expr_patience *patience_new(void)
{
	struct expr_patience *p = xcalloc(1, sizeof(*p));

	p->users = 1;
	return p;
}

struct expr_patience *patience_share(struct expr_patience *p)
{
	p->users++;
	return p;
}

void patience_drop(struct expr_patience *p)
{
	if (p && !--p->users)
		free(p);
}

int patience_limit_ms(const struct expr_patience *p, int given_ms)
{
	uint64_t later = p ? LATER_TIMES * p->longest_ns / 1000000u : 0;
	int limit = !p || !p->overruns || later > FIRST_MS ? FIRST_MS
		    : later < LATER_MIN_MS		   ? LATER_MIN_MS
							   : (int)later;

	return given_ms && given_ms < limit ? given_ms : limit;
}

void patience_returned(struct expr_patience *p, uint64_t ns)
{
	if (p && ns > p->longest_ns)
		p->longest_ns = ns;
}

int patience_overrun(struct expr_patience *p, int limit_ms, const char *what, struct err *e)
{
	if (!p || limit_ms < LATER_MIN_MS)
		return 0;
	p->overruns++;
	p->overruns_ms += (uint64_t)limit_ms;
	if (p->overruns_ms < OVERRUNS_MS)
		return 0;
	return err_set(e, ERR_USAGE, "%s: what it calls did not return at %u positions: the search was given up", what,
		       p->overruns);
}

int patience_note(const struct expr *x, int limit_ms, uint64_t ns, const struct expr_value *v, struct err *e)
{
	if (v->truth != SEARCH_ERROR)
		patience_returned(x->patience, ns);
	return v->endless ? patience_overrun(x->patience, limit_ms, x->given, e) : 0;
}
