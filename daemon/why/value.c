/* SPDX-License-Identifier: MIT */
/* value.c: values as text, and names of operands: see why.h. */
#include "why/why.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static uint64_t number_of(const uint8_t v[8], unsigned len)
{
	uint64_t n = 0;

	memcpy(&n, v, len < 8 ? len : 8);
	return n;
}

static char *as_float(const char *type, const uint8_t value[8], unsigned len)
{
	double d;
	float f;

	if (str_eq(type, "double") && len == sizeof(d)) {
		memcpy(&d, value, sizeof(d));
		return str_fmt("%.17g", d);
	}
	if (str_eq(type, "float") && len == sizeof(f)) {
		memcpy(&f, value, sizeof(f));
		return str_fmt("%.9g", (double)f);
	}
	return NULL;
}

/* By GDB, as a value of the type that `name` has; NULL: that is not possible. */
static char *typed(struct inspect *p, const char *name, const uint8_t value[8], unsigned len)
{
	cleanup_free char *cmd = str_fmt("whatis %s", name), *out = NULL, *expr = NULL;
	const char *type;
	struct err ignored;

	if (gdb_console_at(p->x->g, 0, p->user, 0, cmd, &out, &ignored) || !out || !str_starts(out, "type = "))
		return NULL;
	out[strcspn(out, "\n")] = '\0';
	type = out + strlen("type = ");
	if (strpbrk(type, "[{("))
		return NULL;
	expr = as_float(type, value, len);
	if (expr)
		return steal_ptr(&expr);
	expr = str_fmt("(%s)0x%llx", type, (unsigned long long)number_of(value, len));
	return inspect_eval(p, p->user, expr);
}

char *why_text(struct inspect *p, const char *name, const uint8_t value[8], unsigned len, bool pointer)
{
	const struct flow f = {.pointer = pointer};
	char *text = name ? typed(p, name, value, len) : NULL;

	return text ? text : flow_text(&f, value, len);
}

bool why_means(struct inspect *p, const char *expr, const struct insn_loc *l)
{
	cleanup_free char *at = str_fmt("&(%s)", expr), *size = str_fmt("sizeof(%s)", expr);
	uint64_t addr, len;

	return l->where == INSN_IN_MEM && inspect_number(p, p->user, at, &addr) && addr == l->addr &&
	       inspect_number(p, p->user, size, &len) && len == l->len;
}

void why_name(struct inspect *p, struct why_operand *o)
{
	char function[128] = "";
	struct object block;

	if (o->l.where == INSN_IN_MEM) {
		if (!o->name)
			o->name = inspect_name(p, o->l.addr, o->l.len, &o->exact);
		else
			o->exact = why_means(p, o->name, &o->l);
		o->birth = inspect_birth(p, o->l.addr, function, sizeof(function));
		if (o->birth)
			o->function = xstrdup(function);
		else if (inspect_object(p, o->l.addr, &block) && block.heap)
			o->birth = block.header;
	}
	if (!o->text)
		o->text = why_text(p, o->exact ? o->name : NULL, o->value, o->l.len, o->pointer);
}
