/* SPDX-License-Identifier: MIT */
/*
 * flow_overrun.c: which object a store was meant for. The registers of the instruction say it (flow_memory.c); where
 * the compiler has made one constant of an array's address and an index, the statement does.
 */
#include "flow/flow_int.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "chain/condition.h"
#include "expr/text.h"
#include "timetravel/cursor_int.h"

/* The instruction writes to l by an index: the size of an element; 0: it uses no index. */
static unsigned element_written(const struct insn *i, const struct insn_loc *l)
{
	struct insn_access v[INSN_ACCESSES];
	unsigned n = insn_accesses(i, v);

	for (unsigned k = 0; k < n; k++)
		if (v[k].writes && !v[k].stack && v[k].index != INSN_NO_REG && l->addr >= v[k].addr &&
		    l->addr < v[k].addr + v[k].len && v[k].scale == v[k].len)
			return v[k].len;
	return 0;
}

/* Is the memory an element of the array, as the statement names it? */
static bool is_element(struct inspect *p, const struct insn_loc *l, const char *array)
{
	bool exact;
	cleanup_free char *name = inspect_name(p, l->addr, l->len, &exact);
	size_t n = strlen(array);

	return exact && !strncmp(name, array, n) && name[n] == '[';
}

bool flow_assigned_array(struct inspect *p, const struct insn *i, const struct insn_loc *l, struct object *o)
{
	const char *text = json_string_value(json_object_get(p->location, "text"));
	cleanup_free char *array = text ? condition_assigned_array(text) : NULL, *size = NULL, *cmd = NULL,
			  *type = NULL;
	bool named = inspect_is_named(p, l->addr, l->len);
	unsigned element = named ? l->len : element_written(i, l);
	uint64_t lo, len, one;
	struct err ignored;

	if (!array || !element || (named && !is_element(p, l, array)))
		return false;
	size = str_fmt("sizeof((%s)[0])", array);
	cmd = str_fmt("whatis %s", array);
	if (gdb_console_at(p->x->g, 0, p->user, 0, cmd, &type, &ignored) || !type || !strchr(type, '[') ||
	    !inspect_number(p, p->user, size, &one) || one != element)
		return false;
	free(size);
	size = str_fmt("sizeof(%s)", array);
	free(cmd);
	cmd = str_fmt("&(%s)", array);
	if (!inspect_number(p, p->user, cmd, &lo) || !inspect_number(p, p->user, size, &len) || len <= one ||
	    (l->addr - lo) % element)
		return false;
	*o = (struct object){.lo = lo, .len = len};
	snprintf(o->name, sizeof(o->name), "%s", array);
	return true;
}

#define SUM_HOPS 4u /* copies from register to register that are followed */

int flow_base_of_sum(struct flow *f, const struct timeline_point *at, unsigned reg, uint64_t *base, struct err *e)
{
	struct explain *x = f->x;
	struct flow one = {.x = x, .tid = x->t.in.seg.tid, .pointer = true, .trial = true};
	const struct insn_loc *index = NULL;
	struct user_regs_struct r;
	struct timeline_point here;
	struct flow_setter s;
	int got = SETTER_INSN;

	*base = 0;
	one.l = (struct insn_loc){.where = INSN_IN_REG, .reg = reg, .len = 8};
	if (cursor_where(&x->t, &here, e) || cursor_goto_point(&x->t, at, e) || explain_regs(x, one.tid, &r, e))
		return -1;
	for (unsigned n = 0; n < SUM_HOPS && got == SETTER_INSN && one.l.where == INSN_IN_REG && !index; n++) {
		flow_setter_begin(&s);
		do
			got = flow_to_setter(&one, &s, e);
		while (got == SETTER_CALL);
		if (got < 0)
			return -1;
		explain_reopen(x);
		if (got != SETTER_INSN)
			break;
		if (s.origin.effect == INSN_COMPUTES && s.origin.n == 2)
			index = flow_wrong_one(&one, &s.regs, &s.origin);
		else if (s.origin.effect != INSN_COPIES)
			break;
		one.l = s.origin.from[0];
	}
	if (index) {
		const struct insn_loc *other = &s.origin.from[index == &s.origin.from[0]];
		uint8_t v[8];

		if (other->len == 8 && flow_read(x, &s.regs, other, v))
			memcpy(base, v, sizeof(v));
	}
	return cursor_goto_point(&x->t, &here, e);
}

/* Where the value was that the instruction at the PC writes to l; false: in no register, or the instruction made it. */
static bool value_stored(struct flow *f, const struct insn_loc *l, struct err *e)
{
	struct user_regs_struct r;
	uint8_t code[INSN_BYTES];
	struct insn_origin o;
	struct insn i;

	if (explain_regs(f->x, f->tid, &r, e) || visibility_is_shim(&f->x->t.visibility, r.rip) ||
	    explain_insn(f->x, &r, code, &i, e))
		return false;
	insn_origin(&i, l, &o);
	if (o.effect != INSN_COPIES || o.from[0].where != INSN_IN_REG || !flow_read(f->x, &r, &o.from[0], f->value))
		return false;
	f->l = o.from[0];
	return true;
}

int flow_tell_assignment(struct explain *x, const struct timeline_point *at, const json_t *location,
			 const struct insn_loc *l, const char *object, struct err *e)
{
	const char *text = json_string_value(json_object_get(location, "text"));
	struct flow f = {.x = x, .tid = x->t.in.seg.tid, .trial = true};
	cleanup_free char *array = NULL;
	struct inspect p = {0};
	struct flow_setter s;
	struct err why;
	int r = 0;

	if (!text || !at->pc || text_has_word(text, object) || cursor_goto_point(&x->t, at, &why) ||
	    !value_stored(&f, l, &why))
		return 0;
	flow_setter_begin(&s);
	if (flow_to_setter(&f, &s, e) != SETTER_INSN)
		return explain_may_go_on(x, e) ? explain_reopen(x), 0 : -1;
	if (inspect_open(&p, x, e)) {
		r = -1;
	} else {
		text = json_string_value(json_object_get(p.location, "text"));
		array = text ? condition_assigned_array(text) : NULL;
		if (array && str_eq(array, object) && chain_same_place(location, p.location, false))
			inspect_step(&p, STEP_WRITE, NULL, NULL, NULL,
				     "this made the value of an element of %s that was written there", object);
	}
	inspect_close(&p);
	return r;
}
