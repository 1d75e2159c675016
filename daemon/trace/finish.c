/* SPDX-License-Identifier: MIT */
/* finish.c: see finish.h. */
#include "trace/finish.h"

#include "trace/internal.h"

#define SLICE_NS 50000000u /* how often the user is asked whether to stop */

int trace_finish_call(struct trace *t, unsigned slot, bool (*cancelled)(void *ctx), void *ctx, struct trace_stop *stop,
		      struct err *e)
{
	static const struct trace_limit slice = {.wall_ns = SLICE_NS};
	struct user_regs_struct r;
	uint64_t to;

	if (trace_get_regs(t, &r, e) || trace_read(t->pid, r.rsp, &to, sizeof(to), e) ||
	    trace_set_break(t, slot, to, e))
		return -1;
	do {
		if (cancelled && cancelled(ctx))
			return err_set(e, ERR_CANCELLED, "interrupted");
		if (trace_cont(t, 0, &slice, stop, e))
			return -1;
	} while (stop->why == TRACE_TIMEOUT);
	return t->alive ? trace_clear(t, slot, e) : 0;
}
