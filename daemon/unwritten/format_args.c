/* SPDX-License-Identifier: MIT */
/* format_args.c: see format_args.h. */
#include "unwritten/format_args.h"

#include <string.h>

static void see_memory(struct format_args *m, uint64_t addr, uint64_t len)
{
	uint64_t at;
	uint32_t origin;

	if (unwritten_find(&m->u->memory, addr, len, &at, &origin))
		m->given(m->ctx, origin, at);
}

/* Uses the next argument, of that many bytes; *value: its value, if it is in a register. */
static bool use_argument(struct format_args *m, unsigned bytes, uint64_t *value)
{
	static const uint8_t order[] = {INSN_RDI, INSN_RSI, INSN_RDX, INSN_RCX, 8, 9};
	struct unwritten_thread *t = unwritten_thread(m->u, m->thread);
	unsigned n = m->next++;
	uint64_t mask = bytes == 8 ? UINT64_MAX : (1ull << bytes * 8) - 1;

	if (n >= sizeof(order)) {
		see_memory(m, m->arg[6] + 8 + (n - sizeof(order)) * 8, bytes);
		return false;
	}
	if (t->dirty >> order[n] & 1 && t->reg[order[n]] & mask) {
		m->given(m->ctx, t->origin[order[n]], 0);
		return false;
	}
	*value = m->arg[n];
	return true;
}

/* false: the following arguments are not known. */
static bool use_vector(struct format_args *m)
{
	struct unwritten_thread *t = unwritten_thread(m->u, m->thread);
	unsigned n = m->vectors++;
	uint64_t low;

	if (n >= 8)
		return false;
	memcpy(&low, t->vector[n], sizeof(low));
	if (t->dirty >> (INSN_XMM0 + n) & 1 && low)
		m->given(m->ctx, t->origin[INSN_XMM0 + n], 0);
	return true;
}

/* Handles a conversion, after the %. Returns its end; NULL: unknown conversion. */
static const char *see_conversion(struct format_args *m, const char *p)
{
	unsigned bytes = 4;
	uint64_t value;

	for (; *p && strchr("-+ #0'.*123456789hlqjzt", *p); p++) {
		if (*p == '*')
			use_argument(m, 4, &value);
		if (*p == 'h')
			bytes = bytes == 2 ? 1 : 2;
		else if (strchr("lqjzt", *p))
			bytes = 8;
	}
	if (*p == '%' || *p == 'm')
		return p + 1;
	if (*p && strchr("diouxXc", *p))
		use_argument(m, *p == 'c' ? 1 : bytes, &value);
	else if (*p == 's' && use_argument(m, 8, &value) && value)
		see_memory(m, value, 1);
	else if (*p == 'p')
		use_argument(m, 8, &value);
	else if (*p && strchr("fFeEgGaA", *p))
		return use_vector(m) ? p + 1 : NULL;
	else if (*p != 's')
		return NULL;
	return p + 1;
}

void format_args_see(struct format_args *m, const char *text)
{
	for (const char *p = text; p && *p;)
		p = *p == '%' ? see_conversion(m, p + 1) : p + 1;
}
