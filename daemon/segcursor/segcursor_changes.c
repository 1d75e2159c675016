/* SPDX-License-Identifier: MIT */
/*
 * segcursor_changes.c: the last changes of watched words in a segment: by which instruction, from which value to which.
 * A copy walks through the segment (segcursor_walk.c), and the walk's log has the last changes. One more walk for each
 * instruction that made some of them tells how often it had been executed by then.
 */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "segcursor/segcursor_int.h"

/* The entry of a change in the log, if the log still has it. */
static const struct replay_walk_change *entry(const struct replay_walk *ask, uint64_t number)
{
	const struct replay_walk_change *c = &ask->log[number % REPLAY_WALK_LOG];

	return c->number == number ? c : NULL;
}

/*
 * Finds for each of v[0..n), which the instruction at pc has made, how often that was executed by then; the last one is
 * change number `last`. 1: a walk cannot do this.
 */
static int find_hits(struct segcur *in, struct breaks *b, uint64_t pc, uint64_t last, struct segcur_change *v,
		     unsigned n, struct err *e)
{
	struct replay_walk *ask = xcalloc(1, sizeof(*ask));
	struct breaks at = {0};
	uint64_t before = 0;
	int r;

	breaks_add(&at, pc, 0);
	r = segcur_walk_log(in, NULL, b, pc, last, ask, e);
	if (!r && segcur_count_before_walks(in, &at, &before, e))
		r = -1;
	for (unsigned i = 0; i < n && !r; i++) {
		const struct replay_walk_change *c = entry(ask, last - (n - 1 - i));

		if (v[i].pc != pc)
			continue;
		if (!c || c->from != pc)
			r = 1;
		else
			v[i].hits = before + c->places;
	}
	breaks_fini(&at);
	free(ask);
	return r;
}

static void take(struct segcur_change *to, const struct replay_walk_change *c)
{
	*to = (struct segcur_change){.pc = c->from};
	for (unsigned i = 0; i < BREAKS_WATCHES; i++) {
		to->was[i] = c->was[i];
		to->now[i] = c->now[i];
	}
}

int segcur_changes(struct segcur *in, struct breaks *b, bool to_end, struct segcur_change *v, unsigned most,
		   unsigned *n, uint64_t *all, struct err *e)
{
	struct replay_walk *ask = xcalloc(1, sizeof(*ask));
	struct goal g = {0};
	int r = to_end ? 0 : segcur_goal_init(&g, &in->now, e);

	if (!r)
		r = segcur_walk_log(in, &g, b, 0, 0, ask, e);
	*all = ask->changes;
	*n = ask->changes < most ? (unsigned)ask->changes : most;
	for (unsigned i = 0; i < *n && !r; i++) {
		const struct replay_walk_change *c = entry(ask, *all - (*n - 1 - i));

		/* a change by the recorder has no instruction of the program */
		if (!c || !c->from)
			r = 1;
		else
			take(&v[i], c);
	}
	for (unsigned i = 0; i < *n && !r; i++)
		if (!v[i].hits)
			r = find_hits(in, b, v[i].pc, *all, v, *n, e);
	breaks_fini(&g.stop);
	free(ask);
	return r;
}
