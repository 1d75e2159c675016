/* SPDX-License-Identifier: MIT */
/* segcursor.c: see segcursor.h: entering a segment, and steps in it. segcursor_forth.c runs on,
 * segcursor_back.c goes back. */
#define LOG_DOMAIN "segcursor"
#include "segcursor/segcursor.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "segcursor/segcursor_int.h"
#include "visibility/shim_frames.h"

/* How a thread reached the place where it stands. */
static int find_shim_call(struct segcur *in, struct trace *t, struct shim_call *shim_call, struct err *e)
{
	struct user_regs_struct r;

	if (trace_get_regs(t, &r, e))
		return -1;
	shim_frames_find_shim_call(in->shim_frames, &in->visibility, t->pid, &r, shim_call);
	return 0;
}

/*
 * One visible step of *t, a copy of `now`. STOP_OVER: the copy does not exist any more, since after the segment's end
 * there is nothing to look at.
 */
static int step_from_now(struct segcur *in, const struct breaks *b, struct trace *t, int *sig, struct stop *stop,
			 struct err *e)
{
	struct shim_call shim_call;
	int r = segcur_is_at_end(in, e);

	*sig = in->sig;
	*stop = (struct stop){.kind = STOP_OVER};
	if (r)
		return r < 0 ? -1 : 0;
	if (segcur_copy(in, &in->now, t, e))
		return -1;
	r = find_shim_call(in, t, &shim_call, e) || segcur_step_seeing(in, t, b, shim_call, sig, stop, e) ? -1 : 0;
	if (r || stop->kind == STOP_OVER)
		segcur_drop(t);
	return r;
}

int segcur_step(struct segcur *in, const struct breaks *b, struct stop *stop, struct err *e)
{
	struct trace t;
	bool counted = in->counted;
	uint64_t steps = in->steps;
	int sig;

	if (step_from_now(in, b, &t, &sig, stop, e))
		return -1;
	if (stop->kind == STOP_OVER)
		return 0;
	segcur_set_now(in, &t);
	in->counted = counted;
	in->steps = steps + 1;
	in->sig = stop->kind == STOP_SIGNAL ? -stop->sig : sig;
	return 0;
}

int segcur_look_on(struct segcur *in, const struct breaks *b, struct stop *stop, struct err *e)
{
	struct trace t;
	int sig;

	if (step_from_now(in, b, &t, &sig, stop, e))
		return -1;
	if (stop->kind != STOP_OVER)
		segcur_drop(&t);
	return 0;
}

/* Moves from the segment's start, where the thread stands in the shim, to the first visible state. */
static int first_visible(struct segcur *in, struct stop *stop, struct err *e)
{
	struct trace t;
	int sig = 0;

	if (segcur_copy(in, &in->base, &t, e))
		return -1;
	if (segcur_step_seeing(in, &t, NULL, in->shim_call, &sig, stop, e)) {
		segcur_drop(&t);
		return -1;
	}
	if (stop->kind == STOP_OVER) {
		segcur_drop(&t);
		return 0;
	}
	in->mark[0] = t;
	in->marks = 1;
	if (segcur_copy(in, &in->mark[0], &in->now, e))
		return -1;
	in->counted = true;
	in->steps = 0;
	return 0;
}

int segcur_enter_any(struct segcur *in, struct target *t, uint64_t n, struct shim_frames *o, struct err *e)
{
	struct stop stop = {0};

	memset(in, 0, sizeof(*in));
	in->n = n;
	in->shim_frames = o;
	if (segment_begin(&in->seg, t, n, e) || visibility_find(t->pid, &in->visibility, e) ||
	    trace_fork(&in->seg.held, in->seg.gadget, &in->base, e) ||
	    trace_unshare_memory(&in->base, in->seg.gadget, e) || segcur_learn_end(in, e) ||
	    find_shim_call(in, &in->base, &in->shim_call, e) || first_visible(in, &stop, e)) {
		struct err ignored;

		segcur_leave(in, &ignored);
		return -1;
	}
	in->blind = stop.kind == STOP_OVER;
	log_debug("event %" PRIu64 ": %u single steps to the first visible state", n, in->instructions);
	return 0;
}

int segcur_enter(struct segcur *in, struct target *t, uint64_t n, struct shim_frames *o, struct err *e)
{
	if (segcur_enter_any(in, t, n, o, e))
		return -1;
	if (!in->blind)
		return 0;
	return segcur_leave(in, e) ? -1 : 1;
}

int segcur_release(struct segcur *in, struct err *e)
{
	return segment_cancel(&in->seg, e);
}

int segcur_take(struct segcur *in, struct err *e)
{
	return segment_begin(&in->seg, in->seg.t, in->n, e);
}

int segcur_rewind(struct segcur *in, struct err *e)
{
	struct trace t;

	if (!in->marks)
		return 1;
	if (segcur_copy(in, &in->mark[0], &t, e))
		return -1;
	while (in->marks > 1)
		segcur_drop(&in->mark[--in->marks]);
	segcur_set_now(in, &t);
	in->counted = true;
	in->steps = 0;
	return 0;
}

int segcur_leave(struct segcur *in, struct err *e)
{
	struct err why;
	int r = 0;

	if (!in->seg.t)
		return 0;
	segcur_drop(&in->now);
	for (unsigned i = 0; i < in->marks; i++)
		segcur_drop(&in->mark[i]);
	segcur_drop(&in->base);
	segcur_drop(&in->end);
	if (in->seg.held.alive && segment_go_on(&in->seg, e))
		r = -1;
	if (segment_end_tracing(r ? &why : e))
		r = -1;
	memset(in, 0, sizeof(*in));
	return r;
}
