/* SPDX-License-Identifier: MIT */
/*
 * segcursor_true.c: by walking (segcursor_walk.c), finds the last change of a watched word at which the watchpoint's
 * condition is true, or the last arrival at a point, if that comes later.
 */
#include <string.h>

#include "segcursor/segcursor_int.h"

/* Goes to the change or to the last point, whichever comes later. */
static int to_later(struct segcur *in, struct breaks *b, struct breaks *points, struct goal *g, struct segcur_look *l,
		    struct stop *stop, struct err *e)
{
	uint64_t before, passed = 0;
	int r = !points->n ? 0
		: g->want  ? segcur_count_walked(in, points, g, &passed, e)
			   : segcur_walk_all(in, points, &passed, e);

	if (r)
		return r < 0 ? -1 : 2;
	if (passed > l->places)
		return segcur_count_before_walks(in, points, &before, e)
			       ? -1
			       : segcur_nth_stop(in, points, before + passed, stop, e);
	if (!l->last)
		return 1;
	in->look = l;
	l->change = NULL;
	r = segcur_walk_to_change(in, b, l->last, stop, e);
	in->look = NULL;
	if (!r)
		segcur_look_note(l, stop);
	return r < 0 ? -1 : r ? 2 : 0;
}

int segcur_last_true(struct segcur *in, struct breaks *b, struct goal *g, struct stop *stop, struct err *e)
{
	struct breaks points = {.view = b->view};
	struct segcur_look l;
	int r;

	if (!segcur_conditions_walkable(in, b))
		return 2;
	segcur_look_for_true(in, in->mark[0].pid, b, &l);
	r = segcur_walk_changes(in, g, b, e);
	in->look = NULL;
	if (r)
		return r < 0 ? -1 : 2;
	breaks_add_all(&points, b);
	memset(points.watch, 0, sizeof(points.watch));
	r = to_later(in, b, &points, g, &l, stop, e);
	breaks_fini(&points);
	return r;
}
