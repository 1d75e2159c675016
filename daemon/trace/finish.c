/* SPDX-License-Identifier: MIT */
/* finish.c: see finish.h. */
#include "trace/finish.h"

#include "trace/int3.h"
#include "trace/internal.h"

#define SLICE_NS 50000000u /* how often the user is asked whether to stop */

static int find_return(struct trace *t, uint64_t *to, struct err *e)
{
	struct user_regs_struct r;

	return trace_get_regs(t, &r, e) || trace_read(t->pid, r.rsp, to, sizeof(*to), e) ? -1 : 0;
}

static int run(struct trace *t, bool (*cancelled)(void *ctx), void *ctx, struct trace_stop *stop, struct err *e)
{
	static const struct trace_limit slice = {.wall_ns = SLICE_NS};

	do {
		if (cancelled && cancelled(ctx))
			return err_set(e, ERR_CANCELLED, "interrupted");
		if (trace_cont(t, 0, &slice, stop, e))
			return -1;
	} while (stop->why == TRACE_TIMEOUT);
	return 0;
}

int trace_finish_call(struct trace *t, unsigned slot, bool (*cancelled)(void *ctx), void *ctx, struct trace_stop *stop,
		      struct err *e)
{
	uint64_t to;

	if (find_return(t, &to, e) || trace_set_break(t, slot, to, e) || run(t, cancelled, ctx, stop, e))
		return -1;
	return t->alive ? trace_clear(t, slot, e) : 0;
}

int trace_finish_call_alone(struct trace *t, bool (*cancelled)(void *ctx), void *ctx, struct trace_stop *stop,
			    struct err *e)
{
	struct trace_int3 point;
	struct err ignored;
	uint64_t to;
	int r;

	if (find_return(t, &to, e) || trace_int3_insert(&point, t, to, e))
		return -1;
	r = run(t, cancelled, ctx, stop, e);
	if (!r)
		r = trace_int3_met(&point, t, stop, e);
	if (r > 0)
		stop->why = TRACE_HIT;
	return trace_int3_take_out(&point, t, r < 0 ? &ignored : e) || r < 0 ? -1 : 0;
}
