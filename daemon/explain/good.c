/* SPDX-License-Identifier: MIT */
/*
 * good.c: finds a state in which a condition holds that is false at the start and at the failure: see
 * condition_search.h. Between two statements of the outermost function, what it has called has returned, and objects
 * are consistent. So these states are examined, from the last one back. The file also has condition_freeze and
 * condition_is_before.
 */
#include "explain/condition_search.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "expr/rewrite.h"
#include "timetravel/cursor_int.h"

#define INSNS_MAX 4000u /* of the function */
#define STOPS_MAX 16384u
#define LOOKS_NEAR 8u
#define PASSES 4u
#define LOOKS_WORK 12000u

/* The outermost frame with source of the program's own; -1: none has. */
static int outermost(const struct inspect *p)
{
	for (size_t i = p->nframes; i-- > 0;)
		if (p->frames[i].fullname && p->frames[i].line > 0)
			return (int)i;
	return -1;
}

/* A breakpoint at each place where the code of another line begins, in the function around pc. */
static int break_at_lines(struct explain *x, uint64_t pc, struct err *e)
{
	cleanup_mi_reply struct mi_reply reply = {0};
	const struct mi_value *list;
	int last = 0, r = gdb_cmd(x->g, 0, &reply, e, "-data-disassemble -a 0x%llx -- 0", (unsigned long long)pc);

	if (r)
		return r < 0 ? -1 : 0;
	list = mi_get(reply.result->results, "asm_insns");
	for (size_t k = 0; list && list->n <= INSNS_MAX && k < list->n; k++) {
		const char *address = mi_str(list->item[k], "address");
		struct gdb_line line = {0};
		uint64_t at;

		if (!address || str_u64(address, 16, 0, UINT64_MAX, &at))
			continue;
		r = gdb_line_at(x->g, at, &line, e);
		if (!r && line.line > 0 && line.line != last) {
			breaks_add(&x->t.breaks, at, 0);
			last = line.line;
		}
		gdb_line_fini(&line);
		if (r < 0)
			return -1;
	}
	return 0;
}

/* *at becomes this position if the condition holds here, *next if it does not. */
static int holds_here(struct explain *x, const char *truth, char **at, char **next, struct err *e)
{
	cleanup_free char *value = NULL;
	struct inspect p = {0};
	int r = inspect_open(&p, x, e);

	if (!r) {
		value = inspect_eval(&p, 0, truth);
		char **to = value && str_eq(value, "1") ? at : next;

		if (p.at.pc && p.at.hits)
			str_set(to, "%llu/0x%llx#%llu", (unsigned long long)p.at.event, (unsigned long long)p.at.pc,
				(unsigned long long)p.at.hits);
	}
	inspect_close(&p);
	return r;
}

/*
 * Which stops are examined: each of the last ones, then those at doubling distances, and in each further pass those in
 * the middle between the ones of earlier passes.
 */
static bool is_looked_at(unsigned n, unsigned pass)
{
	unsigned octave = 1;

	if (n <= LOOKS_NEAR)
		return !pass;
	while (octave <= n / 2)
		octave *= 2;
	if (!pass)
		return n == octave;
	return octave >> pass && !((n - octave) % (octave >> pass)) && (n - octave) / (octave >> pass) % 2;
}

/* How many stops from the n-th one on are not examined, if all of them are this thread's. */
static unsigned not_looked_at(const struct explain *x, pid_t tid, unsigned n, unsigned pass)
{
	unsigned from = n;

	if (x->t.mode != CURSOR_INSIDE || x->t.in.seg.tid != cursor_now(&x->t, tid))
		return 0;
	while (n < STOPS_MAX && !is_looked_at(n, pass))
		n++;
	return n - from;
}

static int look_back(struct explain *x, const char *expr, unsigned pass, uint64_t until, char **good, char **next,
		     struct err *e)
{
	cleanup_free char *truth = str_fmt("(%s) ? 1 : 0", expr);
	pid_t tid = x->t.in.seg.tid;
	struct stop stop = {0};

	for (unsigned n = 1; n <= STOPS_MAX && !*good && x->t.work < until && !op_cancelled(x->ctx);) {
		unsigned over = not_looked_at(x, tid, n, pass);
		int r;

		x->t.over = over;
		r = cursor_back_continue(&x->t, &stop, e);
		n += over - (unsigned)x->t.over;
		x->t.over = 0;
		if (r)
			return -1;
		if (stop.kind != STOP_BREAK)
			break;
		if (x->t.in.seg.tid != cursor_now(&x->t, tid))
			continue;
		if (is_looked_at(n, pass) && holds_here(x, truth, good, next, e))
			return -1;
		n++;
	}
	return 0;
}

int condition_find_good(struct explain *x, const char *expr, const char *bad, bool thorough, char **good, char **next,
			struct err *e)
{
	uint64_t until = x->t.work + LOOKS_WORK;
	struct timeline_point at;
	struct inspect p = {0};
	int r, level = -1;

	*good = *next = NULL;
	if (!bad || nav_resolve(&x->nav, bad, &at, e) || cursor_goto_point(&x->t, &at, e))
		return bad ? -1 : 0;
	r = inspect_open(&p, x, e);
	if (!r)
		level = outermost(&p);
	if (level >= 0)
		r = break_at_lines(x, p.frames[level].addr, e);
	inspect_close(&p);
	for (unsigned pass = 0; !r && x->t.breaks.n && pass < (thorough ? PASSES : 1) && !*good && x->t.work < until;
	     pass++) {
		free(*next);
		*next = NULL;
		if (pass)
			r = cursor_goto_point(&x->t, &at, e);
		if (!r)
			r = look_back(x, expr, pass, until, good, next, e);
	}
	breaks_fini(&x->t.breaks);
	if (r && !explain_may_go_on(x, e))
		return -1;
	return 0;
}

char *condition_freeze(struct inspect *p, int level, const char *expr)
{
	struct err ignored;
	char *out = NULL;
	bool pointer = false;

	if (!expr_rewrite_values(p->x->g, expr, 0, level, &out, &pointer, &ignored))
		return out;
	free(out);
	return xstrdup(expr);
}

int condition_is_before(struct explain *x, const struct timeline_point *first, const struct timeline_point *second,
			struct err *e)
{
	struct timeline_point at = {0};
	struct stop stop = {0};
	int r;

	if (first->event != second->event)
		return first->event < second->event;
	if (!first->pc || !first->hits || !second->pc || !second->hits)
		return 0;
	if (first->pc == second->pc)
		return first->hits < second->hits;
	if (cursor_goto_point(&x->t, second, e))
		return -1;
	breaks_add(&x->t.breaks, first->pc, 0);
	r = cursor_back_continue(&x->t, &stop, e);
	breaks_fini(&x->t.breaks);
	if (r || (stop.kind == STOP_BREAK && cursor_where(&x->t, &at, e)))
		return -1;
	return stop.kind == STOP_BREAK && at.event == first->event && at.hits >= first->hits;
}
