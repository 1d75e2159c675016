/* SPDX-License-Identifier: MIT */
/* hidden_run.c: see hidden_run.h. */
#include "visibility/hidden_run.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "visibility/hidden_code.h"

#define INT3 0xcc
#define SYSCALL_0 0x0f
#define SYSCALL_1 0x05
#define SLICE_NS 20000000 /* without a stop: perhaps it waits for another thread, or there is much to compute */
#define SECCOMP_TRAP 1 /* SYS_SECCOMP of siginfo(2) */

struct run {
	struct hidden_run *h;
	struct hidden_code *code;
	struct trace *t;
	struct user_regs_struct outside; /* the frame that is visible again */
	bool ours; /* an int3 is at outside.rip, which is in the program */
	uint8_t saved; /* the byte under it */
	struct trace_stop *stop;
};

/* What an int3 that is not ours stands for: a breakpoint. */
static bool is_point(const struct run *r, uint64_t pc)
{
	return r->h->breaks && breaks_has(r->h->breaks, pc);
}

static int set_outside(struct run *r, bool in, struct err *e)
{
	const uint8_t int3 = INT3;

	if (!r->ours)
		return 0;
	return trace_write(r->t->pid, r->outside.rip, in ? &int3 : &r->saved, 1, e);
}

/* Of a frame in the program: hidden_code knows only the others. */
static int mark_outside(struct run *r, struct err *e)
{
	uint64_t pc = r->outside.rip;

	if (!visibility_is_certain(r->h->visibility, pc)) {
		hidden_code_mark(r->code, pc, true);
		return 0;
	}
	if (trace_read(r->t->pid, pc, &r->saved, 1, e))
		return -1;
	r->ours = r->saved != INT3;
	return set_outside(r, true, e);
}

static int unmark_outside(struct run *r, struct err *e)
{
	hidden_code_mark(r->code, r->outside.rip, false);
	return r->t->alive ? set_outside(r, false, e) : 0;
}

/* It stands where the call returned to: is it that call's return, and not one of an inner call to the same place? */
static bool is_outside(const struct run *r, const struct user_regs_struct *now)
{
	return now->rip == r->outside.rip && now->rsp >= r->outside.rsp;
}

/* What can be reached from where it stands, as far as that is not known yet. */
static int learn(struct run *r, uint64_t pc, struct err *e)
{
	unsigned known = hidden_code_exits(r->code);

	hidden_code_reach(r->code, pc);
	return hidden_code_exits(r->code) == known ? 0 : hidden_code_insert(r->code, r->t->pid, e);
}

/* After one instruction, the one at `before`, that was an exit: is it visible? */
static bool sees(const struct run *r, uint64_t before, const struct user_regs_struct *now)
{
	const struct visibility *s = r->h->visibility;
	struct shim_call call = {0};

	if (visibility_is_certain(s, now->rip))
		return !visibility_is_trampoline(s, r->t->pid, now);
	if (!visibility_is_shim(s, before) || visibility_is_shim(s, now->rip))
		return false;
	shim_frames_find_shim_call(r->h->shim_frames, s, r->t->pid, now, &call);
	return !call.hidden;
}

static bool is_call(const struct user_regs_struct *r, pid_t pid)
{
	struct err ignored;
	uint8_t op[2];

	return !trace_read(pid, r->rip, op, sizeof(op), &ignored) && op[0] == SYSCALL_0 && op[1] == SYSCALL_1;
}

/* At an exit: a system call after which others would execute int3s, or this is another program? */
static bool multiplies(const struct run *r, const struct user_regs_struct *now)
{
	static const unsigned long calls[] = {SYS_clone, SYS_clone3, SYS_fork, SYS_vfork, SYS_execve, SYS_execveat};

	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (now->rax == calls[i])
			return is_call(now, r->t->pid);
	return false;
}

/* A system call that the recorder answers in its handler. */
static bool is_trapped_call(const struct trace_stop *s)
{
	return s->why == TRACE_SIGNAL && s->info.si_signo == SIGSYS && s->info.si_code == SECCOMP_TRAP;
}

/* One instruction, without the int3 in its place, and into the recorder's handler. */
static int step_raw(struct run *r, uint64_t pc, bool *trapped, struct err *e)
{
	const struct trace_limit slice = {.wall_ns = SLICE_NS}; /* it may be a system call that waits */

	*trapped = is_trapped_call(r->stop);
	if (hidden_code_lift(r->code, r->t->pid, pc, true, e) ||
	    trace_step_for(r->t, *trapped ? SIGSYS : 0, &slice, r->stop, e))
		return -1;
	if (r->t->alive && is_trapped_call(r->stop)) {
		*trapped = true;
		if (trace_step_for(r->t, SIGSYS, &slice, r->stop, e))
			return -1;
	}
	return r->t->alive ? hidden_code_lift(r->code, r->t->pid, pc, false, e) : 0;
}

/* From an exit, or a system call that is trapped. 1: it is over, *end says how. */
static int step(struct run *r, uint64_t pc, enum hidden_end *end, struct err *e)
{
	struct user_regs_struct now;
	bool trapped;

	if (step_raw(r, pc, &trapped, e))
		return -1;
	*end = r->t->alive && r->stop->why == TRACE_TIMEOUT ? HIDDEN_NOT : HIDDEN_STOPPED;
	if (!r->t->alive || r->stop->why != TRACE_STEPPED || r->stop->slots)
		return 1;
	if (trace_get_regs(r->t, &now, e))
		return -1;
	*end = HIDDEN_SEEN;
	if (!trapped && sees(r, pc, &now))
		return 1;
	*end = HIDDEN_NOT;
	return is_point(r, now.rip) ? 1 : learn(r, now.rip, e); /* a single step comes to its int3 */
}

/* It has executed the int3 at pc, of a breakpoint, which is for others to judge; where a single step would have ended,
 * that is what has happened. */
static int at_point(struct run *r, struct user_regs_struct *now, uint64_t pc, enum hidden_end *end, struct err *e)
{
	*end = HIDDEN_STOPPED;
	if (!visibility_is_call_of_handler(r->h->visibility, pc) && pc != r->outside.rip)
		return 1;
	now->rip = pc;
	if (pc == r->outside.rip && !is_outside(r, now))
		return 1;
	*end = HIDDEN_SEEN;
	return trace_set_regs(r->t, now, e) ? -1 : 1;
}

static int at_int3(struct run *r, enum hidden_end *end, struct err *e)
{
	struct user_regs_struct now;
	uint64_t pc;

	if (trace_get_regs(r->t, &now, e))
		return -1;
	pc = now.rip - 1;
	if (is_point(r, pc))
		return at_point(r, &now, pc, end, e);
	*end = HIDDEN_STOPPED;
	if (!hidden_code_is_exit(r->code, pc) && !(r->ours && pc == r->outside.rip))
		return 1;
	now.rip = pc;
	if (trace_set_regs(r->t, &now, e))
		return -1;
	*end = HIDDEN_SEEN;
	if (r->ours && pc == r->outside.rip)
		return 1;
	if (is_outside(r, &now) || visibility_is_call_of_handler(r->h->visibility, pc))
		return 1;
	*end = HIDDEN_NOT;
	return hidden_code_lift(r->code, r->t->pid, pc, true, e) ? -1 : multiplies(r, &now) ? 1 : step(r, pc, end, e);
}

static int go(struct run *r, enum hidden_end *end, struct err *e)
{
	const struct trace_limit slice = {.wall_ns = SLICE_NS};
	uint64_t pc;
	int over = 0;

	while (!over) {
		if (trace_cont(r->t, 0, &slice, r->stop, e))
			return -1;
		*end = HIDDEN_STOPPED;
		if (!r->t->alive)
			return 0;
		if (r->stop->why == TRACE_TIMEOUT) {
			*end = HIDDEN_NOT;
			return 0;
		}
		if (trace_is_int3(r->stop))
			over = at_int3(r, end, e);
		else if (is_trapped_call(r->stop))
			over = trace_get_pc(r->t, &pc, e) ? -1 : step(r, pc, end, e);
		else
			over = 1;
	}
	return over < 0 ? -1 : 0;
}

static int run_marked(struct run *r, enum hidden_end *end, struct err *e)
{
	struct err why;
	int got;

	if (mark_outside(r, e))
		return -1;
	got = hidden_code_insert(r->code, r->t->pid, e) || go(r, end, e) ? -1 : 0;
	if (r->t->alive && hidden_code_take_out(r->code, r->t->pid, got ? &why : e))
		got = -1;
	if (!r->t->alive)
		hidden_code_forget(r->code);
	return unmark_outside(r, got ? &why : e) ? -1 : got;
}

/* How it has got to where it stands now. */
static int find_call(const struct run *r, struct shim_call *call, struct err *e)
{
	struct user_regs_struct now;

	if (trace_get_regs(r->t, &now, e))
		return -1;
	shim_frames_find_shim_call(r->h->shim_frames, r->h->visibility, r->t->pid, &now, call);
	return 0;
}

static struct hidden_code *code_of(struct hidden_run *h, pid_t pid)
{
	struct shim_frames *o = h->shim_frames;

	if (!o->code)
		o->code = hidden_code_new(pid, h->visibility, h->breaks);
	return o->code;
}

static int run(struct hidden_run *h, struct trace *t, struct shim_call *call, struct trace_stop *stop, struct err *e)
{
	struct run r = {.h = h, .t = t, .stop = stop};
	uint64_t pcs[SHIM_FRAMES_HIDDEN_MAX];
	struct user_regs_struct now;
	enum hidden_end end = HIDDEN_NOT;
	unsigned n;

	if (trace_get_regs(t, &now, e))
		return -1;
	n = shim_frames_hidden(h->shim_frames, h->visibility, t->pid, &now, pcs, &r.outside);
	r.code = n ? code_of(h, t->pid) : NULL;
	if (!r.code)
		return HIDDEN_NOT;
	for (unsigned i = 0; i < n; i++)
		hidden_code_reach(r.code, pcs[i]);
	if (run_marked(&r, &end, e))
		return -1;
	if (end == HIDDEN_SEEN)
		memset(call, 0, sizeof(*call));
	else if (t->alive && find_call(&r, call, e))
		return -1;
	return (int)end;
}

/* Those that ran go on. One that has stopped for a reason of its own is heard of later. */
static int resume_others(struct group *g, const pid_t *ran, unsigned n, struct err *e)
{
	for (unsigned i = 0; i < n; i++) {
		struct group_thread *th = group_find(g, ran[i]);

		if (th && th->t.alive && !th->pending && group_resume_one(g, th, e))
			return -1;
	}
	return 0;
}

int hidden_run(struct hidden_run *h, struct group *g, struct group_thread *th, struct shim_call *call, struct err *e)
{
	struct trace_stop stop;
	pid_t *ran;
	unsigned n = 0;
	int end;

	if (th->sig || ++h->steps < HIDDEN_STEPS)
		return HIDDEN_NOT;
	h->steps = 0;
	ran = xcalloc(g->n, sizeof(*ran));
	for (unsigned i = 0; i < g->n; i++)
		if (!g->v[i]->t.alive && !g->v[i]->dying)
			ran[n++] = g->v[i]->t.tid;
	end = group_stop(g, e) ? -1 : run(h, &th->t, call, &stop, e);
	if (end >= 0 && resume_others(g, ran, n, e))
		end = -1;
	free(ran);
	if (end == HIDDEN_STOPPED && group_give_back(g, th, &stop, e))
		end = -1;
	return end;
}
