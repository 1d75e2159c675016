/* SPDX-License-Identifier: MIT */
/*
 * segcursor_closed.c: a step through functions of the recorder's in which the program's code cannot run, but for signal
 * handlers (replay_ctl.closed_lo). A call into a recorded system call takes about a thousand instructions, nearly all
 * of them there, and a single step takes 30 us. So the copy runs to the functions' return, with breakpoints in its text
 * at that and at the call of signal handlers.
 */
#include "segcursor/segcursor_int.h"
#include "trace/int3.h"
#include "visibility/shim_frames.h"

#define POINTS 2
#define END_SLOT (TRACE_SLOTS - 1)
#define SLICE_NS 50000000u /* how often the user is asked */
#define STALLED_SLICES 40u
#define CALL_MAX 7 /* the longest call instruction */

static bool is_in(const struct text *code, uint64_t pc)
{
	return pc >= code->lo && pc < code->hi;
}

/* Which functions are these? false: it is not known, or states that are not visible are wanted, too. */
static bool closed_code(const struct segcur *in, struct text *code)
{
	const struct replay_ctl *c = in->seg.t->ctl;

	*code = (struct text){c->closed_lo, c->closed_hi};
	return code->lo < code->hi && visibility_is_shim(&in->visibility, code->lo) && in->visibility.handlers &&
	       !in->goal;
}

/* Runs for a slice. 1: it has stopped for s, which is not the segment's end. */
static int run_slice(struct segcur *in, struct trace *t, unsigned *asleep, struct trace_stop *s, struct stop *stop,
		     struct err *e)
{
	static const struct trace_limit slice = {.wall_ns = SLICE_NS};
	bool over = false, late;

	if (segcur_is_given_up(in, 1))
		return err_set(e, ERR_CANCELLED, "interrupted");
	if (trace_cont(t, 0, &slice, s, e))
		return -1;
	late = s->why == TRACE_TIMEOUT; /* a hit of the end may be missed */
	if (s->why == TRACE_EXITED)
		over = true;
	else if ((late || s->slots & 1u << END_SLOT) && segment_is_over(&in->seg, t->pid, &over, e))
		return -1;
	if (over)
		stop->kind = STOP_OVER;
	else if (late && segment_check_stall(&in->seg, t, STALLED_SLICES, asleep, e))
		return -1;
	return s->why == TRACE_SIGNAL || s->slots & ~(1u << END_SLOT);
}

/* Where it stops: at the return, and at the call of signal handlers. */
struct points {
	struct trace_int3 at[POINTS];
};

static int insert(struct points *p, const struct segcur *in, const struct trace *t, uint64_t to, struct err *e)
{
	return trace_int3_insert(&p->at[0], t, to, e) || trace_int3_insert(&p->at[1], t, in->visibility.handlers, e)
		       ? -1
		       : 0;
}

static int take_out(struct points *p, const struct trace *t, struct err *e)
{
	for (unsigned i = POINTS; i--;)
		if (trace_int3_take_out(&p->at[i], t, e))
			return -1;
	return 0;
}

/* Runs to `to`, or until something else stops it. stop->kind is STOP_OVER or 0. */
static int run_to_points(struct segcur *in, struct trace *t, uint64_t to, struct points *p, int *sig, struct stop *stop,
			 struct err *e)
{
	struct trace_stop s = {0};
	unsigned asleep = 0;
	int r = 0;

	*stop = (struct stop){0};
	if (trace_set_watch(t, END_SLOT, SEGMENT_TURN_ADDR, 8, e) || insert(p, in, t, to, e))
		return -1;
	while (!r && !stop->kind)
		r = run_slice(in, t, &asleep, &s, stop, e);
	if (r < 0)
		return -1;
	if (stop->kind)
		return 0;
	for (unsigned i = 0; i < POINTS; i++) {
		r = trace_int3_met(&p->at[i], t, &s, e);
		if (r)
			return r < 0 ? -1 : 0;
	}
	/* a fault: the next step executes the instruction again, and reports it */
	if (s.why == TRACE_SIGNAL && !trace_is_fault(&s))
		*sig = s.info.si_signo;
	return 0;
}

static int run_to(struct segcur *in, struct trace *t, uint64_t to, int *sig, struct stop *stop, struct err *e)
{
	struct points p = {0};
	struct err ignored;
	int r = run_to_points(in, t, to, &p, sig, stop, e);

	return take_out(&p, t, r ? &ignored : e) || r ? -1 : 0;
}

/* The same, and finds out where the thread is then. STOP_STEP: in a visible state. */
static int run_out(struct segcur *in, struct trace *t, uint64_t to, struct shim_call *call, uint64_t *pc, int *sig,
		   struct stop *stop, struct err *e)
{
	struct user_regs_struct now;

	if (run_to(in, t, to, sig, stop, e))
		return -1;
	if (stop->kind)
		return 0;
	if (trace_get_regs(t, &now, e))
		return -1;
	*pc = now.rip;
	if (!*sig && visibility_is_call_of_handler(&in->visibility, now.rip))
		stop->kind = STOP_STEP;
	else
		shim_frames_find_shim_call(in->shim_frames, &in->visibility, t->pid, &now, call);
	return 0;
}

int segcur_closed_leave(struct segcur *in, struct trace *t, struct shim_call *call, uint64_t *pc, int *sig,
			struct stop *stop, struct err *e)
{
	struct user_regs_struct r;
	struct text code;

	*stop = (struct stop){0};
	/* at the call of a handler, a step leads into the handler */
	if (*sig || !closed_code(in, &code) || !visibility_is_shim(&in->visibility, *pc) ||
	    visibility_is_call_of_handler(&in->visibility, *pc))
		return 0;
	if (trace_get_regs(t, &r, e))
		return -1;
	if (!shim_frames_returns_from(in->shim_frames, &in->visibility, t->pid, &code, &r))
		return 0;
	return run_out(in, t, r.rip, call, pc, sig, stop, e);
}

int segcur_closed_pass(struct segcur *in, struct trace *t, uint64_t from, struct shim_call *call, uint64_t *pc,
		       int *sig, struct stop *stop, struct err *e)
{
	struct user_regs_struct r;
	struct text code;
	uint64_t to;

	*stop = (struct stop){0};
	if (!closed_code(in, &code) || !is_in(&code, *pc) || is_in(&code, from))
		return 0;
	if (trace_get_regs(t, &r, e) || trace_read(t->pid, r.rsp, &to, sizeof(to), e))
		return -1;
	/* it is not a call, but a jump, or a return into the middle of a function */
	if (to - from > CALL_MAX)
		return 0;
	return run_out(in, t, to, call, pc, sig, stop, e);
}
