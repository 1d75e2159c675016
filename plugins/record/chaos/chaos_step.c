/* SPDX-License-Identifier: MIT */
/*
 * chaos_step.c: --sched chaos: interrupts a computation between the program's calls, at an instruction: the trap flag
 * stops its thread at each instruction after an event, until it is about to access memory that may be shared, and
 * chaos.c decides to interrupt it there. Between two such accesses, an interruption would make no difference to other
 * threads.
 *
 * The place is recorded by its address and the number of passes since the event (struct point, hits), which a replay
 * counts by a hardware breakpoint (seek.c): that is exact, and does not depend on time. So only instructions are used
 * that a replay passes equally often: not those of the recorder, nor of libc and the dynamic linker, which hold locks
 * that make no event; nor code that they call while they hold a lock (constructors of a library).
 *
 * One thread at a time runs, so there is one such computation. The next call into the recorder ends it.
 */
#include "record/chaos/interrupts.h"
#include "record/core/memory.h"
#include "record/core/own_stack.h"
#include "record/core/real.h"
#include "record/core/sigaction.h"
#include "record/core/state.h"
#include "record/core/task.h"
#include "record/dbt/insn.h"
#include "record/preempt/interrupt.h"
#include "record/preempt/point.h"
#include "record/sched/chaos.h"
#include "record/sched/gil.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/auxv.h>

#define FLAG_TRACE 0x100
#define MAX_PATH 1024u /* accesses in one computation */
#define MAX_STEPS 4096u /* steps in one computation */
#define MAX_ALL 60000u /* steps in a process; each takes some microseconds */
#define STACK_BYTES (1ull << 20) /* memory from the stack pointer on is not shared, as a rule */

struct text {
	uint64_t lo, hi;
};

static struct {
	int usable;
	struct text skip[2]; /* libc, the dynamic linker */
	uint32_t all;
	struct thr *t; /* the thread whose computation is stepped; NULL: none */
	const uint8_t *cur; /* the end of its log, at the start */
	uint32_t steps, n;
	const uint8_t *last; /* the instruction that it is executing; NULL: not known */
	int outside; /* it has left the recorder */
	int spins; /* it has executed a PAUSE, as a thread does that waits for another one's write */
	uint64_t path[MAX_PATH];
} step;

/* ---- where not to stop ---- */

static struct text text_of(uint64_t base)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)base;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(base + e->e_phoff);

	for (unsigned i = 0; i < e->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && (p[i].p_flags & PF_X))
			return (struct text){base + p[i].p_vaddr, base + p[i].p_vaddr + p[i].p_memsz};
	return (struct text){0, 0};
}

void step_init(void)
{
	uint64_t ld = getauxval(AT_BASE);
	Dl_info libc;

	step.t = 0;
	step.all = 0;
	if (!step.skip[0].hi && ld && REAL(dladdr)((void *)REAL(pthread_mutex_lock), &libc)) {
		step.skip[0] = text_of((uint64_t)libc.dli_fbase);
		step.skip[1] = text_of(ld);
	}
	step.usable = step.skip[0].hi && step.skip[1].hi && !point_traced(); /* a debugger steps the program itself */
}

static int is_place(const struct thr *t, const ucontext_t *uc)
{
	uint64_t pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];

	if (t->depth || interrupt_in_shim(uc))
		return 0;
	for (unsigned i = 0; i < 2; i++)
		if (pc >= step.skip[i].lo && pc < step.skip[i].hi)
			return 0;
	return !point_in_middle(uc);
}

/* ---- the computation ---- */

uint64_t step_address(const ucontext_t *uc, uint64_t pc)
{
	static const uint8_t order[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
					REG_R8,	 REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
	const greg_t *g = uc->uc_mcontext.gregs;
	uint64_t reg[sizeof(order)];
	struct insn i;

	insn_decode((const uint8_t *)pc, &i);
	for (unsigned k = 0; k < sizeof(order); k++)
		reg[k] = (uint64_t)g[order[k]];
	return insn_address((const uint8_t *)pc, &i, reg);
}

int step_is_shared(const ucontext_t *uc, uint64_t a)
{
	return a - ((uint64_t)uc->uc_mcontext.gregs[REG_RSP] - RED_ZONE) >= STACK_BYTES;
}

/* The thread is about to execute this instruction. 1: it is interrupted before. */
static int look_at(const struct thr *t, const ucontext_t *uc)
{
	const greg_t *g = uc->uc_mcontext.gregs;
	uint64_t a;

	if (!is_place(t, uc))
		return 0;
	a = step_address(uc, (uint64_t)g[REG_RIP]);
	if (!a)
		return 0;
	step.path[step.n++] = (uint64_t)g[REG_RIP];
	/* does it wait for what another one writes? */
	if (step.n == MAX_PATH || step.spins)
		return 1;
	return step_is_shared(uc, a) && chaos_stops((uint64_t)g[REG_RIP]);
}

/* Sets the trap flag by popf: the instruction after the next one traps first. */
void step_flag(void);
__asm__(".text\n.type step_flag, @function\n"
	"step_flag:\n"
	"	pushfq\n"
	"	orq $0x100, (%rsp)\n"
	"	popfq\n"
	"	ret\n"
	".size step_flag, .-step_flag\n");

int step_lets_in(const struct thr *t)
{
	return G.mt && t->gil.on && !t->nheld && !t->handlers && !t->exited && !sig_has_handler(SIGTRAP) &&
	       !gil_lets_compute();
}

static void begin(struct thr *t, ucontext_t *uc, uint64_t interrupted)
{
	uint64_t trap = 1ull << (SIGTRAP - 1), mask;

	step.t = 0;
	if (!step.usable || step.all > MAX_ALL || !step_lets_in(t) || !chaos_watches(t, interrupted))
		return;
	if (uc)
		__builtin_memcpy(&mask, &uc->uc_sigmask, 8);
	else
		raw4(SYS_rt_sigprocmask, SIG_BLOCK, 0, &mask, 8);
	if (mask & trap) /* it would kill */
		return;
	step.t = t;
	step.cur = t->log.cur;
	step.steps = step.n = 0;
	step.outside = step.spins = 0;
	step.last = uc ? (const uint8_t *)uc->uc_mcontext.gregs[REG_RIP] : 0;
	if (!uc) {
		step_flag();
		return;
	}
	uc->uc_mcontext.gregs[REG_EFL] |= FLAG_TRACE;
	look_at(t, uc); /* the thread comes here without a step: it cannot be stopped here, as an event ends here */
}

void step_begin(struct thr *t, ucontext_t *uc)
{
	begin(t, uc, 0);
}

void step_resumes(struct thr *t, ucontext_t *uc)
{
	begin(t, uc, (uint64_t)uc->uc_mcontext.gregs[REG_RIP]);
}

int step_runs(const struct thr *t)
{
	return step.t == t;
}

void step_cancel(ucontext_t *uc)
{
	if (step.t == self)
		task_not_computing(self);
	step.t = 0;
	uc->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)FLAG_TRACE;
}

/* Leaves out the recorder's code that clears the stack, which would be a step for each word. */
static void skip_wiping(ucontext_t *uc)
{
	static const uint8_t rep_stosq[] = {0xf3, 0x48, 0xab};
	greg_t *g = uc->uc_mcontext.gregs;
	volatile uint64_t *at = (volatile uint64_t *)g[REG_RDI];

	if (!interrupt_in_shim(uc) || __builtin_memcmp((const void *)g[REG_RIP], rep_stosq, sizeof(rep_stosq)))
		return;
	for (; g[REG_RCX]; g[REG_RCX]--)
		*at++ = (uint64_t)g[REG_RAX];
	g[REG_RDI] = (greg_t)at;
	g[REG_RIP] += (greg_t)sizeof(rep_stosq);
}

/* Is the thread in the recorder again? */
static int has_called(const struct thr *t, const ucontext_t *uc)
{
	step.outside |= !t->depth && !interrupt_in_shim(uc);
	return step.outside && interrupt_in_shim(uc);
}

static int is_pause(const uint8_t *p)
{
	return p && p[0] == 0xf3 && p[1] == 0x90;
}

static uint64_t count_hits(uint64_t pc)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < step.n; i++)
		n += step.path[i] == pc;
	return n;
}

/* Does the trap come from a step or breakpoint of the recorder that has ended? The program must not see it. */
static int is_stray(const siginfo_t *si, const ucontext_t *uc)
{
	const uint8_t *pc = (const uint8_t *)uc->uc_mcontext.gregs[REG_RIP];

	return G.chaos && step.usable && sys_readable(pc - 1, 1) &&
	       insn_stray_trap(si->si_code, (uint64_t)uc->uc_mcontext.gregs[REG_EFL], pc[-1]);
}

int step_trap(siginfo_t *si, ucontext_t *uc)
{
	struct thr *t = self;

	if (!t || !insn_stepped(si->si_code, (uint64_t)uc->uc_mcontext.gregs[REG_EFL], step.t == t ? step.last : 0))
		return t && is_stray(si, uc);
	if (step.t != t || step.cur != t->log.cur || ++step.steps > MAX_STEPS || has_called(t, uc)) {
		step_cancel(uc);
		return 1;
	}
	step.all++;
	skip_wiping(uc);
	step.spins |= is_pause(step.last) && !interrupt_in_shim(uc);
	step.last = (const uint8_t *)uc->uc_mcontext.gregs[REG_RIP];
	if (!look_at(t, uc))
		return 1;
	t->chaos.place_hits = count_hits(step.path[step.n - 1]);
	step_cancel(uc);
	interrupt_take(t, uc);
	return 1;
}
