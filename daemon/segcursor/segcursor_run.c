/* SPDX-License-Identifier: MIT */
/*
 * segcursor_run.c: one copy moves: by single steps from one visible state to the next, or at full speed up to a
 * breakpoint, a watchpoint, a signal or the end of the segment.
 *
 * A segment can end in the middle of the program, where its thread was interrupted (a PREEMPT record). Only the shim
 * finds that place, by executing the program in translated code, which must not be single-stepped. Copies of the base
 * are therefore told not to look for it (replay_ctl.endless). One copy is sent there once (segcur_find_end), and the
 * others are compared with it, or are taken to be after it when they have used too much CPU time (segcur_is_lost).
 */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "rlog/replay.h"
#include "segcursor/segcursor_int.h"
#include "trace/finish.h"
#include "trace/rep.h"
#include "visibility/shim_frames.h"

#define CTL_ADDR(field) (REPLAY_CTL_ADDR + offsetof(struct replay_ctl, field))
/* A copy that has used more than this many times the CPU time of the whole segment, plus a margin, is after its end. */
#define LOST_TIMES 8
#define LOST_NS 1000000000u

#define END_SLOT (TRACE_SLOTS - 1)
#define STOPS_ASK 256 /* ... also after this many stops, including those that do not count */
#define STEPS_ASK 1024
#define TRAIL_PART                                                                                                     \
	4 /* a copy is left whenever the way has become longer by this fraction: so they are few, and one is near the  \
	     end */
#define LIMIT_NEAR_NS 5000 /* of CPU time: limits are not more exact than this */
#define STEPS_MAX 5000000u /* the most steps inside the shim */

static int is_over(struct segcur *in, struct trace *t, bool *over, struct err *e)
{
	return segment_is_over(&in->seg, t->pid, over, e);
}

/* b NULL: no watchpoints. */
static int set_slots(struct trace *t, const struct breaks *b, struct err *e)
{
	static const struct group_slot off;

	for (unsigned i = 0; i < BREAKS_WATCHES; i++)
		if (group_set_slot(t, i, b ? &b->watch[i] : &off, e))
			return -1;
	return trace_set_watch(t, END_SLOT, SEGMENT_TURN_ADDR, 8, e);
}

/* Has a watchpoint been hit? 0, STOP_WATCH or STOP_HOT. was: the watched words before t's last instruction. */
static enum stop_kind watch_met(struct segcur *in, struct trace *t, const struct breaks *b, const struct trace_stop *s,
				struct breaks_words *was, struct stop *stop)
{
	const struct group_slot *w;
	bool written;

	w = breaks_watch_met(b, t, s->slots, was, &written);
	if (w)
		*stop = (struct stop){STOP_WATCH, 0, w->addr, w->kind};
	else if (written && in->patience && !--in->patience)
		*stop = (struct stop){.kind = STOP_HOT};
	return stop->kind;
}

/*
 * Executes one instruction. A signal of the shim's own is delivered by the next one. A fault is reported before it is
 * delivered; it is not part of a copy, but happens again: *sig is then minus its number, and the next one is not
 * reported. *watched: the watchpoint of b that was hit; NULL: not wanted.
 */
static int step_raw(struct segcur *in, struct trace *t, const struct breaks *b, int *sig, bool *in_handler,
		    struct stop *watched, struct stop *stop, struct err *e)
{
	struct breaks_words was;
	struct trace_stop s;
	bool over, pass = *sig < 0;

	if (b)
		breaks_look(b, t->pid, &was);
	if (b ? set_slots(t, b, e) : trace_set_watch(t, END_SLOT, SEGMENT_TURN_ADDR, 8, e))
		return -1;
	if (trace_step(t, pass ? 0 : *sig, &s, e) || trace_finish_rep(t, &s, e))
		return -1;
	if (b)
		watch_met(in, t, b, &s, &was, watched);
	*in_handler = *sig > 0;
	*sig = 0;
	*stop = (struct stop){.kind = STOP_STEP};
	if (s.why == TRACE_EXITED) {
		stop->kind = STOP_OVER;
		return 0;
	}
	if (trace_is_fault(&s) && !pass) {
		*stop = (struct stop){.kind = STOP_SIGNAL, .sig = s.info.si_signo};
		return 0;
	}
	if (s.why == TRACE_SIGNAL)
		*sig = s.info.si_signo;
	if (!(s.slots & 1u << END_SLOT))
		return 0;
	if (is_over(in, t, &over, e))
		return -1;
	if (over)
		stop->kind = STOP_OVER;
	return 0;
}

/* Classifies the state after an instruction from *before: STOP_STEP, STOP_GOAL, or 0: not visible. */
static int look(struct segcur *in, struct trace *t, struct shim_call *g, uint64_t *before, bool handler, struct err *e)
{
	struct user_regs_struct r;
	int found;

	if (trace_get_regs(t, &r, e))
		return -1;
	/* a signal has interrupted a `rep` */
	if (trace_in_rep(t, &r))
		return 0;
	if (shim_frames_sees(in->shim_frames, &in->visibility, g, t->pid, *before, &r, handler))
		return STOP_STEP;
	*before = r.rip;
	found = in->goal ? segcur_is_goal(in->goal, t, e) : 0;
	return found > 0 ? STOP_GOAL : found;
}

static bool given_up(void *ctx)
{
	return segcur_is_given_up(ctx, 1);
}

/*
 * t stands at the beginning of a function of the recorder that runs long, and in which no state is visible
 * (replay_ctl.search_addr): runs to its return, or until something stops it.
 */
static int run_through(struct segcur *in, struct trace *t, int *sig, uint64_t *pc, struct err *e)
{
	struct trace_stop s;

	if (trace_finish_call_alone(t, given_up, in, &s, e))
		return -1;
	if (s.why == TRACE_EXITED)
		return err_set(e, ERR_INTERNAL, "thread %u ended after event %" PRIu64, in->seg.thread, in->n);
	*sig = s.why == TRACE_SIGNAL ? s.info.si_signo : 0;
	return trace_get_pc(t, pc, e);
}

int segcur_step_seeing(struct segcur *in, struct trace *t, const struct breaks *b, struct shim_call shim_call, int *sig,
		       struct stop *stop, struct err *e)
{
	uint64_t before, search = in->seg.t->ctl->search_addr;
	struct stop watched = {0};
	bool handler;

	if (trace_get_pc(t, &before, e) || (!b && segcur_closed_leave(in, t, &shim_call, &before, sig, stop, e)))
		return -1;
	if (!b && stop->kind)
		return 0;
	for (unsigned i = 0; i < STEPS_MAX; i++) {
		uint64_t from = before;
		int seen;

		if (segcur_is_given_up(in, STEPS_ASK))
			return err_set(e, ERR_CANCELLED, "interrupted");
		in->instructions++;
		if (step_raw(in, t, b, sig, &handler, &watched, stop, e))
			return -1;
		if (stop->kind == STOP_OVER && watched.kind)
			*stop = (struct stop){STOP_OVER, 0, watched.addr, watched.watch};
		if (stop->kind != STOP_STEP)
			return 0;
		/* a signal is to be delivered first: the instruction has not been executed */
		if (*sig)
			continue;
		seen = look(in, t, &shim_call, &before, handler, e);
		if (seen < 0)
			return -1;
		stop->kind = (enum stop_kind)seen;
		if (seen == STOP_STEP && watched.kind)
			*stop = watched;
		if (seen)
			return 0;
		if (search && before == search && run_through(in, t, sig, &before, e))
			return -1;
		if (!b && segcur_closed_pass(in, t, from, &shim_call, &before, sig, stop, e))
			return -1;
		if (stop->kind)
			return 0;
	}
	return err_set(e, ERR_INTERNAL, "thread %u does not come out of a library call after event %" PRIu64,
		       in->seg.thread, in->n);
}

int segcur_step_copy(struct segcur *in, struct trace *t, int *sig, struct stop *stop, struct err *e)
{
	return segcur_step_seeing(in, t, NULL, (struct shim_call){0}, sig, stop, e);
}

enum stop_kind segcur_meets(const struct breaks *b, struct trace *t)
{
	static const enum stop_kind kinds[] = {[BREAKS_STOP] = STOP_BREAK, [BREAKS_LIBRARY] = STOP_LIBRARY};

	return kinds[breaks_wanted(b, t)];
}

static int stray_trap(struct trace *t, struct err *e)
{
	uint64_t pc;

	if (trace_get_pc(t, &pc, e))
		return -1;
	return err_set(e, ERR_INTERNAL, "a breakpoint at 0x%" PRIx64 " is not one of ours", pc - 1);
}

static int judge(struct segcur *in, struct trace *t, struct breaks *b, const struct trace_stop *s,
		 struct breaks_words *was, int *sig, struct stop *stop, struct err *e)
{
	bool yes = false, pass = *sig < 0;

	*sig = 0;

	stop->kind = 0;
	if (s->why == TRACE_EXITED)
		stop->kind = STOP_OVER;
	if (s->why == TRACE_TIMEOUT)
		stop->kind = STOP_LIMIT;
	if (s->slots & 1u << END_SLOT) {
		if (is_over(in, t, &yes, e))
			return -1;
		if (yes)
			stop->kind = STOP_OVER;
	}
	if (stop->kind)
		return 0;
	if (watch_met(in, t, b, s, was, stop) || s->why != TRACE_SIGNAL)
		return 0;
	*sig = s->info.si_signo;
	if (trace_is_int3(s)) {
		int ours = breaks_hit(b, t, e);

		if (ours <= 0)
			return ours ? -1 : stray_trap(t, e);
		*sig = 0;
		stop->kind = STOP_BREAK;
		return 0;
	}
	if (trace_is_fault(s) && !pass && breaks_stops_at_signal(b, *sig))
		*stop = (struct stop){.kind = STOP_SIGNAL, .sig = *sig};
	return 0;
}

static int run_with(struct segcur *in, struct trace *t, int *sig, struct breaks *b, const struct trace_limit *limit,
		    struct stop *stop, struct err *e)
{
	struct breaks_words was;
	struct trace_stop s;

	breaks_look(b, t->pid, &was);
	do {
		if (set_slots(t, b, e) || trace_cont(t, *sig > 0 ? *sig : 0, limit, &s, e))
			return -1;
		if (trace_finish_rep(t, &s, e) || judge(in, t, b, &s, &was, sig, stop, e))
			return -1;
	} while (!stop->kind);
	return 0;
}

/* Steps over the breakpoint at which it stands, with the watchpoints set. stop->kind 0: no stop was met. */
static int step_over(struct segcur *in, struct trace *t, int *sig, struct breaks *b, struct stop *stop, struct err *e)
{
	struct breaks_words was;
	struct trace_stop s;
	uint64_t to;

	breaks_look(b, t->pid, &was);
	if (set_slots(t, b, e) || trace_step(t, *sig > 0 ? *sig : 0, &s, e) || trace_finish_rep(t, &s, e) ||
	    judge(in, t, b, &s, &was, sig, stop, e))
		return -1;
	if (stop->kind)
		return 0;
	if (trace_get_pc(t, &to, e))
		return -1;
	if (breaks_has(b, to) && !*sig)
		stop->kind = segcur_meets(b, t);
	return 0;
}

/* Continues from an inserted breakpoint whose condition is false. */
static int pass_by(struct segcur *in, struct trace *t, int *sig, struct breaks *b, struct stop *stop, struct err *e)
{
	uint64_t pc;

	if (trace_get_pc(t, &pc, e) || breaks_lift(b, t->pid, pc, true, e) || step_over(in, t, sig, b, stop, e))
		return -1;
	return t->alive ? breaks_lift(b, t->pid, pc, false, e) : 0;
}

/* Runs for a slice of the CPU time that is left up to `end` (0: no limit). 1: none is left. */
static int next_slice(struct trace *t, uint64_t end, struct trace_limit *slice, struct err *e)
{
	uint64_t now;

	*slice = (struct trace_limit){.wall_ns = SEGCUR_SLICE_NS};
	if (!end)
		return 0;
	if (trace_cpu_ns(t->pid, &now, e))
		return -1;
	slice->cpu_ns = end > now ? end - now : 0;
	return slice->cpu_ns < LIMIT_NEAR_NS;
}

/*
 * Nothing has stopped it for a slice: has it passed the segment's end without noticing, or come to another event than
 * the recorded one? In both cases its segment is over; the process itself reports the difference when it comes to the
 * event.
 */
static int look_for_end(struct segcur *in, struct trace *t, uint64_t since, struct stop *stop, struct err *e)
{
	uint64_t now;
	bool over;
	int lost = 0;

	if (is_over(in, t, &over, e))
		return -1;
	if (!over && in->interrupted_at_end) {
		if (trace_cpu_ns(t->pid, &now, e))
			return -1;
		lost = segcur_is_lost(in, now - since, e);
	}
	if (over || lost > 0)
		stop->kind = STOP_OVER;
	return lost < 0 ? -1 : 0;
}

int segcur_leave_trail(struct segcur *in, struct trace *t, const struct breaks *b, struct err *e)
{
	struct segcur_trail *trail = in->trail;
	struct segcur_kept at = {.k = trail->k ? *trail->k : 0};
	struct user_regs_struct r;

	if (trace_cpu_ns(t->pid, &at.ns, e) || trace_get_regs(t, &r, e))
		return -1;
	if (at.ns < trail->last.ns + trail->last.ns / TRAIL_PART ||
	    !visibility_is_program(&in->visibility, t->pid, &r) || trace_at_rep(t->pid, &r))
		return 0;
	if (segcur_copy(in, t, &at.t, e) || breaks_clean_copy(b, at.t.pid, e)) {
		segcur_drop(&at.t);
		return -1;
	}
	segcur_drop(&trail->last.t);
	trail->last = at;
	return 0;
}

static int run_inserted(struct segcur *in, struct trace *t, int *sig, struct breaks *b, const struct trace_limit *limit,
			struct stop *stop, struct err *e)
{
	struct trace_limit slice;
	unsigned every = STOPS_ASK;
	uint64_t end = 0, since = 0;

	if (limit && trace_cpu_ns(t->pid, &end, e))
		return -1;
	end += limit ? limit->cpu_ns : 0;
	if (in->interrupted_at_end && trace_cpu_ns(t->pid, &since, e))
		return -1;
	for (;;) {
		int late = next_slice(t, end, &slice, e);

		if (late < 0)
			return -1;
		*stop = (struct stop){.kind = late ? STOP_LIMIT : segcur_is_given_up(in, every) ? STOP_INTERRUPT : 0};
		if (stop->kind)
			return 0;
		if (run_with(in, t, sig, b, &slice, stop, e))
			return -1;
		if (stop->kind == STOP_BREAK)
			stop->kind = segcur_meets(b, t);
		if (stop->kind == STOP_LIMIT && look_for_end(in, t, since, stop, e))
			return -1;
		if (stop->kind == STOP_LIMIT && !*sig && in->trail && segcur_leave_trail(in, t, b, e))
			return -1;
		if (!stop->kind) {
			*stop = (struct stop){0};
			if (pass_by(in, t, sig, b, stop, e))
				return -1;
			if (in->interrupted_at_end && t->alive && trace_cpu_ns(t->pid, &since, e))
				return -1;
		}
		if (stop->kind && stop->kind != STOP_LIMIT)
			return 0;
		every = stop->kind ? 1 : STOPS_ASK;
	}
}

int segcur_run_copy(struct segcur *in, struct trace *t, int *sig, struct breaks *b, const struct trace_limit *limit,
		    struct stop *stop, struct err *e)
{
	struct err why;
	int r;

	if (breaks_insert(b, t->pid, e))
		return -1;
	r = run_inserted(in, t, sig, b, limit, stop, e);
	if (t->alive && breaks_take_out(b, t->pid, r ? &why : e))
		r = -1;
	return r;
}

/* Continues a copy from a stop: steps over the breakpoint at which it stands, and then runs. */
int segcur_onwards(struct segcur *in, struct trace *t, int *sig, struct breaks *b, struct stop *stop, struct err *e)
{
	uint64_t pc;

	if (trace_get_pc(t, &pc, e))
		return -1;
	if (breaks_has(b, pc) && step_over(in, t, sig, b, stop, e))
		return -1;
	if (breaks_has(b, pc) && stop->kind)
		return 0;
	return segcur_run_copy(in, t, sig, b, NULL, stop, e);
}

/* Changes the copy's control page, which is its own. */
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
	/* what the shim's handlers leave on that stack is not part of the program's state, see state_equal.c */
	return tell_copy(&in->base, CTL_ADDR(endless), 1, e) || trace_find_alt_stack(&in->base, in->seg.gadget, e) ? -1
														   : 0;
}

bool segcur_ends_in_program(const struct segcur *in)
{
	return in->interrupted_at_end;
}

/* Runs a copy of the beginning up to where the thread was interrupted: then it stands in the shim's handler. */
static int run_to_end(struct segcur *in, struct trace *t, struct err *e)
{
	struct breaks none = {0};
	struct stop stop = {0};
	uint64_t turn = 0;
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
	if (t->alive && trace_read(t->pid, SEGMENT_TURN_ADDR, &turn, sizeof(turn), e))
		return -1;
	/* segment_is_over is also true for a copy that has not found the place */
	return t->alive && turn > in->n
		       ? 0
		       : err_set(e, ERR_INTERNAL,
				 "where thread %u was interrupted after event %llu could not be reached again",
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

int segcur_run_to_frame(struct segcur *in, struct trace *t, const struct user_regs_struct *to, struct stop *stop,
			struct err *e)
{
	struct user_regs_struct now;
	struct breaks b = {0};
	int sig = 0, r;

	*stop = (struct stop){0};
	breaks_add(&b, to->rip, 0);
	r = segcur_run_copy(in, t, &sig, &b, NULL, stop, e);
	breaks_fini(&b);
	if (r)
		return -1;
	if (stop->kind != STOP_BREAK)
		return 1;
	return trace_get_regs(t, &now, e) ? -1 : now.rip != to->rip || now.rsp != to->rsp;
}
