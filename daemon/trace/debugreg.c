/* SPDX-License-Identifier: MIT */
/*
 * debugreg.c: hardware watchpoints and breakpoints through the debug registers (Intel SDM vol. 3,
 * "Debug Registers"; the kernel checks the values). DR7 has for slot i an enable bit 2i, and at
 * 16 + 4i two bits of kind (0 execute, 1 write, 3 any access) and two of length (0: 1, 1: 2, 3: 4, 2: 8 bytes).
 */
#include "trace/internal.h"
#include <errno.h>
#include <stddef.h>
#include <sys/ptrace.h>

static void *debug_offset(unsigned i)
{
	return (void *)(offsetof(struct user, u_debugreg) + i * sizeof(unsigned long));
}

int trace_peek_debug(struct trace *t, unsigned i, unsigned long *v, struct err *e)
{
	errno = 0;
	*v = (unsigned long)ptrace(PTRACE_PEEKUSER, t->tid, debug_offset(i), 0);
	if (errno)
		return err_errno(e, trace_why_failed(), "read debug register %u of thread %d", i, (int)t->tid);
	return 0;
}

int trace_poke_debug(struct trace *t, unsigned i, unsigned long v, struct err *e)
{
	if (ptrace(PTRACE_POKEUSER, t->tid, debug_offset(i), v))
		return err_errno(e, errno == ESRCH ? ERR_KILLED : ERR_HOST, "set debug register %u of thread %d", i,
				 (int)t->tid);
	return 0;
}

static int set_dr7(struct trace *t, uint64_t dr7, struct err *e)
{
	if (dr7 == t->dr7)
		return 0;
	if (trace_poke_debug(t, 7, dr7, e))
		return -1;
	t->dr7 = dr7;
	return 0;
}

static uint64_t slot_bits(unsigned slot)
{
	return 3ull << (2 * slot) | 15ull << (16 + 4 * slot);
}

static int set_slot(struct trace *t, unsigned slot, uint64_t addr, unsigned kind, unsigned len_bits, struct err *e)
{
	uint64_t on = 1ull << (2 * slot) | (uint64_t)(kind | len_bits << 2) << (16 + 4 * slot);
	uint64_t dr7 = (t->dr7 & ~slot_bits(slot)) | on;

	if (slot >= TRACE_SLOTS)
		return err_set(e, ERR_INTERNAL, "no debug register %u", slot);
	if (dr7 == t->dr7 && t->dr[slot] == addr)
		return 0;
	/* off first: the kernel checks address and length together */
	if (set_dr7(t, t->dr7 & ~slot_bits(slot), e) || trace_poke_debug(t, slot, addr, e))
		return -1;
	t->dr[slot] = addr;
	return set_dr7(t, dr7, e);
}

int trace_restore_slot(struct trace *t, unsigned slot, uint64_t addr, uint64_t dr7, struct err *e)
{
	if (set_dr7(t, t->dr7 & ~slot_bits(slot), e) || trace_poke_debug(t, slot, addr, e))
		return -1;
	t->dr[slot] = addr;
	return set_dr7(t, dr7, e);
}

static int set_data(struct trace *t, unsigned slot, unsigned kind, uint64_t addr, unsigned len, struct err *e)
{
	static const unsigned bits[9] = {[1] = 0, [2] = 1, [4] = 3, [8] = 2};

	if ((len != 1 && len != 2 && len != 4 && len != 8) || addr % len)
		return err_set(e, ERR_INTERNAL, "cannot watch %u bytes at 0x%llx", len, (unsigned long long)addr);
	return set_slot(t, slot, addr, kind, bits[len], e);
}

int trace_set_watch(struct trace *t, unsigned slot, uint64_t addr, unsigned len, struct err *e)
{
	return set_data(t, slot, 1, addr, len, e);
}

int trace_set_access(struct trace *t, unsigned slot, uint64_t addr, unsigned len, struct err *e)
{
	return set_data(t, slot, 3, addr, len, e);
}

int trace_set_break(struct trace *t, unsigned slot, uint64_t addr, struct err *e)
{
	return set_slot(t, slot, addr, 0, 0, e);
}

int trace_clear(struct trace *t, unsigned slot, struct err *e)
{
	return set_dr7(t, t->dr7 & ~slot_bits(slot), e);
}

int trace_clear_all(struct trace *t, struct err *e)
{
	return set_dr7(t, 0, e);
}
