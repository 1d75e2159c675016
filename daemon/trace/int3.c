/* SPDX-License-Identifier: MIT */
/* int3.c: see int3.h. */
#include "trace/int3.h"

#define INT3 0xcc

int trace_int3_insert(struct trace_int3 *p, const struct trace *t, uint64_t addr, struct err *e)
{
	const uint8_t int3 = INT3;

	*p = (struct trace_int3){0};
	if (trace_read(t->pid, addr, &p->saved, 1, e) || trace_write(t->pid, addr, &int3, 1, e))
		return -1;
	p->addr = addr;
	return 0;
}

int trace_int3_take_out(struct trace_int3 *p, const struct trace *t, struct err *e)
{
	uint64_t addr = p->addr;

	p->addr = 0;
	return addr && t->alive ? trace_write(t->pid, addr, &p->saved, 1, e) : 0;
}

int trace_int3_met(const struct trace_int3 *p, struct trace *t, const struct trace_stop *s, struct err *e)
{
	struct user_regs_struct r;

	if (!p->addr || !trace_is_int3(s))
		return 0;
	if (trace_get_regs(t, &r, e))
		return -1;
	if (r.rip - 1 != p->addr)
		return 0;
	r.rip--;
	return trace_set_regs(t, &r, e) ? -1 : 1;
}
