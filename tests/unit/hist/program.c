/* SPDX-License-Identifier: MIT */
/* program.c: see program.h. */
#include "program.h"
#include <string.h>

uint64_t program_random_number(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

void program_random(struct program *p, uint64_t n, uint64_t *seed)
{
	unsigned depth = 2;

	memset(p, 0, sizeof(*p));
	p->n = n;
	for (uint64_t i = 0; i <= n; i++) {
		uint64_t r = program_random_number(seed) % 16;

		p->line[i] = !i || r < 6;
		if (r == 0)
			depth++;
		else if (r == 1 || r == 7) /* a return: into the middle of a line, or to a line */
			depth -= depth > 0;
		p->depth[i] = depth;
		p->stop[i] = program_random_number(seed) % 50 == 0;
	}
}

uint64_t program_after(const struct program *p, uint64_t at, enum hist_cmd cmd)
{
	unsigned depth = p->depth[at];

	while (at < p->n) {
		at++;
		if (cmd == HIST_STEPI || (cmd == HIST_STEP && p->line[at]))
			break;
		if ((cmd == HIST_NEXT || cmd == HIST_UNTIL) && p->line[at] && p->depth[at] <= depth)
			break;
		if (cmd == HIST_FINISH && p->depth[at] < depth)
			break;
		if (cmd == HIST_CONTINUE && p->stop[at])
			break;
	}
	return at;
}

uint64_t program_end(const struct program *p, const struct hist *h)
{
	uint64_t at = 0;

	for (size_t i = 0; i < h->n; i++)
		for (uint64_t k = 0; k < h->v[i].count; k++)
			at = program_after(p, at, h->v[i].cmd);
	return at;
}

static int enter(struct program *p, struct err *e)
{
	return ++p->calls == p->fail_call ? err_set(e, ERR_HOST, "injected fault") : 0;
}

static int op_restart(void *ctx, struct err *e)
{
	struct program *p = ctx;

	if (enter(p, e))
		return -1;
	p->restarts++;
	p->at = p->base;
	return 0;
}

static int op_exec(void *ctx, enum hist_cmd cmd, uint64_t count, struct err *e)
{
	struct program *p = ctx;

	if (enter(p, e))
		return -1;
	assert_true(count > 0);
	for (p->execs++; count && p->at < p->n; count--)
		p->at = program_after(p, p->at, cmd);
	return 0;
}

static int op_where(void *ctx, struct hist_place *w, struct err *e)
{
	struct program *p = ctx;

	if (enter(p, e))
		return -1;
	w->pos = p->at;
	w->depth = p->depth[p->at];
	return 0;
}

static int op_checkpoint(void *ctx, struct err *e)
{
	struct program *p = ctx;

	if (enter(p, e))
		return -1;
	p->base = p->at;
	return 0;
}

static int op_evaluate(void *ctx, enum search_value *v, struct err *e)
{
	struct program *p = ctx;

	if (enter(p, e))
		return -1;
	*v = p->unknown[p->at] ? SEARCH_ERROR : p->bad[p->at] ? SEARCH_FALSE : SEARCH_TRUE;
	return 0;
}

#define DEBUGGER                                                                                   \
	.restart = op_restart, .exec = op_exec, .where = op_where, .checkpoint = op_checkpoint

const struct hist_ops program_ops = {.restart = op_restart, .exec = op_exec, .where = op_where};
const struct hist_search_ops program_search_ops = {
	.debugger = {DEBUGGER},
	.evaluate = op_evaluate,
};
