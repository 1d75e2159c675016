/* SPDX-License-Identifier: MIT */
/* rep.c: see rep.h. Intel SDM vol. 2, "REP/REPE/REPZ/REPNE/REPNZ". */
#include "trace/rep.h"

#include <sys/ptrace.h>

#include "trace/internal.h"

#define RESUME_FLAG 0x10000ull
#define DIRECTION_FLAG 0x400ull
#define SLOT_EXECUTE 0 /* types of slots, in DR7 */
#define SLOT_ACCESS 3
#define INSN_MAX 15
#define LAST (TRACE_SLOTS - 1)
#define SLICE_NS 100000000u /* after this time, checks whether the thread is still in the instruction */

/* A repeated string instruction. */
struct rep {
	unsigned len; /* bytes of its code */
	unsigned size; /* of an element, in bytes */
	bool from_si, at_di, stores; /* it reads at rsi; it reads or writes at rdi; it writes there */
};

struct string_op {
	uint8_t byte; /* the opcode for single bytes; that for other sizes is one more */
	bool from_si, at_di, stores;
};

static const struct string_op string_ops[] = {
	{0xa4, true, true, true}, /* movs */
	{0xa6, true, true, false}, /* cmps */
	{0xaa, false, true, true}, /* stos */
	{0xac, true, false, false}, /* lods */
	{0xae, false, true, false}, /* scas */
};

static bool is_prefix(uint8_t b)
{
	return b == 0xf2 || b == 0xf3 || b == 0x66 || b == 0x67 || b == 0x2e || b == 0x36 || b == 0x3e || b == 0x26 ||
	       b == 0x64 || b == 0x65 || (b & 0xf0) == 0x40;
}

/* Is there such an instruction in these n bytes? */
static bool decode(const uint8_t *code, unsigned n, struct rep *out)
{
	bool repeated = false, wide = false, half = false;
	unsigned i = 0;

	for (; i < n && is_prefix(code[i]); i++) {
		repeated |= code[i] == 0xf2 || code[i] == 0xf3;
		half |= code[i] == 0x66;
		wide = (code[i] & 0xf8) == 0x48;
	}
	if (!repeated || i == n)
		return false;
	for (unsigned k = 0; k < sizeof(string_ops) / sizeof(string_ops[0]); k++) {
		const struct string_op *op = &string_ops[k];

		if ((code[i] & 0xfe) != op->byte)
			continue;
		*out = (struct rep){
			.len = i + 1,
			.size = !(code[i] & 1) ? 1
				: wide	       ? 8
				: half	       ? 2
					       : 4,
			.from_si = op->from_si,
			.at_di = op->at_di,
			.stores = op->stores,
		};
		return true;
	}
	return false;
}

/* Is such an instruction at the PC, with elements left? */
static bool find(pid_t pid, const struct user_regs_struct *r, struct rep *out)
{
	uint8_t code[INSN_MAX];

	return r->rcx && decode(code, (unsigned)trace_read_some(pid, r->rip, code, sizeof(code)), out);
}

bool trace_at_rep(pid_t pid, const struct user_regs_struct *r)
{
	struct rep rep;

	return find(pid, r, &rep);
}

static bool is_stepped_in(const struct trace *t, const struct user_regs_struct *r)
{
	return r->eflags & RESUME_FLAG || r->rip == t->stepped_from;
}

bool trace_in_rep(const struct trace *t, const struct user_regs_struct *r)
{
	struct rep rep;

	return is_stepped_in(t, r) && find(t->pid, r, &rep);
}

/* Type and length of a slot in DR7: Intel SDM vol. 3, "Debug Control Register". */
static unsigned slot_type(const struct trace *t, unsigned slot)
{
	return (unsigned)(t->dr7 >> (16 + 4 * slot)) & 3;
}

static unsigned slot_len(const struct trace *t, unsigned slot)
{
	static const unsigned len[] = {1, 2, 8, 4};

	return len[(t->dr7 >> (18 + 4 * slot)) & 3];
}

/* Does the element before `index` overlap [addr, addr + len)? */
static bool is_done_at(const struct rep *rep, uint64_t index, bool down, uint64_t addr, unsigned len)
{
	uint64_t at = down ? index + rep->size : index - rep->size;

	return at < addr + len && addr < at + rep->size;
}

/* Were the slots hit by an element of the instruction, and not by the instruction before it? */
static bool is_hit_in(const struct trace *t, unsigned slots, const struct user_regs_struct *r, const struct rep *rep)
{
	bool down = r->eflags & DIRECTION_FLAG;

	for (unsigned i = 0; i < TRACE_SLOTS; i++) {
		unsigned type = slot_type(t, i), len = slot_len(t, i);

		if (!(slots & 1u << i) || type == SLOT_EXECUTE)
			continue;
		if (r->eflags & RESUME_FLAG)
			return true;
		if (rep->at_di && (rep->stores || type == SLOT_ACCESS) && is_done_at(rep, r->rdi, down, t->dr[i], len))
			return true;
		if (rep->from_si && type == SLOT_ACCESS && is_done_at(rep, r->rsi, down, t->dr[i], len))
			return true;
	}
	return false;
}

static int missed(struct err *e)
{
	return err_set(e, ERR_INTERNAL,
		       "the debug registers of this processor have missed the end of a string instruction: try again");
}

/* Runs from inside the instruction at pc to `end`, the address after it, where a breakpoint is. */
static int run_to(struct trace *t, uint64_t pc, uint64_t end, struct trace_stop *s, struct err *e)
{
	static const struct trace_limit slice = {.wall_ns = SLICE_NS};
	struct user_regs_struct r;
	struct trace_stop now;

	for (;;) {
		if (trace_cont(t, 0, &slice, &now, e))
			return -1;
		/* the shim's signal for a system call is blocked here */
		if (!t->alive && WIFSIGNALED(now.status) && WTERMSIG(now.status) == SIGSYS)
			return missed(e);
		if (t->alive && trace_get_regs(t, &r, e))
			return -1;
		if (t->alive && r.rip != pc && r.rip != end)
			return missed(e);
		s->slots |= now.slots & ~(1u << LAST);
		if (now.why != TRACE_HIT && now.why != TRACE_TIMEOUT)
			break;
		if (r.rip == end) {
			r.eflags &= ~RESUME_FLAG;
			return trace_set_regs(t, &r, e);
		}
	}
	now.slots = s->slots;
	*s = now;
	return 0;
}

static int set_mask(struct trace *t, uint64_t mask, struct err *e)
{
	return ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(mask), &mask)
		       ? err_errno(e, trace_why_failed(), "the signal mask of thread %d", (int)t->tid)
		       : 0;
}

/* As run_to, with signals blocked, except those that the instruction itself raises. */
static int run_undisturbed(struct trace *t, uint64_t pc, uint64_t end, struct trace_stop *s, struct err *e)
{
	const uint64_t faults = 1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) | 1ull << (SIGTRAP - 1);
	uint64_t was;
	int r;

	if (ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(was), &was))
		return err_errno(e, trace_why_failed(), "the signal mask of thread %d", (int)t->tid);
	if (set_mask(t, ~faults, e))
		return -1;
	r = run_to(t, pc, end, s, e);
	return t->alive && set_mask(t, was, e) ? -1 : r;
}

int trace_finish_rep(struct trace *t, struct trace_stop *s, struct err *e)
{
	uint64_t dr = t->dr[LAST], dr7 = t->dr7;
	struct user_regs_struct r;
	struct rep rep;
	int got;

	if (!t->alive || (s->why != TRACE_HIT && s->why != TRACE_STEPPED))
		return 0;
	if (trace_get_regs(t, &r, e))
		return -1;
	if (!find(t->pid, &r, &rep) ||
	    !(s->why == TRACE_STEPPED ? is_stepped_in(t, &r) : is_hit_in(t, s->slots, &r, &rep)))
		return 0;
	if (trace_set_break(t, LAST, r.rip + rep.len, e))
		return -1;
	got = run_undisturbed(t, r.rip, r.rip + rep.len, s, e);
	return t->alive && trace_restore_slot(t, LAST, dr, dr7, e) ? -1 : got;
}
