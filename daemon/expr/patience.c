/* SPDX-License-Identifier: MIT */
/* patience.c: see patience.h. */
#include "expr/patience.h"

#include "base/str.h"

/*
 * How long a call may take. The first that does not return takes all of that, as a list that has become a ring at the
 * bad end; later ones are given up when they take much longer than all that have returned.
 */
#define CALL_TIMEOUT_MS 4000
#define GDB_TIMEOUT_MS 10000
#define LATER_MIN_MS 500
#define LATER_MIN_GDB_MS 4000 /* of wall time, in which other processes run as well */
#define LATER_TIMES 20
#define OVERRUNS_MS 20000 /* all calls that did not return, in one command */
#define OVERRUNS_GDB_MS 40000

struct expr_patience {
	uint64_t longest_ns[2]; /* of the calls that have returned; [1]: made without GDB, of processor time */
	uint64_t overruns_ms; /* that others took */
	unsigned overruns;
};

struct expr_patience *patience_new(void)
{
	return xcalloc(1, sizeof(struct expr_patience));
}

int patience_ms(const struct expr *x, int given_ms)
{
	const struct expr_patience *p = x->patience;
	int first = x->direct ? CALL_TIMEOUT_MS : GDB_TIMEOUT_MS, least = x->direct ? LATER_MIN_MS : LATER_MIN_GDB_MS;
	uint64_t ms = p ? LATER_TIMES * p->longest_ns[x->direct] / 1000000u : 0;
	int limit = !p || !p->overruns || ms > (uint64_t)first ? first : ms < (uint64_t)least ? least : (int)ms;

	return given_ms && given_ms < limit ? given_ms : limit;
}

int patience_note(const struct expr *x, int limit_ms, uint64_t ns, const struct expr_value *v, struct err *e)
{
	struct expr_patience *p = x->patience;

	if (p && v->truth != SEARCH_ERROR && ns > p->longest_ns[x->direct])
		p->longest_ns[x->direct] = ns;
	if (!p || !v->endless || limit_ms < LATER_MIN_MS)
		return 0;
	p->overruns++;
	p->overruns_ms += (uint64_t)limit_ms;
	if (p->overruns_ms < (x->direct ? OVERRUNS_MS : OVERRUNS_GDB_MS))
		return 0;
	return err_set(e, ERR_USAGE, "%s: what it calls did not return at %u positions: the search was given up",
		       x->given, p->overruns);
}
