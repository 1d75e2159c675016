/* SPDX-License-Identifier: MIT */
/*
 * segcursor_end.c: a segment that ends in the middle of the program, where its thread was interrupted. To find that place the
 * shim has a lot to do, which nobody wants to see in single steps, and copies that are made on the way would run on
 * anyhow. So copies do not know of that end (replay_ctl.endless). It is looked for once, by a copy that goes there in translated
 * code, and others are compared with it.
 */
#include <stddef.h>
#include <string.h>

#include "segcursor/segcursor_int.h"
#include "rlog/replay.h"

#define CTL_ADDR(field) (REPLAY_CTL_ADDR + offsetof(struct replay_ctl, field))
/* By how much more than the whole segment takes a copy without stops is behind its end. */
#define LOST_TIMES 8
#define LOST_NS 1000000000u

/* The control page of a copy is its own. */
static int tell_copy(struct trace *t, uint64_t addr, uint32_t v, struct err *e)
{
	return trace_write(t->pid, addr, &v, sizeof(v), e);
}

int segcur_learn_end(struct segcur *in, struct err *e)
{
	struct timeline_event ev;
	struct timeline_walk w;
	int r;

	if (in->n >= target_total(in->seg.t))
		return 0;
	if (timeline_walk_init(&w, in->seg.t->tl, in->n + 1, e))
		return -1;
	r = timeline_walk_next(&w, &ev, e);
	timeline_walk_fini(&w);
	if (r < 0)
		return -1;
	in->interrupted_at_end = r > 0 && ev.ev.rec.kind == RLOG_PREEMPT;
	if (!in->interrupted_at_end)
		return 0;
	/* what the shim's handlers leave there is not the program's, see state_equal.c */
	return tell_copy(&in->base, CTL_ADDR(endless), 1, e) || trace_find_alt_stack(&in->base, in->seg.gadget, e) ? -1 : 0;
}

bool segcur_ends_in_program(const struct segcur *in)
{
	return in->interrupted_at_end;
}

/* A copy of the beginning, up to where it has been interrupted: it stands in the shim's handler. */
static int run_to_end(struct segcur *in, struct trace *t, struct err *e)
{
	struct breaks none = {0};
	struct stop stop = {0};
	int sig = 0, r;

	if (tell_copy(t, CTL_ADDR(endless), 0, e) || tell_copy(t, CTL_ADDR(blind), 1, e))
		return -1;
	in->to_end = true;
	do {
		r = segcur_run_copy(in, t, &sig, &none, NULL, &stop, e);
		sig = stop.kind == STOP_SIGNAL ? -stop.sig : sig;
	} while (!r && stop.kind == STOP_SIGNAL);
	in->to_end = false;
	if (r)
		return -1;
	if (stop.kind == STOP_INTERRUPT)
		return err_set(e, ERR_CANCELLED, "interrupted");
	return t->alive ? 0 : err_set(e, ERR_INTERNAL, "where thread %u was interrupted behind event %llu is not met again",
				      in->seg.thread, (unsigned long long)in->n);
}

int segcur_find_end(struct segcur *in, struct err *e)
{
	struct user_regs_struct r;
	struct trace t;

	if (in->end.pid)
		return 0;
	if (segcur_copy(in, &in->base, &t, e))
		return -1;
	if (run_to_end(in, &t, e) || trace_cpu_ns(t.pid, &in->end_ns, e) || trace_get_regs(&t, &r, e)) {
		segcur_drop(&t);
		return -1;
	}
	shim_frames_find(in->shim_frames, &in->visibility, t.pid, &r);
	if (trace_set_regs(&t, &r, e)) {
		segcur_drop(&t);
		return -1;
	}
	in->end = t;
	return 0;
}

int segcur_is_at_end(struct segcur *in, struct err *e)
{
	struct goal g = {0};
	int r;

	if (!in->interrupted_at_end)
		return 0;
	if (segcur_find_end(in, e) || segcur_goal_init(&g, &in->end, e))
		return -1;
	r = segcur_is_goal(&g, &in->now, e);
	breaks_fini(&g.stop);
	return r;
}

int segcur_is_lost(struct segcur *in, uint64_t ns, struct err *e)
{
	if (!in->interrupted_at_end || in->to_end)
		return 0;
	return segcur_find_end(in, e) ? -1 : ns > in->end_ns * LOST_TIMES + LOST_NS;
}
