/* SPDX-License-Identifier: MIT */
/* stepper.c: see stepper.h. */
#include "visibility/stepper.h"

#include <signal.h>
#include <sys/ptrace.h>

#include "trace/rep.h"

static uint64_t bit(int sig)
{
	return 1ull << (sig - 1);
}

int stepper_begin(struct stepper *s, struct err *e)
{
	struct group_thread *th = group_find(s->group, s->tid);
	struct user_regs_struct regs;

	if (!th || !th->t.alive)
		return 0;
	if (trace_get_regs(&th->t, &regs, e))
		return -1;
	shim_frames_find_shim_call(s->shim_frames, s->visibility, th->t.pid, &regs, &s->shim_call);
	return 0;
}

/* Notes where the thread is before it is resumed, if it is the stepped one. */
static int note(struct stepper *s, struct group_thread *th, struct err *e)
{
	if (th->t.tid != s->tid)
		return 0;
	s->handler = th->sig != 0;
	return trace_get_pc(&th->t, &s->before, e);
}

int stepper_resume(struct stepper *s, struct err *e)
{
	struct group_thread *th = group_find(s->group, s->tid);

	for (unsigned i = 0; i < BREAKS_WATCHES; i++)
		s->group->slot[i] = s->breaks->watch[i];
	if (th && th->t.alive && note(s, th, e))
		return -1;
	return breaks_insert(s->breaks, s->group->pid, e) || group_resume(s->group, s->tid, e) ? -1 : 0;
}

int stepper_go_on(struct stepper *s, struct group_thread *th, struct err *e)
{
	return note(s, th, e) || group_resume_one(s->group, th, e) ? -1 : 0;
}

/*
 * Signals that other processes and timers send are held back: a handler would run before the instruction, and that
 * would not be executed.
 */
static int step_undisturbed(struct trace *t, struct trace_stop *stop, struct err *e)
{
	const uint64_t faults = bit(SIGSEGV) | bit(SIGBUS) | bit(SIGFPE) | bit(SIGILL) | bit(SIGTRAP) | bit(SIGSYS),
		       others = ~faults;
	uint64_t was;
	int r;

	if (ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(was), &was) ||
	    ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(others), &others))
		return err_errno(e, ERR_INTERNAL, "the signal mask of thread %d", (int)t->tid);
	r = trace_step(t, 0, stop, e);
	if (t->alive && ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(was), &was) && !r)
		r = err_errno(e, ERR_INTERNAL, "the signal mask of thread %d", (int)t->tid);
	return r;
}

int stepper_off(struct stepper *s, struct group_thread *th, struct trace_stop *stop, struct err *e)
{
	int sig = th->sig;

	if (note(s, th, e))
		return -1;
	th->sig = 0;
	if (sig ? trace_step(&th->t, sig, stop, e) : step_undisturbed(&th->t, stop, e))
		return -1;
	return trace_finish_rep(&th->t, stop, e);
}

int stepper_sees(struct stepper *s, struct group_thread *th, const struct trace_stop *stop, struct err *e)
{
	struct user_regs_struct regs;

	if (th->t.tid != s->tid || stop->why != TRACE_STEPPED)
		return 0;
	if (trace_hide_step(&th->t, e) || trace_get_regs(&th->t, &regs, e))
		return -1;
	return shim_frames_sees(s->shim_frames, s->visibility, &s->shim_call, th->t.pid, s->before, &regs, s->handler);
}

const struct group_slot *stepper_watch(const struct stepper *s, const struct trace_stop *stop)
{
	for (unsigned i = 0; i < BREAKS_WATCHES; i++)
		if (stop->slots & 1u << i && s->breaks->watch[i].kind)
			return &s->breaks->watch[i];
	return NULL;
}
