/* SPDX-License-Identifier: MIT */
/* condition.c: see condition.h. */
#include "visibility/condition.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/str.h"

void conds_fini(struct conds *c)
{
	for (unsigned i = 0; i < c->n; i++)
		free(c->v[i].code);
	free(c->v);
	memset(c, 0, sizeof(*c));
}

void conds_add(struct conds *c, const uint8_t *code, size_t len)
{
	struct cond *d;

	c->v = xreallocarray(c->v, c->n + 1, sizeof(c->v[0]));
	d = &c->v[c->n++];
	d->code = xcalloc(len ? len : 1, 1);
	d->len = len;
	memcpy(d->code, code, len);
}

void conds_copy(struct conds *to, const struct conds *from)
{
	for (unsigned i = 0; i < from->n; i++)
		conds_add(to, from->v[i].code, from->v[i].len);
}

struct state {
	pid_t pid;
	struct user_regs_struct regs;
};

static int read_mem(void *ctx, uint64_t addr, void *out, size_t len)
{
	struct err ignored;

	return trace_read(((struct state *)ctx)->pid, addr, out, len, &ignored);
}

/* In the order of GDB's numbers (amd64-tdep.h), as in rsp/regs.c. */
int conds_register(const struct user_regs_struct *regs, unsigned regno, uint64_t *value)
{
#define AT(name) offsetof(struct user_regs_struct, name)
	static const size_t at[] = {
		AT(rax), AT(rbx), AT(rcx), AT(rdx), AT(rsi), AT(rdi), AT(rbp), AT(rsp), AT(r8),
		AT(r9),	 AT(r10), AT(r11), AT(r12), AT(r13), AT(r14), AT(r15), AT(rip),
	};
#undef AT

	if (regno >= sizeof(at) / sizeof(at[0]))
		return -1;
	memcpy(value, (const char *)regs + at[regno], sizeof(*value));
	return 0;
}

static int read_reg(void *ctx, unsigned regno, uint64_t *value)
{
	return conds_register(&((struct state *)ctx)->regs, regno, value);
}

bool conds_read_registers(const struct conds *c)
{
	for (unsigned i = 0; i < c->n; i++)
		for (size_t k = 0; k < c->v[i].len; k += 1 + agent_operand_size(c->v[i].code[k]))
			if (c->v[i].code[k] == AGENT_reg)
				return true;
	return false;
}

bool conds_hold(const struct conds *c, struct trace *t)
{
	static const struct agent_ops ops = {.read_mem = read_mem, .read_reg = read_reg};
	struct state s = {.pid = t->pid};
	struct err ignored;

	if (!c->n || trace_get_regs(t, &s.regs, &ignored))
		return true;
	for (unsigned i = 0; i < c->n; i++) {
		struct agent_result r;

		if (agent_run(c->v[i].code, c->v[i].len, &ops, &s, &r) != AGENT_OK || r.value)
			return true;
	}
	return false;
}
