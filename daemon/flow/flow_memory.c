/* SPDX-License-Identifier: MIT */
/* flow_memory.c: a value in memory: to the last write of it. */
#include "flow/flow_int.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/maps.h"
#include "base/str.h"
#include "chain/condition.h"
#include "chain/inspect.h"
#include "replay/stack.h"
#include "rlog/heap.h"
#include "timetravel/cursor_int.h"

#define SMALL 0x10000ull /* an offset or an index, rather than an address */

/* The memory was written by a function of the recorder's, which stands for one of libc's. */
static int written_by_library(struct flow *f, struct inspect *p, const char *name, const char *before,
			      const char *after, struct err *e)
{
	const char *who = inspect_function(p, 0);
	cleanup_free char *event = NULL;
	struct user_regs_struct r;

	if (flow_is_one_of(who, flow_freeing)) {
		inspect_step(p, STEP_FREE, name, before, after, "%s was freed here: what was in it is gone since",
			     name);
		if (!f->trial && (explain_regs(f->x, f->tid, &r, e) || flow_tell_giver(p, r.rdi, true, NULL, e) < 0))
			return -1;
		explain_end(f->x, END_FREED, "the memory was used after it was freed");
		return FLOW_ENDED;
	}
	if (flow_is_one_of(who, flow_allocating)) {
		inspect_step(p, STEP_ALLOC, name, before, after, "%s was allocated here", name);
		explain_end(f->x, END_NEVER_WRITTEN, "nothing was written to it since it was allocated");
		return FLOW_ENDED;
	}
	event = flow_event(f->x);
	/* a statement of the program that took the value over could have checked it */
	if (!chain_has(&f->x->chain, STEP_COPY))
		inspect_step(p, STEP_INPUT, name, before, after, "%s wrote it: %s was %s, became %s", who, name, before,
			     after);
	explain_end(f->x, END_INPUT, "the value came from outside: %s", event ? event : who);
	return FLOW_ENDED;
}

uint64_t flow_base_of_store(const struct insn *i, const struct insn_loc *l)
{
	struct insn_access v[INSN_ACCESSES];
	unsigned n = insn_accesses(i, v);

	for (unsigned k = 0; k < n; k++) {
		uint64_t base;

		if (!v[k].writes || v[k].stack || l->addr + l->len <= v[k].addr || l->addr >= v[k].addr + v[k].len)
			continue;
		base = v[k].base == INSN_NO_REG ? 0 : insn_reg(i->regs, v[k].base);
		/* compilers put the address in the index, too, where neither is multiplied */
		if (v[k].index != INSN_NO_REG && insn_reg(i->regs, v[k].index) > base)
			base = insn_reg(i->regs, v[k].index);
		if (v[k].index != INSN_NO_REG || v[k].base == INSN_RBP || v[k].base == INSN_RSP)
			base += (uint64_t)v[k].disp;
		return base;
	}
	return 0;
}

/* GDB is attached at `here`, in a function of libc that copies: back to its entry. 0; 1: it is not met, and the cursor
 * may stand anywhere; -1. */
static int to_entry_of_copy(struct explain *x, const struct timeline_point *here, struct flow_copy *c, struct err *e)
{
	cleanup_free char *text = inspect_symbol(x->g, here->pc);
	struct user_regs_struct r;
	struct stop stop = {0};
	uint64_t offset = 0;
	struct err ignored;
	char *plus;
	int got;

	if (!text)
		return 1;
	plus = strstr(text, " + ");
	if (plus && str_u64(plus + 3, 10, 0, UINT64_MAX, &offset))
		return 1;
	if (offset) {
		breaks_add(&x->t.breaks, here->pc - offset, 0);
		got = cursor_back_continue(&x->t, &stop, e);
		breaks_remove(&x->t.breaks, here->pc - offset, 0);
		if (got)
			return -1;
	}
	if ((offset && stop.kind != STOP_BREAK) || explain_regs(x, x->t.in.seg.tid, &r, &ignored) ||
	    cursor_where(&x->t, &c->entry, &ignored))
		return 1;
	c->dest = r.rdi;
	c->source = r.rsi;
	c->len = r.rdx;
	return 0;
}

int flow_copy_at(struct explain *x, const struct timeline_point *here, struct flow_copy *c, struct err *e)
{
	int got = to_entry_of_copy(x, here, c, e);

	if (got)
		*c = (struct flow_copy){0};
	return got < 0 || cursor_goto_point(&x->t, here, e) ? -1 : 0;
}

/*
 * p stands at a write of a function of libc that copies or fills, which went past its object. If its length was a
 * negative number, that is followed: FLOW_ON, f is about it. FLOW_ENDED: it was not; -1.
 */
static int turn_to_length(struct flow *f, struct inspect *p, const struct flow_copy *c, struct err *e)
{
	struct user_regs_struct r;

	if (f->trial || !strstr(inspect_function(p, 0), "mem") || !c->entry.pc || (int64_t)c->len >= 0)
		return FLOW_ENDED;
	if (cursor_goto_point(&f->x->t, &c->entry, e) || explain_regs(f->x, f->x->t.in.seg.tid, &r, e))
		return -1;
	f->l = (struct insn_loc){.where = INSN_IN_REG, .reg = INSN_RDX, .len = 8};
	f->pointer = f->number = f->derived = f->read_as_pointer = false;
	f->last = 0;
	return flow_read(f->x, &r, &f->l, f->value) ? FLOW_ON : FLOW_ENDED;
}

/* What a write was meant for. */
struct aim {
	struct object meant;
	bool member; /* it is a member of an object, or a variable that the statement names */
};

/* base: of the address. Is f->l outside the object that begins there, or larger? */
static bool misses(struct flow *f, struct inspect *p, uint64_t base, struct aim *aim)
{
	struct object hit;

	if (!aim->member && base <= SMALL)
		return false;
	aim->member = aim->member || inspect_array(p, base, &aim->meant);
	if (!aim->member && (!inspect_object(p, base, &aim->meant) || !aim->meant.len || !aim->meant.name[0]))
		return false;
	if (f->l.addr >= aim->meant.lo && f->l.addr < aim->meant.lo + aim->meant.len)
		return false;
	return aim->member || (inspect_object(p, f->l.addr, &hit) && hit.lo != aim->meant.lo && hit.name[0]);
}

/* The register that has the address that i writes to, and no index; INSN_NO_REG: there is none. */
static unsigned register_written_by(const struct insn *i, const struct insn_loc *l)
{
	struct insn_access v[INSN_ACCESSES];
	unsigned n = insn_accesses(i, v);

	for (unsigned k = 0; k < n; k++)
		if (v[k].writes && !v[k].stack && l->addr < v[k].addr + v[k].len && l->addr + l->len > v[k].addr)
			return v[k].index == INSN_NO_REG && v[k].base != INSN_RBP && v[k].base != INSN_RSP
				       ? v[k].base
				       : INSN_NO_REG;
	return INSN_NO_REG;
}

/*
 * Did the write go past the end of the block of the heap from which the address was computed? Not if it went to another
 * block, the distance to which may be known, as with relative pointers. 1; 0; -1.
 */
static int misses_block(struct flow *f, struct inspect *p, const struct insn *i, const struct flow_copy *copy,
			struct aim *aim, struct err *e)
{
	unsigned reg = p->to_copy ? INSN_RDI : register_written_by(i, &f->l);
	const struct timeline_point *at = p->to_copy ? &copy->entry : &p->at;
	struct object o;
	uint64_t base;

	if (f->trial || !flow_is_heap(f->l.addr) || reg == INSN_NO_REG || !at->pc || !at->hits)
		return 0;
	if (flow_base_of_sum(f, at, reg, &base, e))
		return -1;
	aim->member = false;
	if (inspect_block(p->copy, f->l.addr, &o) && !o.freed && f->l.addr + f->l.len <= o.lo + o.len)
		return 0;
	return inspect_block(p->copy, base, &aim->meant) && base < aim->meant.lo + aim->meant.len &&
	       f->l.addr >= aim->meant.lo + aim->meant.len;
}

/* Did the statement mean something else? 0: no. FLOW_ENDED: yes, the chain ends; FLOW_TURNED: f is about another value.
 */
static int is_overrun(struct flow *f, struct inspect *p, const struct insn *i, const char *name, const char *before,
		      const char *after, struct err *e)
{
	struct flow_copy copy = {0};
	struct aim aim = {.member = false};
	uint64_t base;
	int got;

	if (p->to_copy) {
		if (flow_copy_at(f->x, &p->at, &copy, e))
			return -1;
		base = copy.dest;
	} else {
		base = flow_base_of_store(i, &f->l);
		aim.member = flow_assigned_array(p, i, &f->l, &aim.meant);
	}
	got = misses(f, p, base, &aim) ? 1 : misses_block(f, p, i, &copy, &aim, e);
	if (got <= 0)
		return got;
	if (f->l.addr < aim.meant.lo)
		inspect_step(p, STEP_WRITE, name, before, after,
			     "this wrote in front of %s, and so to %s: it was %s, became %s", aim.meant.name, name,
			     before, after);
	else
		inspect_step(p, STEP_WRITE, name, before, after,
			     "this wrote past the end of %s (%llu bytes), and so to %s: it was %s, became %s",
			     aim.meant.name, (unsigned long long)aim.meant.len, name, before, after);
	if (!f->trial && f->l.addr >= aim.meant.lo + aim.meant.len)
		f->x->overrun = (struct explain_overrun){p->at, aim.meant.lo, aim.meant.len, f->l.addr, f->x->chain.n};
	if (p->to_copy) {
		int turned = turn_to_length(f, p, &copy, e);

		if (turned != FLOW_ENDED)
			return turned < 0 ? -1 : FLOW_TURNED;
	}
	explain_end(f->x, END_COMPUTED, "the write was not meant for %s", name);
	return FLOW_ENDED;
}

/* A function of libc has copied the value, by way of a register that cannot be read. enum next, or -1. */
static int by_copy(struct flow *f, struct inspect *p, const struct user_regs_struct *r, const char *name, struct err *e)
{
	struct insn_loc from = f->l;
	struct flow_copy c;

	if (flow_copy_at(f->x, &p->at, &c, e))
		return -1;
	if (!c.dest || !c.source || f->l.addr < c.dest) {
		explain_end(f->x, END_UNKNOWN, "the function that copied %s does not say from where", name);
		return FLOW_ENDED;
	}
	from.addr = c.source + (f->l.addr - c.dest);
	return flow_go_on(f, r, &from, true);
}

static bool is_pointer(struct inspect *p, const char *expr)
{
	cleanup_free char *cmd = str_fmt("ptype %s", expr), *type = NULL;
	struct err ignored;
	size_t n;

	if (gdb_console_at(p->x->g, 0, p->user, 0, cmd, &type, &ignored) || !type)
		return false;
	for (n = strlen(type); n && strchr(" \r\n", type[n - 1]); n--)
		;
	return n && type[n - 1] == '*';
}

static bool is_arithmetic(struct inspect *p, const char *expr)
{
	static const char *const words[] = {"char", "short", "int", "long", "float", "double"};
	cleanup_free char *cmd = str_fmt("ptype %s", expr), *type = NULL;
	struct err ignored;
	bool is = false;

	if (gdb_console_at(p->x->g, 0, p->user, 0, cmd, &type, &ignored) || !type || strpbrk(type, "*[({"))
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		is |= strstr(type, words[i]) != NULL;
	return is;
}

bool flow_is_filling(const struct inspect *p)
{
	return p->to_copy && (strstr(inspect_function(p, 0), "memset") || strstr(inspect_function(p, 0), "bzero"));
}

/*
 * A function of libc, such as sscanf, stored a number that it made from its input, and a statement of the program took
 * the number over, which could have checked it.
 */
static bool made_by_library(struct flow *f, struct inspect *p, const struct insn_origin *o)
{
	return !f->trial && (!f->pointer || f->number) && !p->to_copy && p->user > 0 && p->at.pc &&
	       !visibility_is_certain(&f->x->t.visibility, p->at.pc) && o->effect == INSN_COPIES &&
	       chain_has(&f->x->chain, STEP_COPY);
}

/* The program stands in front of the instruction that wrote f->l, in memory. */
static int written_here(struct flow *f, const char *name, struct err *e)
{
	struct explain *x = f->x;
	uint8_t code[INSN_BYTES], was[8];
	cleanup_free char *before = NULL, *after = flow_text(f, f->value, f->l.len);
	struct user_regs_struct r;
	struct insn_origin o;
	struct inspect p = {0};
	bool others;
	struct insn i;
	int got;

	if (flow_read(x, NULL, &f->l, was))
		before = flow_text(f, was, f->l.len);
	else
		before = xstrdup("not there");
	others = f->trial && cursor_now(&x->t, f->tid) != x->t.in.seg.tid;
	f->tid = x->t.in.seg.tid;
	f->last = f->l.addr;
	f->derived = false;
	if (inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	if (explain_regs(x, f->tid, &r, e))
		got = -1;
	else if (visibility_is_shim(&x->t.visibility, r.rip))
		got = written_by_library(f, &p, name, before, after, e);
	else if (explain_insn(x, &r, code, &i, e)) {
		got = -1;
	} else if (insn_origin(&i, &f->l, &o), visibility_is_loader(&x->t.visibility, r.rip)) {
		/* the dynamic linker saves arguments of the call that it resolves; all else is the program's data */
		if (o.effect == INSN_COPIES && o.from[0].where == INSN_IN_REG) {
			got = flow_take_origin(f, &r, &o, name);
		} else {
			flow_never_written(f, name);
			got = FLOW_ENDED;
		}
	} else if (made_by_library(f, &p, &o)) {
		explain_end(x, END_INPUT, "the value came from outside: %s made it", inspect_function(&p, 0));
		got = FLOW_ENDED;
	} else {
		got = is_overrun(f, &p, &i, name, before, after, e);
		if (got == FLOW_TURNED) {
			got = FLOW_ON;
		} else if (!got) {
			bool exact;
			cleanup_free char *here = inspect_name(&p, f->l.addr, f->l.len, &exact);
			bool copies = o.effect == INSN_COPIES || (o.effect == INSN_DERIVES && f->pointer);

			inspect_step(&p, copies ? STEP_COPY : STEP_WRITE, exact ? here : name, before, after,
				     "this wrote %s: it was %s, became %s", exact ? here : name, before, after);
			flow_note_kept(f, copies, o.effect, was);
			if (o.what.len < f->l.len && f->pointer && o.effect != INSN_KEEPS) {
				explain_end(x, END_COMPUTED,
					    "only %u of its %u bytes were written here: the write was not meant for it",
					    o.what.len, f->l.len);
			} else if (o.what.len < f->l.len && o.effect != INSN_KEEPS) {
				memmove(f->value, f->value + (o.what.addr - f->l.addr), o.what.len);
				f->l = o.what;
			}
			if (others)
				explain_end(x, END_COMPUTED, "another thread wrote %s", name);
			/*
			 * the cursor may leave this state and come back from here on; r has the registers of this state
			 */
			f->stored = p.at;
			memcpy(f->was, was, sizeof(was));
			if (!x->end && f->read_as_pointer && exact && o.what.len == f->l.len && is_arithmetic(&p, here))
				explain_end(x, END_COMPUTED,
					    "it was written as `%s', a number, and read as another member, an address",
					    here);
			if (!x->end && flow_is_filling(&p))
				explain_end(x, END_COMPUTED, "the statement filled %s", name);
			if (x->end)
				got = FLOW_ENDED;
			else if (!f->trial && o.effect == INSN_SETS && f->pointer && f->l.len == 8 && flow_is_zero(f) &&
				 memcmp(was, f->value, 8) && flow_tell_giver(&p, f->l.addr, false, NULL, e) > 0) {
				explain_end(x, END_CONSTANT, "the null pointer was set by what is called here");
				got = FLOW_ENDED;
			} else if (p.to_copy && o.n && o.from[0].where == INSN_IN_REG &&
				   !flow_read(x, &r, &o.from[0], was))
				got = by_copy(f, &p, &r, name, e);
			else
				got = flow_take_origin(f, &r, &o, name);
		}
	}
	inspect_close(&p);
	return got;
}

/* Gives the value of the last step a name, if it has none yet. */
static void name_last(struct explain *x, const char *name)
{
	struct step *last = x->chain.n ? &x->chain.v[x->chain.n - 1] : NULL;

	if (last && !last->expression)
		last->expression = xstrdup(name);
}

/* How many bytes of f->l are written by the instruction in front of which the program stands; 0: not known. */
static unsigned bytes_written(struct flow *f)
{
	struct user_regs_struct r;
	uint8_t code[INSN_BYTES];
	struct insn_origin o;
	struct err ignored;
	struct insn i;

	if (explain_regs(f->x, f->x->t.in.seg.tid, &r, &ignored) || visibility_is_shim(&f->x->t.visibility, r.rip) ||
	    visibility_is_loader(&f->x->t.visibility, r.rip) || explain_insn(f->x, &r, code, &i, &ignored))
		return 0;
	insn_origin(&i, &f->l, &o);
	return o.effect == INSN_KEEPS ? 0 : o.what.len;
}

#define PARTS_MOST 64u

/*
 * The program stands in front of the last write of a pointer. If that writes only a part of the pointer, it was not
 * meant for it, and others may have come before: goes to the first of them.
 */
static int to_first_part(struct flow *f, uint64_t birth, struct err *e)
{
	struct explain *x = f->x;

	for (unsigned n = 0; n < PARTS_MOST; n++) {
		unsigned len = bytes_written(f);
		struct timeline_point here;
		bool is_birth;
		uint8_t v[8];
		int r;

		if (!len || len >= f->l.len || !flow_read(x, NULL, &f->l, v))
			return 0;
		if (cursor_where(&x->t, &here, e))
			return -1;
		r = flow_last_write(x, f->l.addr, f->l.len, birth, &is_birth, e);
		if (r < 0)
			return -1;
		len = r || is_birth ? 0 : bytes_written(f);
		if (!len || len >= f->l.len) {
			explain_reopen(x);
			return cursor_goto_point(&x->t, &here, e);
		}
		memcpy(f->value, v, sizeof(v));
	}
	return 0;
}

/*
 * A null pointer was read by a loop along a list, in a function that returned it, or that is inlined where it was used.
 * Then the list had no such element, and where its last null pointer came from explains nothing.
 */
static bool is_end_of_search(const struct flow *f, struct inspect *p)
{
	const struct step *failure = &f->x->chain.v[0];
	const char *user = json_string_value(json_object_get(failure->location, "function"));
	cleanup_free char *walks = NULL, *field = NULL;
	size_t level = (size_t)p->user;
	struct condition c = {0};
	bool left = f->x->returned.slot != 0, is;

	if (f->trial || !((f->pointer && !f->number) || (f->compared && !f->last)) || f->l.len != 8 ||
	    !flow_is_zero(f) || !f->x->chain.n || !user || level >= p->nframes ||
	    str_eq(inspect_function(p, level), user))
		return false;
	for (size_t i = level + 1; stack_is_inlined(p->frames, p->nframes, i - 1) && !left; i++)
		left = str_eq(inspect_function(p, i), user);
	if (!left)
		return false;
	condition_at(p, p->user, condition_of_loop, &c);
	is = c.all && condition_list_walked(c.all, &walks, &field);
	condition_fini(&c);
	return is;
}

/* That nothing was found is a cause if the result was used nevertheless; it is none if a check has found just that. */
static void tell_end_of_search(struct flow *f, struct inspect *p, const char *name)
{
	const char *who = inspect_function(p, (size_t)p->user);

	inspect_step(p, STEP_LOAD, name, NULL, NULL, "%s found nothing: %s is 0, the end of its list", who, name);
	explain_end(f->x, f->pointer ? END_COMPUTED : END_UNKNOWN, "%s found nothing", who);
}

/*
 * Finds out only whether the value comes from before f->mark: no steps are added, so GDB, which takes long, is not
 * asked. As flow_memory.
 */
static int memory_unseen(struct flow *f, struct err *e)
{
	struct explain *x = f->x;
	struct user_regs_struct r;
	uint8_t code[INSN_BYTES], was[8];
	struct insn_origin o;
	struct object block = {0};
	bool is_birth;
	struct insn i;
	int got;

	inspect_block(cursor_memory(&x->t), f->l.addr, &block);
	got = flow_last_write_or_mark(f, f->l.addr, f->l.len, block.header, &is_birth, e);
	if (got < 0)
		return -1;
	if (got == 1)
		explain_end(x, END_INITIAL, "nothing ever wrote it");
	if (got || f->ended)
		return FLOW_ENDED;
	if (is_birth || explain_regs(x, x->t.in.seg.tid, &r, e) || visibility_is_shim(&x->t.visibility, r.rip)) {
		explain_end(x, END_INPUT, "a function of the library wrote it");
		return FLOW_ENDED;
	}
	if (explain_insn(x, &r, code, &i, e))
		return -1;
	insn_origin(&i, &f->l, &o);
	if (o.effect != INSN_COPIES || o.what.len < f->l.len || !flow_read(x, &r, &o.from[0], was))
		return written_here(f, "the value", e);
	f->tid = x->t.in.seg.tid;
	f->last = f->l.addr;
	f->derived = false;
	return flow_take_origin(f, &r, &o, "the value");
}

/* The value is in memory. */
int flow_memory(struct flow *f, struct err *e)
{
	struct explain *x = f->x;
	char function[128] = "";
	cleanup_free char *name = NULL;
	uint64_t birth;
	struct timeline_point at;
	struct object o = {0};
	struct inspect p = {0};
	bool exact, is_birth, indexed;
	int r;

	if (f->to_memory)
		return FLOW_ENDED;
	f->result = false;
	if (f->trial && f->mark)
		return memory_unseen(f, e);
	x->memory = f->l.addr;
	if (inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	at = p.at;
	name = inspect_name(&p, f->l.addr, f->l.len, &exact);
	birth = inspect_birth(&p, f->l.addr, function, sizeof(function));
	if (!birth && inspect_object(&p, f->l.addr, &o) && o.heap)
		birth = o.header;
	f->read_as_pointer = exact && f->pointer && !f->number && f->l.len == 8 && is_pointer(&p, name);
	if (is_end_of_search(f, &p)) {
		tell_end_of_search(f, &p, name);
		inspect_close(&p);
		return FLOW_ENDED;
	}
	if (f->derived && f->last == f->l.addr && !flow_was_wrong(f)) {
		inspect_close(&p);
		x->counted = true;
		explain_end(x, END_COMPUTED, "the statement made %s from its own value before", name);
		return FLOW_ENDED;
	}
	if (flow_same_line(x, &p)) {
		name_last(x, name);
	} else {
		cleanup_free char *v = flow_text(f, f->value, f->l.len);

		inspect_step(&p, STEP_LOAD, name, v, v, "this read %s, which is %s", name, v);
	}
	inspect_close(&p);
	if (explain_is_over(x))
		return FLOW_ENDED;
	indexed = flow_is_indexed(f);
	if (!f->trial) {
		r = flow_stale(f, &at, &o, *function ? birth : 0, name, e);
		if (r)
			return r == FLOW_TURNED ? FLOW_ON : r;
	}
	do
		r = flow_last_write_or_mark(f, f->l.addr, f->l.len, birth, &is_birth, e);
	while (!r && is_birth && *function && !f->ended && !flow_is_call(x));
	if (r < 0)
		return -1;
	if (f->ended)
		return FLOW_ENDED;
	if (!r && !is_birth && f->pointer && f->l.len == 8)
		r = to_first_part(f, birth, e);
	if (r < 0)
		return -1;
	if (r == 1) {
		int late = *function ? 1 : flow_too_late(x, &at, f->l.addr, f->l.len, name, e);

		if (late < 0)
			return -1;
		if (late) {
			int turned = flow_turn_to_index(f, &at, name, e);

			if (!turned)
				turned = flow_turn_to_pointer(f, &at, name, e);
			if (turned)
				return turned < 0 ? -1 : FLOW_ON;
		}
		flow_never_written(f, name);
	}
	if (r)
		return FLOW_ENDED;
	return is_birth ? flow_at_birth(f, name, function, &o, indexed, e) : written_here(f, name, e);
}
