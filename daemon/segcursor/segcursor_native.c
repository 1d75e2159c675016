/* SPDX-License-Identifier: MIT */
/* segcursor_native.c: see segcursor_native.h. */
#include "segcursor/segcursor_native.h"

#include <signal.h>
#include <sys/ptrace.h>

#include "base/maps.h"
#include "visibility/shim_frames.h"

/* If there are more ranges than fit, the last one covers the rest, and what is between them. */
static void tell_code(struct replay_walk *ask, const struct text *at)
{
	uint64_t k = ask->codes < REPLAY_WALK_CODES ? ask->codes++ : REPLAY_WALK_CODES - 1;
	bool more = ask->code[k].hi != 0;

	ask->code[k].lo = more && ask->code[k].lo < at->lo ? ask->code[k].lo : at->lo;
	ask->code[k].hi = more && ask->code[k].hi > at->hi ? ask->code[k].hi : at->hi;
}

int segcur_native_begin(struct reporting *g, struct trace *t, struct err *e)
{
	uint64_t gadget = g->in->seg.gadget;

	g->begun = true;
	/* the call in which the copy began may have mapped code */
	if (segcur_report_maps(g->in->seg.t, g->from) && (program_code_find(&g->code, t->pid, &g->in->visibility, e) ||
							  program_code_forbid(&g->code, t, gadget, false, e)))
		return -1;
	/*
	 * a recorder without walk_codes sees by the mappings' rights which code may change, so these must stay
	 * unchanged
	 */
	if (!g->in->seg.t->ctl->walk_codes)
		return 0;
	for (size_t k = 0; k < g->code.n; k++)
		if (g->code.v[k].changes)
			tell_code(&g->walk.ask, &g->code.v[k].at);
	return program_code_forbid(&g->code, t, gadget, true, e);
}

/*
 * While the recorder calls a handler of SIGSEGV, it may have that signal blocked. At a fault by forbidden code the
 * kernel would then remove the recorder's handler, and the next fault would end the copy. So the signal is unblocked.
 */
static int see_faults(struct trace *t, struct err *e)
{
	const uint64_t segv = 1ull << (SIGSEGV - 1);
	uint64_t mask;

	if (ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(mask), &mask))
		return err_errno(e, ERR_INTERNAL, "the signal mask of thread %d", (int)t->tid);
	if (!(mask & segv))
		return 0;
	mask &= ~segv;
	return ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(mask), &mask)
		       ? err_errno(e, ERR_INTERNAL, "the signal mask of thread %d", (int)t->tid)
		       : 0;
}

enum called { CALLED_NOT, CALLED_RET /* it goes on */, CALLED };

/*
 * The copy has stopped as *stop says: has the program's code been called? If it is a `ret` of the program through which
 * the recorder's call of a function returns (visibility_is_trampoline), it is executed here. -1: error.
 */
static int called_program(struct reporting *g, struct trace *t, const struct stop *stop, struct err *e)
{
	struct user_regs_struct r;

	if (stop->kind != STOP_SIGNAL || stop->sig != SIGSEGV)
		return CALLED_NOT;
	if (trace_get_regs(t, &r, e))
		return -1;
	if (!program_code_is_forbidden(&g->code, t, r.rip))
		return CALLED_NOT;
	if (!visibility_is_trampoline(&g->in->visibility, t->pid, &r))
		return CALLED;
	if (trace_read(t->pid, r.rsp, &r.rip, sizeof(r.rip), e))
		return -1;
	r.rsp += sizeof(r.rip);
	return trace_set_regs(t, &r, e) ? -1 : CALLED_RET;
}

/*
 * Runs without translation to `to` (0: no certain place), to where the recorder calls a handler of the program, or to
 * where the program's code is called: STOP_BREAK.
 */
static int run_once(struct reporting *g, struct trace *t, uint64_t to, struct stop *stop, struct err *e)
{
	struct segcur *in = g->in;
	struct breaks b = {.signals = true, .pass = ~(1ull << (SIGSEGV - 1))};
	int sig = 0, r, called;

	if (to)
		breaks_add(&b, to, 0);
	if (in->visibility.handlers)
		breaks_add(&b, in->visibility.handlers, 0);
	do {
		r = see_faults(t, e) || segcur_run_copy(in, t, &sig, &b, NULL, stop, e) ? -1 : 0;
		called = r ? -1 : called_program(g, t, stop, e);
		/* the fault is the recorder's own, or that of an instruction that it executes for the program */
		sig = called == CALLED_NOT && stop->kind == STOP_SIGNAL ? -stop->sig : 0;
	} while (called == CALLED_RET || sig);
	breaks_fini(&b);
	if (called == CALLED)
		stop->kind = STOP_BREAK;
	return called < 0 ? -1 : 0;
}

/* The recorder may also call the function that contains `to`; then the stack pointer differs. */
static int run_to(struct reporting *g, struct trace *t, const struct user_regs_struct *to, struct stop *stop,
		  struct err *e)
{
	struct user_regs_struct r;
	struct trace_stop s;

	for (;;) {
		if (run_once(g, t, to->rip, stop, e))
			return -1;
		if (stop->kind != STOP_BREAK)
			return 0;
		if (trace_get_regs(t, &r, e))
			return -1;
		if (r.rip != to->rip || r.rsp == to->rsp || program_code_is_forbidden(&g->code, t, r.rip))
			return 0;
		if (trace_step(t, 0, &s, e))
			return -1;
	}
}

/* Makes single steps to a state of the program, or to where its code is called: STOP_BREAK. */
static int step_out(struct reporting *g, struct trace *t, struct stop *stop, struct err *e)
{
	struct user_regs_struct r;
	struct shim_call call;
	int sig = 0, called;

	do {
		if (trace_get_regs(t, &r, e))
			return -1;
		shim_frames_find_shim_call(g->in->shim_frames, &g->in->visibility, t->pid, &r, &call);
		if (see_faults(t, e) || segcur_step_seeing(g->in, t, NULL, call, &sig, stop, e))
			return -1;
		called = called_program(g, t, stop, e);
		if (called == CALLED)
			stop->kind = STOP_BREAK;
	} while (called == CALLED_RET);
	return called < 0 ? -1 : 0;
}

/* The event of a pthread_once itself ends the segment: before it no code of the program is executed. */
static bool is_in_once(const struct reporting *g)
{
	struct timeline_event ev;
	struct err ignored;

	return !timeline_read(g->in->seg.t->tl, g->in->n + 1, &ev, &ignored) && ev.ev.rec.kind == RLOG_ONCE;
}

/* Finds out where the copy is: at the end of the segment, or in a state of the program. */
static int settle(struct reporting *g, struct trace *t, const struct stop *stop, struct err *e)
{
	struct trace_stop s;
	uint64_t pc;

	if (stop->kind == STOP_OVER)
		return AT_END;
	if (trace_get_pc(t, &pc, e))
		return -1;
	if (visibility_is_call_of_handler(&g->in->visibility, pc))
		return trace_step(t, 0, &s, e) ? -1 : GOES_ON;
	if (stop->kind == STOP_INTERRUPT)
		return g->asleep >= ASLEEP_MAX && is_in_once(g) ? AT_END : NOT_FOUND;
	return stop->kind == STOP_SIGNAL ? NOT_FOUND : GOES_ON;
}

/*
 * Is the recorder in a call in which it calls a function of the program? (A thread's function is called by code of
 * libc, to which no call returns.)
 */
static bool calls_program(const struct reporting *g)
{
	return g->r->last[g->in->seg.thread] == RLOG_ONCE_RUN || g->r->last[g->in->seg.thread] == RLOG_START;
}

/*
 * *r: where the recorder returns to. false: not known, or it calls a function of the program before it returns. In a
 * function of libc that the recorder has called, such as dlopen, it is the recorder's caller: if the function calls
 * code of the program before, this faults, and is reported.
 */
static bool returns_to_program(struct reporting *g, struct trace *t, struct user_regs_struct *r)
{
	const struct visibility *v = &g->in->visibility;
	struct shim_frames *o = g->in->shim_frames;
	struct user_regs_struct here = *r;

	if (calls_program(g))
		return false;
	if (shim_frames_caller(o, v, t->pid, r) &&
	    (visibility_is_certain(v, r->rip) ||
	     (trace_is_syscall(t, r->rip - TRACE_SYSCALL_BYTES) && !shim_frames_hides(o, v, t->pid, r))))
		return true;
	*r = here;
	return shim_frames_of_call(o, v, t->pid, r) && visibility_is_shim(v, r->rip) &&
	       shim_frames_caller(o, v, t->pid, r) && visibility_is_certain(v, r->rip);
}

/* Runs from inside the recorder to the program's code. */
int segcur_native_come_out(struct reporting *g, struct trace *t, struct err *e)
{
	struct user_regs_struct r;
	struct stop stop = {0};

	if (trace_get_regs(t, &r, e))
		return -1;
	if (visibility_is_certain(&g->in->visibility, r.rip))
		return GOES_ON;
	if (returns_to_program(g, t, &r)) {
		if (run_to(g, t, &r, &stop, e))
			return -1;
	} else if (step_out(g, t, &stop, e)) {
		return -1;
	}
	return settle(g, t, &stop, e);
}

/*
 * The processor executes only the next instruction. If it faults or traps, the copy is in the recorder's handler
 * afterwards. *alive false: that has ended it.
 */
static int execute(struct reporting *g, struct trace *t, bool *alive, struct err *e)
{
	uint64_t gadget = g->in->seg.gadget, pc;
	struct trace_stop s;

	if (see_faults(t, e) || trace_get_pc(t, &pc, e) || program_code_allow(&g->code, t, gadget, pc, true, e) ||
	    trace_step(t, 0, &s, e) || (s.why == TRACE_SIGNAL && trace_step(t, s.info.si_signo, &s, e)))
		return -1;
	*alive = s.why != TRACE_EXITED;
	return *alive ? program_code_allow(&g->code, t, gadget, pc, false, e) : 0;
}

/* Is pc in memory that the program itself cannot execute? */
static bool is_no_code(const struct reporting *g, const struct trace *t, uint64_t pc)
{
	struct mapping m;

	return (!maps_find(t->pid, pc, &m) || !m.exec) && !program_code_is_forbidden(&g->code, t, pc);
}

/* An instruction that is not translated, or that faults as it did in the program. */
int segcur_native_step(struct reporting *g, struct trace *t, struct err *e)
{
	const struct visibility *v = &g->in->visibility;
	struct stop stop = {.kind = STOP_OVER};
	struct user_regs_struct r;
	uint64_t from;
	bool alive, jumped;

	g->faulted = false;
	if (trace_get_pc(t, &from, e))
		return -1;
	jumped = is_no_code(g, t, from);
	if (execute(g, t, &alive, e))
		return -1;
	if (!alive)
		return AT_END;
	if (trace_get_regs(t, &r, e))
		return -1;
	if (!visibility_is_shim(v, r.rip))
		return GOES_ON;
	/* the recorder returns to where it was called, or calls a handler */
	if (visibility_is_certain(v, from) || jumped ? run_once(g, t, 0, &stop, e) : step_out(g, t, &stop, e))
		return -1;
	return settle(g, t, &stop, e);
}

/* Executes a system call. */
static int call_kernel(struct reporting *g, struct trace *t, const struct user_regs_struct *to, struct err *e)
{
	uint64_t gadget = g->in->seg.gadget, pc = to->rip - TRACE_SYSCALL_BYTES;
	struct stop stop = {0};

	if (program_code_allow(&g->code, t, gadget, pc, true, e) || run_to(g, t, to, &stop, e) ||
	    (stop.kind != STOP_OVER && program_code_allow(&g->code, t, gadget, pc, false, e)))
		return -1;
	return settle(g, t, &stop, e);
}

/* The walk has ended: executes the instruction at which it stands. */
int segcur_native_step_over(struct reporting *g, struct trace *t, struct err *e)
{
	struct user_regs_struct r;

	if (trace_get_regs(t, &r, e))
		return -1;
	if (visibility_is_shim(&g->in->visibility, r.rip))
		return segcur_native_come_out(g, t, e);
	g->r->stepped++;
	if (!trace_is_syscall(t, r.rip))
		return segcur_native_step(g, t, e);
	r.rip += TRACE_SYSCALL_BYTES;
	return call_kernel(g, t, &r, e);
}
