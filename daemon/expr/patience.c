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
#define OVERRUNS_MS 12000 /* for all calls of one command that did not return */
/* for all calls that took longer than LATER_MIN_MS, whether they returned or not */
#define SLOW_MS 45000

struct expr_patience {
	unsigned users;
	bool unhurried;
	uint64_t longest_ns; /* of the calls that have returned */
	uint64_t slow_ns; /* the time that slow calls took */
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

void patience_drop_at(struct expr_patience **p)
{
	patience_drop(*p);
}

int patience_limit_ms(const struct expr_patience *p, int given_ms)
{
	uint64_t later = p ? LATER_TIMES * p->longest_ns / 1000000u : 0;
	int limit = !p || !p->overruns || later > FIRST_MS ? FIRST_MS
		    : later < LATER_MIN_MS		   ? LATER_MIN_MS
							   : (int)later;

	return given_ms && given_ms < limit ? given_ms : limit;
}

void patience_take_time(struct expr_patience *p)
{
	p->unhurried = true;
}

int patience_took(struct expr_patience *p, uint64_t ns, const char *what, struct err *e)
{
	if (!p)
		return 0;
	p->slow_ns += ns >= LATER_MIN_MS * 1000000ull ? ns : 0;
	if (p->unhurried || p->slow_ns < SLOW_MS * 1000000ull)
		return 0;
	return err_set(e, ERR_USAGE,
		       "%s: what it calls took %llu s: the search was given up (--last continues however long it "
		       "takes; --good POS and --bad POS bound it)",
		       what, (unsigned long long)(p->slow_ns / 1000000000u));
}

void patience_returned(struct expr_patience *p, uint64_t ns)
{
	if (p && ns > p->longest_ns)
		p->longest_ns = ns;
}

int patience_overrun(struct expr_patience *p, int limit_ms, const char *what, const char *why, struct err *e)
{
	if (!p || limit_ms < LATER_MIN_MS)
		return 0;
	p->overruns++;
	p->overruns_ms += (uint64_t)limit_ms;
	if (p->overruns_ms < OVERRUNS_MS)
		return 0;
	return err_set(e, ERR_USAGE,
		       "%s: %s at %u positions: the search was given up (--good POS and --bad POS name positions "
		       "between which it returns)",
		       what, why, p->overruns);
}

int patience_note(const struct expr *x, int limit_ms, uint64_t ns, const struct expr_value *v, struct err *e)
{
	if (v->truth != SEARCH_ERROR)
		patience_returned(x->patience, ns);
	return (v->endless && patience_overrun(x->patience, limit_ms, x->given, v->text, e)) ||
			       patience_took(x->patience, ns, x->given, e)
		       ? -1
		       : 0;
}
