/* SPDX-License-Identifier: MIT */
/*
 * tsc.c: the program's own rdtsc and rdtscp, rdrand, rdseed, rdpid and cpuid: each is an event.
 *
 * Those that stand in the text of programs and libraries are changed so that they fault (patch.c). In serial
 * recordings the kernel raises SIGSEGV for each rdtsc of a thread, wherever it is (PR_SET_TSC). The recorder's stamps
 * cannot use it then either: they come from the clock, in the unit of the TSC. In a parallel recording that would be
 * too slow: there the counter is not recorded in code that is written into executable memory.
 *
 * New threads and processes inherit the setting, and it survives an exec; a checkpoint does not keep it.
 */
#include "record/core/own_stack.h"
#include "record/core/state.h"
#include "record/core/tsc_clock.h"
#include "record/event/ev.h"
#include "record/input/input.h"
#include "record/sched/gil.h"

#include <cpuid.h>
#include <time.h>
#include <ucontext.h>

long tsc_set(struct thr *t, long how)
{
	if (how != TSC_READABLE && how != TSC_FAULTS)
		return -22; /* EINVAL */
	/* the recorder's own stamps must do without it */
	if (how == TSC_FAULTS && G.mode == SHIM_REPLAY)
		gil_start_replay(t);
	else if (how == TSC_FAULTS)
		gil_start_now(t);
	t->tsc_faults = how == TSC_FAULTS;
	return 0;
}

/* ---- instructions that fault ---- */

enum input_kind { INPUT_NONE, INPUT_TSC, INPUT_TSCP, INPUT_RAND, INPUT_SEED, INPUT_PID, INPUT_CPUID };

struct input {
	enum input_kind kind;
	unsigned len, width; /* bytes: of the instruction, of its register */
	unsigned reg; /* as the processor numbers them */
};

struct result {
	uint64_t value; /* of cpuid: eax, and ebx above it */
	uint32_t more[2]; /* the processor, or whether there was a number; of cpuid: ecx and edx */
};

/* As the processor has them, and as patch.c changes them. */
static struct input input_at(const uint8_t *pc)
{
	struct input in = {.width = 4};
	const uint8_t *p = pc;
	int f3 = 0;

	for (; *p == 0x66 || *p == 0xf3; p++) {
		f3 |= *p == 0xf3;
		in.width = *p == 0x66 ? 2 : in.width;
	}
	if ((*p & 0xf0) == 0x40) {
		in.reg = *p & 1 ? 8 : 0;
		in.width = *p & 8 ? 8 : in.width;
		p++;
	}
	if (*p++ != 0x0f)
		return in;
	if (*p == 0x31 || *p == 0x30)
		in.kind = INPUT_TSC;
	else if ((p[0] == 0x01 && p[1] == 0xf9) || (p[0] == 0x32 && p[1] == 0x01))
		in.kind = INPUT_TSCP;
	else if (*p == 0x32 && p[1] >= 0xf0)
		in.kind = p[1] < 0xf8 ? INPUT_RAND : f3 ? INPUT_PID : INPUT_SEED;
	else if (*p == 0x09)
		in.kind = INPUT_CPUID;
	if (in.kind >= INPUT_RAND && in.kind != INPUT_CPUID)
		in.reg |= p[1] & 7;
	if (in.kind == INPUT_PID)
		in.width = 8;
	in.len = (unsigned)(p - pc) + (in.kind == INPUT_TSC || in.kind == INPUT_CPUID ? 1 : 2);
	return in;
}

static uint64_t tsc_now(void)
{
	return G.no_tsc ? tsc_by_clock() : __builtin_ia32_rdtsc();
}

#define DRAW(name)                                                                                                     \
	static uint32_t name(unsigned width, uint64_t *to)                                                             \
	{                                                                                                              \
		uint16_t h = 0;                                                                                        \
		uint32_t w = 0;                                                                                        \
		uint64_t d = 0;                                                                                        \
		uint8_t ok;                                                                                            \
                                                                                                                       \
		if (width == 2)                                                                                        \
			__asm__ volatile(#name " %0; setc %1" : "=r"(h), "=qm"(ok)::"cc");                             \
		else if (width == 4)                                                                                   \
			__asm__ volatile(#name " %0; setc %1" : "=r"(w), "=qm"(ok)::"cc");                             \
		else                                                                                                   \
			__asm__ volatile(#name " %0; setc %1" : "=r"(d), "=qm"(ok)::"cc");                             \
		*to = h | w | d;                                                                                       \
		return ok;                                                                                             \
	}
DRAW(rdrand)
DRAW(rdseed)

/* What cpuid gives differs between the processors of a machine: their numbers, and how they share caches. */
static struct result cpuid_now(const greg_t *g)
{
	uint32_t a, b;
	struct result r;

	__cpuid_count((uint32_t)g[REG_RAX], (uint32_t)g[REG_RCX], a, b, r.more[0], r.more[1]);
	r.value = (uint64_t)b << 32 | a;
	return r;
}

/* The instruction's present result. */
static struct result input_now(const struct input *in, const greg_t *g)
{
	uint32_t cpu = 0, node = 0;
	struct result r = {0};

	switch (in->kind) {
	case INPUT_CPUID:
		return cpuid_now(g);
	case INPUT_RAND:
		r.more[0] = rdrand(in->width, &r.value);
		return r;
	case INPUT_SEED:
		r.more[0] = rdseed(in->width, &r.value);
		return r;
	default:
		raw3(SYS_getcpu, &cpu, &node, 0);
		r.more[0] = in->kind == INPUT_PID ? 1 : cpu;
		r.value = in->kind == INPUT_PID ? (node << 12 | cpu) : tsc_now();
		return r;
	}
}

static struct result result_of(struct thr *t, const struct input *in, const greg_t *g)
{
	int cpuid = in->kind == INPUT_CPUID;
	uint64_t len = cpuid ? 8 : 4, got = len;
	struct result r = {0};
	int64_t ret = 0;
	const uint8_t *p;

	ev(t, RLOG_CALL, 0, cpuid ? RLOG_CALL_CPUID : in->kind >= INPUT_RAND ? RLOG_CALL_RANDOM : RLOG_CALL_TSC, 0);
	ev_done(t);
	if (G.mode != SHIM_REPLAY) {
		r = input_now(in, g);
		ret = (int64_t)r.value;
		ev_callret(t, &ret, r.more, &len);
	} else if (G.mode == SHIM_REPLAY) {
		p = ev_callret(t, &ret, 0, &got);
		if (p && got == len)
			__builtin_memcpy(r.more, p, len);
		r.value = (uint64_t)ret;
	}
	return r;
}

#define FLAG_CARRY 1ll
#define FLAG_RESUME (1ll << 16) /* set where a fault is met, cleared when the instruction is done */
#define FLAGS_CLEARED (FLAG_CARRY | 4 | 16 | 64 | 128 | 2048) /* by rdrand: parity, adjust, zero, sign, overflow */

static void give(greg_t *g, const struct input *in, const struct result *r)
{
	static const uint8_t regs[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
					 REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
	greg_t *to = &g[regs[in->reg]], low = (greg_t)(r->value & 0xffffffffu), high = (greg_t)(r->value >> 32);

	if (in->kind == INPUT_CPUID) {
		g[REG_RAX] = low;
		g[REG_RBX] = high;
		g[REG_RCX] = r->more[0];
		g[REG_RDX] = r->more[1];
		return;
	}
	if (in->kind < INPUT_RAND) {
		g[REG_RAX] = low;
		g[REG_RDX] = high;
		if (in->kind == INPUT_TSCP)
			g[REG_RCX] = r->more[0];
		return;
	}
	*to = in->width == 2 ? (greg_t)(((uint64_t)*to & ~0xffffull) | r->value) : (greg_t)r->value;
	if (in->kind != INPUT_PID)
		g[REG_EFL] = (g[REG_EFL] & ~FLAGS_CLEARED) | (r->more[0] ? FLAG_CARRY : 0);
}

int tsc_fault(void *ucv)
{
	greg_t *g = ((ucontext_t *)ucv)->uc_mcontext.gregs;
	const uint8_t *pc = (const uint8_t *)g[REG_RIP];
	struct input in = input_at(pc);
	int tsc = in.kind == INPUT_TSC || in.kind == INPUT_TSCP;
	struct result r;
	struct thr *t;

	if (tsc && self && self->tsc_faults && !self->depth)
		return 0;
	if (in.kind == INPUT_NONE || !(G.patched || (G.no_tsc && tsc)))
		return 0;
	t = shim_enter();
	if (!t && G.mode == SHIM_OFF && G.no_tsc && tsc && (pc[1] == 0x31 || pc[1] == 0x01)) {
		tsc_release();
		return 1;
	}
	/* as after a system call: while the event is waited for, this is where the program goes on, and a breakpoint
	 * there is met */
	g[REG_RIP] += in.len;
	g[REG_EFL] &= ~FLAG_RESUME;
	if (t)
		own_stack_enter(t, ucv);
	r = t ? result_of(t, &in, g) : input_now(&in, g);
	give(g, &in, &r);
	if (t)
		shim_leave(t);
	return 1;
}
