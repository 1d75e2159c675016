/* SPDX-License-Identifier: MIT */
/* rep.c: see rep.h. Intel SDM vol. 2, "REP/REPE/REPZ/REPNE/REPNZ". */
#include "trace/rep.h"

#include <sys/ptrace.h>

#include "trace/internal.h"

#define RESUME_FLAG 0x10000ull
#define INSN_MAX    15
#define LAST	    (TRACE_SLOTS - 1)

/* How long the instruction in these n bytes is, if it is a repeated one; else 0. */
static unsigned repeated(const uint8_t *code, unsigned n)
{
	bool rep = false;
	unsigned i = 0;

	for (; i < n; i++) {
		uint8_t b = code[i];

		if (b == 0xf2 || b == 0xf3)
			rep = true;
		else if (b != 0x66 && b != 0x67 && b != 0x2e && b != 0x36 && b != 0x3e &&
			 b != 0x26 && b != 0x64 && b != 0x65 && (b & 0xf0) != 0x40)
			break;
	}
	if (!rep || i == n)
		return 0;
	/* movs, cmps; stos, lods, scas */
	return (code[i] >= 0xa4 && code[i] <= 0xa7) || (code[i] >= 0xaa && code[i] <= 0xaf) ? i + 1
											    : 0;
}

uint64_t trace_in_rep(pid_t pid, const struct user_regs_struct *r)
{
	uint8_t code[INSN_MAX];
	struct err ignored;
	unsigned n = sizeof(code), len;

	if (!(r->eflags & RESUME_FLAG) || !r->rcx)
		return 0;
	while (n && trace_read(pid, r->rip, code, n, &ignored))
		n--; /* a mapping ends there */
	len = repeated(code, n);
	return len ? r->rip + len : 0;
}

static int clear_resume_flag(struct trace *t, struct err *e)
{
	struct user_regs_struct r;

	if (trace_get_regs(t, &r, e))
		return -1;
	r.eflags &= ~RESUME_FLAG;
	return trace_set_regs(t, &r, e);
}

/* On to the address behind it, at which a breakpoint is. */
static int run_to(struct trace *t, struct trace_stop *s, struct err *e)
{
	struct trace_stop now;

	for (;;) {
		if (trace_cont(t, 0, NULL, &now, e))
			return -1;
		if (now.why == TRACE_HIT && now.slots & 1u << LAST)
			break;
		s->slots |= now.slots;
		if (now.why == TRACE_HIT || now.why == TRACE_TIMEOUT)
			continue;
		now.slots = s->slots;
		*s = now;
		return 0;
	}
	s->slots |= now.slots & ~(1u << LAST);
	return clear_resume_flag(t, e);
}

static int set_mask(struct trace *t, uint64_t mask, struct err *e)
{
	return ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(mask), &mask)
		       ? err_errno(e, ERR_INTERNAL, "the signal mask of thread %d", (int)t->tid)
		       : 0;
}

/* What it raises itself is not held up. */
static int run_undisturbed(struct trace *t, struct trace_stop *s, struct err *e)
{
	const uint64_t faults =
		1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) | 1ull << (SIGTRAP - 1);
	uint64_t was;
	int r;

	if (ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(was), &was))
		return err_errno(e, ERR_INTERNAL, "the signal mask of thread %d", (int)t->tid);
	if (set_mask(t, ~faults, e))
		return -1;
	r = run_to(t, s, e);
	return t->alive && set_mask(t, was, e) ? -1 : r;
}

int trace_finish_rep(struct trace *t, struct trace_stop *s, struct err *e)
{
	uint64_t dr = t->dr[LAST], dr7 = t->dr7, behind;
	struct user_regs_struct r;
	int got;

	if (!t->alive || (s->why != TRACE_HIT && s->why != TRACE_STEPPED))
		return 0;
	if (trace_get_regs(t, &r, e))
		return -1;
	behind = trace_in_rep(t->pid, &r);
	if (!behind)
		return 0;
	if (trace_set_break(t, LAST, behind, e))
		return -1;
	got = run_undisturbed(t, s, e);
	return t->alive && trace_restore_slot(t, LAST, dr, dr7, e) ? -1 : got;
}
