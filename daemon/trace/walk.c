/* SPDX-License-Identifier: MIT */
/*
 * walk.c: see walk.h. The translated code runs elsewhere, so that a breakpoint of the processor's at one of the
 * addresses is only met where the program's own code runs: when the recorder, which is not translated, calls it. Such
 * an arrival has not been counted, and the walk is given up.
 */
#include "trace/walk.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "trace/internal.h"

#define BEGAN_MOST 256u
#define SLICE_NS 50000000u /* how often the user is asked whether to stop */
#define PAGE 4096u
#define MEMORY ((sizeof(struct replay_walk) + REPLAY_WALK_STACK + PAGE - 1) & ~(uint64_t)(PAGE - 1))
#define END_SLOT (TRACE_SLOTS - 1)

/* As gregs[] of a ucontext. */
static const size_t greg[REPLAY_WALK_REGS] = {
#define REG(name) offsetof(struct user_regs_struct, name)
	REG(r8),  REG(r9),  REG(r10), REG(r11), REG(r12), REG(r13), REG(r14), REG(r15), REG(rdi),
	REG(rsi), REG(rbp), REG(rbx), REG(rdx), REG(rax), REG(rcx), REG(rsp), REG(rip), REG(eflags),
#undef REG
};

/* A thread's state besides its memory. */
struct walk_state {
	struct user_regs_struct r;
	uint8_t x[TRACE_XSTATE_MAX];
	size_t len;
};

void trace_walk_want(struct trace_walk *w, const struct user_regs_struct *r)
{
	for (unsigned i = 0; i < REPLAY_WALK_REGS; i++)
		memcpy(&w->ask.reg[i], (const uint8_t *)r + greg[i], sizeof(w->ask.reg[i]));
}

static int keep(struct trace *t, struct walk_state *s, struct err *e)
{
	s->len = sizeof(s->x);
	return trace_get_regs(t, &s->r, e) || trace_get_xsave(t, s->x, &s->len, e) ? -1 : 0;
}

static int put_back(struct trace *t, const struct walk_state *s, uint64_t rip, struct err *e)
{
	struct iovec v = {(void *)s->x, s->len};
	struct user_regs_struct r = s->r, now;

	/* GS is the translated code's from here on */
	if (trace_get_regs(t, &now, e))
		return -1;
	if (rip != r.rip)
		r.orig_rax = (unsigned long long)-1;
	r.rip = rip;
	r.gs_base = now.gs_base;
	if (trace_set_regs(t, &r, e))
		return -1;
	return ptrace(PTRACE_SETREGSET, t->tid, NT_X86_XSTATE, &v)
		       ? err_errno(e, trace_why_failed(), "set registers of thread %d", (int)t->tid)
		       : 0;
}

static int unmap(struct trace_walk *w, struct trace *t, uint64_t addr, uint64_t len, struct err *e)
{
	const uint64_t args[6] = {addr, len};
	int64_t ret;

	return addr ? trace_syscall(t, w->gadget, SYS_munmap, args, &ret, e) : 0;
}

static int map_memory(struct trace_walk *w, struct trace *t, uint64_t *at, struct err *e)
{
	const uint64_t args[6] = {0, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0};
	int64_t ret;

	if (trace_syscall(t, w->gadget, SYS_mmap, args, &ret, e))
		return -1;
	if (ret < 0 && ret > -4096)
		return err_set(e, ERR_HOST, "no memory in the copy %d", (int)t->pid);
	*at = (uint64_t)ret;
	return trace_write(t->pid, *at, &w->ask, sizeof(w->ask), e);
}

/*
 * Calls the recorder in the thread, on a stack that is apart from the caller's and from what the kernel may write
 * there.
 */
static int call_recorder(struct trace_walk *w, struct trace *t, const struct walk_state *s, uint64_t memory,
			 struct err *e)
{
	struct user_regs_struct r = s->r;

	r.rip = w->enter;
	r.rdi = memory;
	r.rsp = memory + MEMORY;
	r.orig_rax = (unsigned long long)-1;
	r.eflags &= ~0x400ull; /* direction */
	return trace_set_regs(t, &r, e);
}

/* Where the code of the last walks began, to which the recorder returns during them. */
static uint64_t began[BEGAN_MOST];
static unsigned nbegan;

static void note_begin(uint64_t addr)
{
	for (unsigned i = 0; i < nbegan && i < BEGAN_MOST; i++)
		if (began[i] == addr)
			return;
	began[nbegan++ % BEGAN_MOST] = addr;
}

bool trace_walk_had(uint32_t v, unsigned upper)
{
	for (unsigned i = 0; i < nbegan && i < BEGAN_MOST; i++)
		if ((uint32_t)(began[i] >> upper * 32) == v)
			return true;
	return false;
}

static int read_answer(struct trace_walk *w, struct trace *t, uint64_t memory, struct err *e)
{
	return trace_read(t->pid, memory, &w->ask, sizeof(w->ask), e);
}

/* Sets a breakpoint at the goal, for when it is reached in the program's own code. */
static int arm(struct trace_walk *w, struct trace *t, struct err *e)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->ask.places; i++)
		if (trace_set_break(t, n++, w->ask.place[i], e))
			return -1;
	if (w->ask.goal && trace_set_break(t, n++, w->ask.goal, e))
		return -1;
	return trace_set_watch(t, END_SLOT, w->end_watch, 8, e);
}

/* Was the goal's breakpoint hit, and no other one? */
static bool is_at_goal(const struct trace_walk *w, const struct trace_stop *s)
{
	return w->ask.goal && (s->slots & ~(1u << END_SLOT)) == 1u << w->ask.places;
}

static int read_counts(struct trace_walk *w, struct trace *t, struct err *e)
{
	if (trace_read(t->pid, w->ask.count_at, &w->ask.arrivals, 8, e))
		return -1;
	return w->ask.branches_at ? trace_read(t->pid, w->ask.branches_at, &w->ask.branches, 8, e) : 0;
}

/*
 * The thread is in what the recorder has called. The recorder's function is to return to the program then, and not to
 * the translated code: what unwinds the stack sees that as well. false: an older recorder does not say where it
 * returns.
 */
static bool leave_natively(struct trace_walk *w, struct trace *t)
{
	struct {
		uint64_t sp, ret;
	} call;
	uint64_t there;
	struct err ignored;

	if (!w->ask.native_at || trace_read(t->pid, w->ask.native_at, &call, sizeof(call), &ignored))
		return false;
	/* it does not return there if it was not translated code that has called it */
	return !call.sp || trace_read(t->pid, call.sp, &there, sizeof(there), &ignored) || there != w->ask.back ||
	       !trace_write(t->pid, call.sp, &call.ret, sizeof(call.ret), &ignored);
}

#define FAILED (-100)
/* after this many arrivals at the goal's address that were not the goal, gives up: comparing takes long */
#define OUTSIDE_MOST 64

/* The thread is at the goal's address in the program's own code; the registers are not those of translated code. */
static int at_goal_outside(struct trace_walk *w, struct trace *t, struct err *e)
{
	struct walk_tell ignored = {0};
	int r;

	if (!w->ops->is_goal || ++w->met_outside > OUTSIDE_MOST)
		return -WALK_CANNOT;
	if (w->ask.maps > 1)
		note_begin(w->ask.map[0].addr);
	r = w->ops->is_goal(w->ctx, t, &ignored, e);
	if (!r)
		return 0;
	return r < 0 || read_counts(w, t, e) ? FAILED : -WALK_OUTSIDE;
}

static int at_fault(struct trace_walk *w, struct trace *t, uint64_t pc, struct err *e)
{
	int r = w->ops->fault ? w->ops->fault(w->ctx, t, pc, &w->ask.at, e) : 0;

	if (r < 0)
		return FAILED;
	if (r && w->ask.at == pc && !leave_natively(w, t))
		return -WALK_CANNOT;
	return r ? -WALK_LEFT : -WALK_CANNOT;
}

/*
 * What a stop means. 1: the int3; 0: nothing yet; else -enum walk_end, or -100: error. *sig is to be delivered: SIGSYS
 * of a system call by a function which the recorder has called; neither is translated.
 */
static int heard(struct trace_walk *w, struct trace *t, const struct trace_stop *s, int *sig, struct err *e)
{
	struct user_regs_struct r;
	bool over = false;

	if (s->why == TRACE_EXITED)
		return -WALK_CANNOT;
	/* a processor may miss the hit: then the copy waits */
	if (s->slots & 1u << END_SLOT || s->why == TRACE_TIMEOUT) {
		if (w->ops->ended(w->ctx, t, &over, e))
			return FAILED;
		if (over)
			return -WALK_OVER;
	}
	if (s->slots & ~(1u << END_SLOT))
		return w->outside && is_at_goal(w, s) ? at_goal_outside(w, t, e) : -WALK_CANNOT;
	if (s->why != TRACE_SIGNAL)
		return 0;
	if (s->info.si_signo == SIGSYS) {
		*sig = SIGSYS;
		return 0;
	}
	if (trace_get_regs(t, &r, e))
		return FAILED;
	if (trace_is_int3(s) && r.rip - 1 == w->ask.end)
		return 1;
	return trace_is_fault(s) ? at_fault(w, t, r.rip, e) : -WALK_CANNOT;
}

/* Runs until there is something to report. Returns as heard, but never 0. */
static int run(struct trace_walk *w, struct trace *t, struct err *e)
{
	const struct trace_limit slice = {.wall_ns = SLICE_NS, .meanwhile = w->ops->meanwhile, .ctx = w->ctx};
	struct trace_stop s;
	int sig = 0, r;

	do {
		if (trace_cont(t, sig, &slice, &s, e))
			return FAILED;
		sig = 0;
		r = heard(w, t, &s, &sig, e);
		if (!r && w->ops->cancelled && w->ops->cancelled(w->ctx)) {
			err_set(e, ERR_CANCELLED, "interrupted");
			return FAILED;
		}
	} while (!r);
	return r;
}

/* Writes the request into memory that was kept, or into new memory. */
static int request(struct trace_walk *w, struct trace *t, uint64_t *memory, struct err *e)
{
	const uint64_t resume = 1;

	w->ask.start = w->ask.end = 0;
	if (!w->memory) {
		w->ask.branches_at = 0;
		return map_memory(w, t, memory, e);
	}
	*memory = w->memory;
	w->memory = 0;
	return trace_write(t->pid, *memory + offsetof(struct replay_walk, pc), &w->ask.pc, sizeof(w->ask.pc), e) ||
			       trace_write(t->pid, *memory + offsetof(struct replay_walk, resume), &resume,
					   sizeof(resume), e)
		       ? -1
		       : 0;
}

/* Has the recorder prepare. Returns as run; the address of the first stop is not known before. */
static int begin(struct trace_walk *w, struct trace *t, struct walk_state *s, uint64_t *memory, struct err *e)
{
	struct user_regs_struct r;
	struct trace_stop stop;

	if (keep(t, s, e))
		return FAILED;
	w->ask.pc = s->r.rip;
	if (request(w, t, memory, e) || call_recorder(w, t, s, *memory, e) || trace_cont(t, 0, NULL, &stop, e))
		return FAILED;
	if (!t->alive || !trace_is_int3(&stop))
		return -WALK_CANNOT;
	if (trace_get_regs(t, &r, e) || read_answer(w, t, *memory, e))
		return FAILED;
	if (r.rip - 1 != w->ask.end)
		return -WALK_CANNOT;
	return w->ask.start && (!w->ask.watches || w->ask.can_watch) ? 1 : -WALK_LEFT;
}

/* Gives the thread the program's state at the int3. */
static int step_out(struct trace *t, uint64_t rip, bool for_good, struct err *e)
{
	struct user_regs_struct r;

	if (trace_get_regs(t, &r, e))
		return -1;
	r.rip = rip;
	r.orig_rax = (unsigned long long)-1;
	if (for_good)
		r.gs_base = 0;
	return trace_set_regs(t, &r, e);
}

/* The recorder takes this for the goal. 1: it is; 0: it is not, and the walk goes on. */
static int consider(struct trace_walk *w, struct trace *t, uint64_t memory, struct err *e)
{
	struct replay_walk *a = &w->ask;
	struct walk_tell tell = {0};
	int r;

	if (!w->ops->is_goal)
		return 1;
	if (step_out(t, w->ask.at, false, e))
		return -1;
	r = w->ops->is_goal(w->ctx, t, &tell, e);
	if (r)
		return r;
	for (unsigned i = 0; i < tell.n && a->words < REPLAY_WALK_WORDS; i++)
		a->word[a->words++] = tell.v[i];
	if (!tell.n || a->words == REPLAY_WALK_WORDS)
		return err_set(e, ERR_NOT_FOUND, "too many states are alike");
	return trace_write(t->pid, memory, a, sizeof(*a), e) || step_out(t, a->again, false, e) ? -1 : 0;
}

/* Asks for as many changes as the log can hold, and then a stop. */
static void plan_changes(struct trace_walk *w)
{
	uint64_t full = w->told + REPLAY_WALK_LOG - 1;

	if (w->ops->changes)
		w->ask.nth_change = w->last_change && w->last_change < full ? w->last_change : full;
}

static void tell_changes(struct trace_walk *w)
{
	if (w->ops->changes && w->ask.changes > w->told)
		w->ops->changes(w->ctx, &w->ask, w->told);
	w->told = w->ask.changes;
}

int trace_walk_tell(struct trace_walk *w, struct trace *t, struct err *e)
{
	uint64_t changes;

	if (trace_read(t->pid, w->request + offsetof(struct replay_walk, changes), &changes, sizeof(changes), e))
		return -1;
	if (changes == w->told)
		return 0;
	if (read_answer(w, t, w->request, e))
		return -1;
	tell_changes(w);
	return 0;
}

/* At an arrival. 1: it is what was asked for; 0: the log was full, and the walk goes on. */
static int at_nth(struct trace_walk *w, struct trace *t, uint64_t memory, struct err *e)
{
	struct replay_walk *a = &w->ask;

	if (!w->ops->changes || !a->changed_now || a->changes != a->nth_change || a->changes == w->last_change ||
	    (a->nth && a->arrivals == a->nth))
		return 1;
	tell_changes(w);
	plan_changes(w);
	return trace_write(t->pid, memory + offsetof(struct replay_walk, nth_change), &a->nth_change,
			   sizeof(a->nth_change), e) ||
			       step_out(t, a->again, false, e)
		       ? -1
		       : 0;
}

static int go(struct trace_walk *w, struct trace *t, uint64_t memory, struct err *e)
{
	for (;;) {
		int r = run(w, t, e);

		if (r < 0)
			return r;
		if (read_answer(w, t, memory, e))
			return FAILED;
		if (w->ask.state == REPLAY_WALK_LEFT)
			return -WALK_LEFT;
		if (w->ask.state == REPLAY_WALK_FULL) {
			if (w->ops->full(w->ctx, t, e) || step_out(t, w->ask.again, false, e))
				return FAILED;
			continue;
		}
		r = w->ask.state == REPLAY_WALK_NTH ? at_nth(w, t, memory, e) : consider(w, t, memory, e);
		if (r)
			return r > 0 ? -WALK_THERE : e->kind == ERR_NOT_FOUND ? -WALK_CANNOT : FAILED;
	}
}

/* After the segment's end: has the recorder changed the words on its way there? Then it is not known how often. */
static int settle(struct trace_walk *w, struct trace *t, uint64_t memory, struct err *e)
{
	if (read_answer(w, t, memory, e) || read_counts(w, t, e))
		return FAILED;
	for (unsigned i = 0; i < w->ask.watches; i++) {
		struct err gone;
		uint64_t v = 0;

		if (!trace_read(t->pid, w->ask.watch[i].addr, &v, w->ask.watch[i].len, &gone) &&
		    v != w->ask.watch[i].value)
			return -WALK_CANNOT;
	}
	return -WALK_OVER;
}

static int clean_up(struct trace_walk *w, struct trace *t, uint64_t memory, struct err *e)
{
	if (w->ask.maps > 1) /* the last one is no code */
		note_begin(w->ask.map[0].addr);
	for (uint32_t i = 0; i < w->ask.maps && i < REPLAY_WALK_MAPS; i++)
		if (unmap(w, t, w->ask.map[i].addr, w->ask.map[i].len, e))
			return -1;
	return unmap(w, t, memory, MEMORY, e);
}

/* The walk has ended with r: a negated enum walk_end, or FAILED. */
static int finish(struct trace_walk *w, struct trace *t, int r, uint64_t memory, struct err *e)
{
	if (r == -WALK_OVER)
		r = settle(w, t, memory, e);
	if (r == FAILED)
		return -1;
	if (r != -WALK_CANNOT)
		tell_changes(w);
	if (r == -WALK_OVER || r == -WALK_CANNOT || r == -WALK_OUTSIDE)
		return -r;
	if (trace_clear_all(t, e) || step_out(t, w->ask.at, true, e))
		return -1;
	if (r == -WALK_LEFT && w->stays && w->ask.can_resume)
		w->memory = memory;
	else if (clean_up(w, t, memory, e))
		return -1;
	return -r;
}

static int walk_go(struct trace_walk *w, struct trace *t, struct err *e)
{
	struct walk_state s;
	uint64_t memory = 0;
	int r;

	if (!w->enter || w->ask.places + (w->ask.goal != 0) > END_SLOT)
		return WALK_CANNOT;
	w->ask.maps = w->met_outside = 0;
	r = begin(w, t, &s, &memory, e);
	w->request = memory;
	if (r == -WALK_LEFT) /* the walk has not even begun */
		return put_back(t, &s, s.r.rip, e) || clean_up(w, t, memory, e) ? -1 : WALK_LEFT;
	if (r == 1)
		r = put_back(t, &s, w->ask.start, e) || arm(w, t, e) ? FAILED : go(w, t, memory, e);
	return finish(w, t, r, memory, e);
}

int trace_walk_on(struct trace_walk *w, struct trace *t, struct err *e)
{
	return finish(w, t, go(w, t, w->request, e), w->request, e);
}

int trace_walk_go(struct trace_walk *w, struct trace *t, struct err *e)
{
	int r;

	w->told = 0;
	w->last_change = w->ask.nth_change;
	plan_changes(w);
	r = walk_go(w, t, e);
	w->ask.nth_change = w->last_change; /* the next call begins with it */
	return r;
}
