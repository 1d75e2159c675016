/* SPDX-License-Identifier: MIT */
/*
 * condition.h: the conditions of a breakpoint as GDB compiled them (agent expression bytecode, agent/agent.h),
 * evaluated on a stopped thread: GDB is not asked when they are false.
 */
#ifndef FRED_VISIBILITY_CONDITION_H
#define FRED_VISIBILITY_CONDITION_H

#include "trace/trace.h"

struct cond {
	uint8_t *code;
	size_t len;
};

struct conds {
	unsigned n;
	struct cond *v;
};

void conds_fini(struct conds *c);
/* Copies the code. */
void conds_add(struct conds *c, const uint8_t *code, size_t len);
void conds_copy(struct conds *to, const struct conds *from);
/*
 * Is one of them true, or are there none? A condition that cannot be evaluated counts as true: the debugger then
 * evaluates it, and says what is wrong.
 */
bool conds_hold(const struct conds *c, struct trace *t);
/* Does one of them read registers? */
bool conds_read_registers(const struct conds *c);
/* The value of a general register by GDB's number. Returns 0, or -1: it is not one of these. */
int conds_register(const struct user_regs_struct *regs, unsigned regno, uint64_t *value);

#endif
