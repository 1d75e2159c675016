/* SPDX-License-Identifier: MIT */
/*
 * segcursor_copy.c: the copies of the process that a segment cursor holds (`now`, marks), the state that a copy runs
 * towards (struct goal), and which stops can be walked past. The lowest of this folder's files; segcursor_run.c is the
 * next.
 */
#include <string.h>

#include "segcursor/segcursor_int.h"
#include "segcursor/state_equal.h"

bool segcur_is_given_up(struct segcur *in, unsigned every)
{
	return !(++in->beats & (every - 1)) && in->interrupted && in->interrupted(in->ctx);
}

bool segcur_is_visible_code(const struct segcur *in, uint64_t pc)
{
	return visibility_is_certain(&in->visibility, pc);
}

static bool has_watch(const struct breaks *b, bool for_more_than_writes)
{
	for (unsigned i = 0; i < BREAKS_WATCHES; i++)
		if (b->watch[i].kind && (!for_more_than_writes || b->watch[i].kind != GROUP_WRITE))
			return true;
	return false;
}

bool segcur_is_plain(const struct segcur *in, const struct breaks *b)
{
	return !has_watch(b, false) && segcur_is_walkable(in, b);
}

bool segcur_has_conditions(const struct breaks *b)
{
	for (unsigned i = 0; i < BREAKS_WATCHES; i++)
		if (watch_conditions_find(b->watch_conditions, &b->watch[i]))
			return true;
	return false;
}

/* Does a condition read registers? The walk's log does not have them. */
static bool reads_registers(const struct breaks *b)
{
	for (unsigned i = 0; i < BREAKS_WATCHES; i++) {
		const struct watch_condition *c = watch_conditions_find(b->watch_conditions, &b->watch[i]);

		if (c && c->registers)
			return true;
	}
	return false;
}

bool segcur_is_walkable(const struct segcur *in, const struct breaks *b)
{
	return !segcur_has_conditions(b) && segcur_conditions_walkable(in, b);
}

bool segcur_conditions_walkable(const struct segcur *in, const struct breaks *b)
{
	unsigned n = 0;

	if (has_watch(b, true) || reads_registers(b))
		return false;
	for (unsigned i = 0; i < b->n; i++) {
		if (b->v[i].data || !segcur_is_visible_code(in, b->v[i].addr))
			continue;
		if (b->v[i].conds.n)
			return false;
		n++;
	}
	return n < TRACE_SLOTS - 1;
}

int segcur_copy(struct segcur *in, struct trace *from, struct trace *to, struct err *e)
{
	return trace_fork(from, in->seg.gadget, to, e);
}

void segcur_drop(struct trace *t)
{
	if (t->pid)
		trace_kill(t);
	memset(t, 0, sizeof(*t));
}

void segcur_set_now(struct segcur *in, struct trace *t)
{
	segcur_drop(&in->now);
	in->now = *t;
	memset(t, 0, sizeof(*t));
	in->counted = false;
	in->times = 0;
	in->sig = 0;
}

void segcur_be_now(struct segcur *in, struct trace *t, int sig, unsigned marks)
{
	while (in->marks > marks)
		segcur_drop(&in->mark[--in->marks]);
	segcur_set_now(in, t);
	in->sig = sig;
}

void segcur_push_mark(struct segcur *in, struct trace *t, uint64_t steps)
{
	if (in->marks == SEGCUR_MARKS) { /* the first mark stays */
		segcur_drop(&in->mark[1]);
		memmove(&in->mark[1], &in->mark[2], (SEGCUR_MARKS - 2) * sizeof(in->mark[0]));
		memmove(&in->mark_steps[1], &in->mark_steps[2], (SEGCUR_MARKS - 2) * sizeof(in->mark_steps[0]));
		in->mark_steps[1] = 0;
		in->marks--;
	}
	in->mark_steps[in->marks] = steps;
	in->mark[in->marks++] = *t;
	memset(t, 0, sizeof(*t));
}

void segcur_mark_trail(struct segcur *in, struct segcur_trail *trail)
{
	if (in->marks && trail->last.t.pid)
		segcur_push_mark(in, &trail->last.t, 0);
}

int segcur_goal_init(struct goal *g, struct trace *want, struct err *e)
{
	memset(g, 0, sizeof(*g));
	g->want = want;
	if (!want)
		return 0;
	if (trace_get_pc(want, &g->pc, e))
		return -1;
	breaks_add(&g->stop, g->pc, 0);
	return 0;
}

int segcur_is_goal_tell(struct goal *g, struct trace *t, struct walk_tell *tell, struct err *e)
{
	unsigned regs;
	size_t differ;
	uint64_t pc;
	int r;

	if (!g->want)
		return 0;
	if (trace_get_pc(t, &pc, e))
		return -1;
	if (pc != g->pc)
		return 0;
	r = state_equal_registers(t, g->want, &regs, e);
	if (r <= 0 || regs)
		return r < 0 ? -1 : 0;
	g->compared++;
	return state_equal_memory_tell(t, g->want, &differ, tell, e) ? -1 : differ == 0;
}

int segcur_is_goal(struct goal *g, struct trace *t, struct err *e)
{
	return segcur_is_goal_tell(g, t, NULL, e);
}
