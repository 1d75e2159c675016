/* SPDX-License-Identifier: MIT */
/* local_place.c: see local_place.h. */
#include "localsearch/local_place.h"

#include "localsearch/local_count.h"

/* Walks to before the nth branch, or (0) to where the code cannot be walked. 1: it does not get there. */
static int go_walking(struct local *l, struct trace *t, uint64_t nth, uint64_t pc, uint64_t *passes, struct err *e)
{
	struct trace_walk w = {.ask.nth_branch = nth, .ask.places = pc != 0};
	bool ended;
	int r;

	w.ask.place[0] = pc;
	r = local_walk_on(l, t, &w, &ended, e);
	*passes += w.ask.arrivals;
	return r < 0 ? -1 : r != (nth ? WALK_THERE : WALK_LEFT);
}

int local_go_to(struct local *l, struct trace *t, const struct trace_local_place *place, uint64_t pc, uint64_t *passes,
		struct err *e)
{
	uint64_t gaps = place->gaps;
	int r = 0;

	if (gaps && local_is_in_recorder(l, t)) {
		r = local_cross_gap(l, t, e);
		gaps--;
	}
	while (!r && gaps--) {
		r = go_walking(l, t, 0, pc, passes, e);
		r = r ? r : local_cross_gap(l, t, e);
	}
	if (!r && place->branches)
		r = go_walking(l, t, place->branches, pc, passes, e);
	return r;
}

/* From before the last branch on, there is one more pass, that of the transition, unless the branch itself made it. */
static int pass_rest(struct local *l, const struct trace_local_place *place, uint64_t pc, uint64_t *passes,
		     struct err *e)
{
	uint64_t at;

	if (place->changes > 1 || trace_get_pc(&l->left, &at, e))
		return place->changes > 1 ? 1 : -1;
	*passes += !place->branches || at != pc;
	return 0;
}

/* 1: the way differed from that on which the transition was found. */
static int pass_all(struct local *l, const struct trace_local_place *place, uint64_t pc, uint64_t *passes,
		    struct err *e)
{
	int r = local_go_to(l, &l->left, place, pc, passes, e);

	return r ? r : pass_rest(l, place, pc, passes, e);
}

int trace_local_passes(struct trace *t, const struct trace_local_params *p, const struct trace_local_ops *ops,
		       void *ctx, const struct trace_local_place *place, uint64_t pc, uint64_t *passes, struct err *e)
{
	struct trace_local_result unused = {0};
	struct local l = {.p = p, .ops = ops, .ctx = ctx, .r = &unused, .left = *t};
	int r;

	*passes = 0;
	if (!local_can_walk(&l) || !place->known)
		return 1;
	l.free_slots = local_free_slots(&l);
	r = trace_clear_all(&l.left, e) || local_arm_end(&l, &l.left, e) ? -1 : pass_all(&l, place, pc, passes, e);
	*t = l.left;
	return r;
}
