/* SPDX-License-Identifier: MIT */
/* flow.c: see flow.h. */
#define LOG_DOMAIN "explain"
#include "explain/flow.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/maps.h"
#include "base/str.h"
#include "debug/travel_int.h"
#include "explain/place.h"
#include "reclog/describe.h"

#define BACK_STEPS 4000u /* instructions, in search of what set a register */
#define BACK_S 40.0
#define SMALL 0x10000ull /* an offset or an index, rather than an address */

struct flow {
	struct explain *x;
	pid_t tid;
	struct insn_loc l; /* where the value is, in the state in which the travel stands */
	uint8_t value[8]; /* of it, little-endian */
	bool pointer;
	uint64_t last; /* the memory whose writing was told last; 0: none */
	bool derived; /* since then, something was added to the value */
};

enum next { FLOW_ON = 0, FLOW_ENDED = 1 };

/* ---- values ---- */

static bool read_loc(struct explain *x, const struct user_regs_struct *r, const struct insn_loc *l, uint8_t v[8])
{
	struct trace *t;
	struct user_fpregs_struct fp;
	struct err ignored;
	uint64_t reg;

	memset(v, 0, 8);
	if (!l->len || l->len > 8)
		return false;
	if (l->where == INSN_IN_MEM)
		return !trace_read(travel_memory(&x->t), l->addr, v, l->len, &ignored);
	if (l->reg < INSN_XMM0 || l->reg == INSN_FLAGS) {
		if (l->off + l->len > 8)
			return false;
		reg = insn_reg(r, l->reg) >> l->off * 8;
		memcpy(v, &reg, l->len);
		return true;
	}
	t = travel_thread(&x->t, x->t.in.seg.tid, &ignored);
	if (l->reg >= INSN_XMM0 + 16 || l->off + l->len > 16 || !t || trace_get_fpregs(t, &fp, &ignored))
		return false;
	memcpy(v, (uint8_t *)&fp.xmm_space[(l->reg - INSN_XMM0) * 4] + l->off, l->len);
	return true;
}

static uint64_t number_of(const uint8_t v[8], unsigned len)
{
	uint64_t n = 0;

	memcpy(&n, v, len < 8 ? len : 8);
	return n;
}

static char *value_text(const struct flow *f, const uint8_t v[8], unsigned len)
{
	uint64_t n = number_of(v, len);
	int64_t s = len == 8 ? (int64_t)n : len == 4 ? (int32_t)n : len == 2 ? (int16_t)n : (int8_t)n;

	if (f->pointer || (len == 8 && (s > INT32_MAX || s < INT32_MIN)))
		return str_fmt("0x%llx", (unsigned long long)n);
	return str_fmt("%lld", (long long)s);
}

static bool is_mapped(const struct flow *f, uint64_t addr)
{
	struct mapping m;

	return maps_find(travel_memory(&f->x->t), addr, &m) && (m.read || m.write);
}

/* ---- memory ---- */

/* As travel_back_continue, from the end of a segment, at whose PC there is no code: the state itself is not looked for. */
static int back_from_end(struct explain *x, struct stop *stop, struct err *e)
{
	struct stop back;
	int r = inside_last_stop(&x->t.in, &x->t.breaks, stop, e);

	if (r < 0)
		return -1;
	x->no_code = false;
	if (r)
		return travel_enter(&x->t, x->t.in.n, e) || travel_back_continue(&x->t, stop, e) ? -1 : 0;
	x->t.tid = x->t.in.seg.tid;
	return stop->kind == STOP_WATCH && !stop->before ? travel_back_step(&x->t, x->t.tid, &back, e) : 0;
}

int flow_last_write(struct explain *x, uint64_t addr, unsigned len, uint64_t birth, bool *is_birth, struct err *e)
{
	struct breaks *b = &x->t.breaks;
	struct stop stop = {0};
	int r = 0;

	*is_birth = false;
	memset(b->watch, 0, sizeof(b->watch));
	if (breaks_watch(b, GROUP_STORE, addr, len) || (birth && breaks_watch(b, GROUP_STORE, birth, 8))) {
		explain_end(x, "unknown", "the memory at 0x%llx cannot be watched", (unsigned long long)addr);
		memset(b->watch, 0, sizeof(b->watch));
		return 2;
	}
	r = x->no_code ? back_from_end(x, &stop, e) : travel_back_continue(&x->t, &stop, e);
	memset(b->watch, 0, sizeof(b->watch));
	if (r && e->kind == ERR_CANCELLED && !op_cancelled(x->ctx)) {
		explain_end(x, "limit", "the last write was not found in time");
		return 2;
	}
	if (r)
		return -1;
	switch (stop.kind) {
	case STOP_WATCH:
		*is_birth = birth && stop.addr >= birth && stop.addr < birth + 8;
		return 0;
	case STOP_BEGIN:
		return 1;
	default:
		explain_end(x, "limit", "the last write was not found in time");
		return 2;
	}
}

static void never_written(struct flow *f, const char *name)
{
	struct mapping m;

	if (!maps_find(travel_memory(&f->x->t), f->l.addr, &m))
		m.path[0] = '\0';
	if (str_eq(m.path, "[stack]"))
		explain_end(f->x, "initial", "%s has had this value since the program was started: an argument, or its environment", name);
	else if (m.path[0] == '/' || m.path[0] == '\0')
		explain_end(f->x, "initial", "%s has had this value from the beginning: nothing ever wrote to it", name);
	else
		explain_end(f->x, "never-written", "%s was never written to", name);
}

/* The function of the library that is called in the state where p is. */
static const char *called(struct place *p)
{
	const char *name = place_function(p, 0);

	return name;
}

static bool is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (str_eq(name, *names))
			return true;
	return false;
}

static const char *const freeing[] = {"free", "cfree", "operator delete(void*)", NULL};
static const char *const allocating[] = {"malloc", "calloc", "realloc", "reallocarray", "memalign", "aligned_alloc", "posix_memalign",
					 "valloc", "strdup", NULL};

/* The event that the call makes, in words; malloc'd. NULL: none. */
static char *event_text(struct explain *x)
{
	uint64_t n = travel_event(&x->t) + 1;
	struct buf b = {0};
	struct timeline_event ev;
	struct err ignored;

	if (n > nav_total(&x->nav) || timeline_read(x->nav.t.tl, n, &ev, &ignored))
		return NULL;
	buf_addf(&b, "event %llu, ", (unsigned long long)n);
	describe_event_what(&b, &ev.ev);
	return buf_steal(&b);
}

/* Has a statement of the program taken the value over? Then that is what could have checked it. */
static bool was_copied(const struct explain *x)
{
	const json_t *step;
	size_t i;

	json_array_foreach(x->chain, i, step)
		if (str_eq(json_string_value(json_object_get(step, "role")), "copy"))
			return true;
	return false;
}

/* A function of the recorder's, that stands for one of libc's, wrote the memory. */
static int written_by_library(struct flow *f, struct place *p, const char *name, const char *before, const char *after)
{
	const char *who = called(p);
	cleanup_free char *event = NULL;

	if (is_one_of(who, freeing)) {
		place_step(p, "free", name, before, after, "%s was freed here: what was in it is gone since", name);
		explain_end(f->x, "freed", "the memory was used after it was freed");
		return FLOW_ENDED;
	}
	if (is_one_of(who, allocating)) {
		place_step(p, "alloc", name, before, after, "%s was allocated here", name);
		explain_end(f->x, "never-written", "nothing was written to it since it was allocated");
		return FLOW_ENDED;
	}
	event = event_text(f->x);
	if (!was_copied(f->x))
		place_step(p, "input", name, before, after, "%s wrote it: %s was %s, became %s", who, name, before, after);
	explain_end(f->x, "input", "the value came from outside: %s", event ? event : who);
	return FLOW_ENDED;
}

/* Where the store at the PC begins, as the program sees it: the object that it meant. 0: that is not known. */
static uint64_t base_of_store(struct flow *f, const struct insn *i)
{
	struct insn_access v[INSN_ACCESSES];
	unsigned n = insn_accesses(i, v);

	for (unsigned k = 0; k < n; k++) {
		uint64_t base;

		if (!v[k].writes || v[k].stack || f->l.addr + f->l.len <= v[k].addr || f->l.addr >= v[k].addr + v[k].len)
			continue;
		base = v[k].base == INSN_NO_REG ? 0 : insn_reg(i->regs, v[k].base);
		if (v[k].index != INSN_NO_REG || v[k].base == INSN_RBP || v[k].base == INSN_RSP)
			base += (uint64_t)v[k].disp;
		return base;
	}
	return 0;
}

/* In a function of libc's that copies: its destination. 0: not known. The travel stands where it stood. */
static int destination_of_copy(struct flow *f, struct place *p, uint64_t *dest, struct err *e)
{
	struct explain *x = f->x;
	struct timeline_point here = p->at;
	cleanup_free char *cmd = str_fmt("info symbol 0x%llx", (unsigned long long)here.pc), *text = NULL;
	struct user_regs_struct r;
	struct stop stop = {0};
	uint64_t offset = 0;
	struct err ignored;
	char *plus;
	int got;

	*dest = 0;
	if (gdb_console(x->g, cmd, &text, &ignored) || !text || !strstr(text, " in section "))
		return 0;
	*strstr(text, " in section ") = '\0';
	plus = strstr(text, " + ");
	if (plus && str_u64(plus + 3, 10, 0, UINT64_MAX, &offset))
		return 0;
	if (offset) {
		breaks_add(&x->t.breaks, here.pc - offset, 0);
		got = travel_back_continue(&x->t, &stop, e);
		breaks_remove(&x->t.breaks, here.pc - offset, 0);
		if (got)
			return -1;
	}
	if ((!offset || stop.kind == STOP_BREAK) && !explain_regs(x, x->t.in.seg.tid, &r, &ignored))
		*dest = r.rdi;
	return offset ? travel_goto_pc(&x->t, here.event, here.pc, here.hits, e) : 0;
}

/* Was something written that the statement did not mean? 1: yes, and the chain ends. */
static int is_overrun(struct flow *f, struct place *p, const struct insn *i, const char *name, const char *before, const char *after,
		      struct err *e)
{
	struct object meant, hit;
	bool member;
	uint64_t base = 0;

	if (p->to_copy) {
		if (destination_of_copy(f, p, &base, e))
			return -1;
	} else {
		base = base_of_store(f, i);
	}
	if (base <= SMALL)
		return 0;
	member = p->to_copy && place_array(p, base, &meant);
	if (!member && (!place_object(p, base, &meant) || !meant.len || !meant.name[0]))
		return 0;
	if (f->l.addr >= meant.lo && f->l.addr < meant.lo + meant.len)
		return 0;
	if (!member && (!place_object(p, f->l.addr, &hit) || hit.lo == meant.lo || !hit.name[0]))
		return 0;
	if (f->l.addr < meant.lo)
		place_step(p, "write", name, before, after, "this wrote in front of %s, and so to %s: it was %s, became %s", meant.name, name,
			   before, after);
	else
		place_step(p, "write", name, before, after, "this wrote behind the end of %s (%llu bytes), and so to %s: it was %s, became %s",
			   meant.name, (unsigned long long)meant.len, name, before, after);
	explain_end(f->x, "computed", "the write was not meant for %s", name);
	return 1;
}

/* Of several sources, the one that makes the address wrong. NULL: nobody can say. */
static const struct insn_loc *wrong_one(struct flow *f, const struct user_regs_struct *r, const struct insn_origin *o)
{
	const struct insn_loc *best = NULL;
	uint64_t v[INSN_SOURCES];
	unsigned mapped = 0, n = 0;
	uint8_t bytes[8];

	if (!f->pointer)
		return NULL;
	for (unsigned k = 0; k < o->n; k++) {
		if (o->from[k].reg == INSN_FLAGS && o->from[k].where == INSN_IN_REG)
			return NULL;
		if (!read_loc(f->x, r, &o->from[k], bytes))
			return NULL;
		v[k] = number_of(bytes, o->from[k].len);
		mapped += is_mapped(f, v[k]);
		n++;
	}
	if (n != 2)
		return NULL;
	for (unsigned k = 0; k < n; k++) {
		uint64_t other = v[!k];

		if (mapped == 1 && is_mapped(f, other))
			best = &o->from[k]; /* an index that is too large */
		else if (!mapped && v[k] == 0 && other < SMALL)
			best = best ? best : &o->from[k]; /* no object, and an offset in it */
		else if (!mapped && v[k] >= SMALL && other < SMALL)
			best = &o->from[k];
	}
	return best;
}

/* *l, which the instruction in front of which it stands has written, comes from `from`. */
static int go_on_with(struct flow *f, const struct user_regs_struct *r, const struct insn_loc *from, bool exactly)
{
	uint8_t v[8];
	unsigned n = from->len < f->l.len ? from->len : f->l.len;

	if (!read_loc(f->x, r, from, v)) {
		explain_end(f->x, "unknown", "the value came from %s, which cannot be read", from->where == INSN_IN_MEM ? "memory" : insn_reg_name(from->reg));
		return FLOW_ENDED;
	}
	if (exactly && memcmp(v, f->value, n)) {
		explain_end(f->x, "unknown", "the value that the instruction seems to copy is another one");
		return FLOW_ENDED;
	}
	f->l = *from;
	memcpy(f->value, v, sizeof(v));
	return FLOW_ON;
}

/* A truth value of flags, or these of an operand that was compared with a constant. */
static bool is_comparison(const struct insn_origin *o)
{
	return (o->what.where == INSN_IN_REG && o->what.reg == INSN_FLAGS) || (o->from[0].where == INSN_IN_REG && o->from[0].reg == INSN_FLAGS);
}

/* Does the chain go on behind it, or is it a statement that made the value? */
static bool is_made(struct flow *f, const struct user_regs_struct *r, const struct insn_origin *o)
{
	switch (o->effect) {
	case INSN_SETS:
		return true;
	case INSN_COMPUTES:
		return !wrong_one(f, r, o);
	case INSN_DERIVES:
		return !f->pointer && !is_comparison(o);
	default:
		return false;
	}
}

/* What an instruction, in front of which it stands, makes of its operands. p: closed here; NULL: it writes a register. */
static int take_origin(struct flow *f, const struct user_regs_struct *r, const struct insn_origin *o, const char *name)
{
	const struct insn_loc *wrong;

	switch (o->effect) {
	case INSN_COPIES:
		return go_on_with(f, r, &o->from[0], true);
	case INSN_DERIVES:
		if (o->from[0].where == INSN_IN_MEM && o->what.where == INSN_IN_MEM && o->from[0].addr == o->what.addr)
			break;
		if (is_comparison(o) || f->pointer) {
			f->derived = true;
			return go_on_with(f, r, &o->from[0], false);
		}
		break;
	case INSN_SETS:
		explain_end(f->x, "constant", "the statement set %s to a constant", name);
		return FLOW_ENDED;
	case INSN_COMPUTES:
		wrong = wrong_one(f, r, o);
		if (wrong) {
			f->derived = true;
			return go_on_with(f, r, wrong, false);
		}
		break;
	case INSN_KEEPS:
		explain_end(f->x, "unknown", "the instruction that wrote %s is not understood", name);
		return FLOW_ENDED;
	}
	explain_end(f->x, "computed", "the statement computed %s", name);
	return FLOW_ENDED;
}

/* In front of the instruction that wrote f->l, in memory. */
static int written_here(struct flow *f, const char *name, struct err *e)
{
	struct explain *x = f->x;
	uint8_t code[INSN_BYTES], was[8];
	cleanup_free char *before = NULL, *after = value_text(f, f->value, f->l.len);
	struct user_regs_struct r;
	struct insn_origin o;
	struct place p;
	struct insn i;
	int got;

	if (read_loc(x, NULL, &f->l, was))
		before = value_text(f, was, f->l.len);
	else
		before = xstrdup("not there");
	f->tid = x->t.in.seg.tid;
	f->last = f->l.addr;
	f->derived = false;
	if (place_open(&p, x, e)) {
		place_close(&p);
		return -1;
	}
	if (explain_regs(x, f->tid, &r, e))
		got = -1;
	else if (sight_is_shim(&x->t.sight, r.rip))
		got = written_by_library(f, &p, name, before, after);
	else if (sight_is_loader(&x->t.sight, r.rip)) {
		never_written(f, name);
		got = FLOW_ENDED;
	} else if (explain_insn(x, &r, code, &i, e)) {
		got = -1;
	} else {
		insn_origin(&i, &f->l, &o);
		got = is_overrun(f, &p, &i, name, before, after, e);
		if (!got) {
			bool exact;
			cleanup_free char *here = place_name(&p, f->l.addr, f->l.len, &exact);
			bool copies = o.effect == INSN_COPIES || (o.effect == INSN_DERIVES && f->pointer);

			place_step(&p, copies ? "copy" : "write", exact ? here : name, before, after,
				   "this wrote %s: it was %s, became %s", exact ? here : name, before, after);
			if (o.what.len < f->l.len && f->pointer && o.effect != INSN_KEEPS) {
				explain_end(x, "computed", "only %u of its %u bytes were written here: the write was not meant for it", o.what.len,
					    f->l.len);
			} else if (o.what.len < f->l.len && o.effect != INSN_KEEPS) {
				memmove(f->value, f->value + (o.what.addr - f->l.addr), o.what.len);
				f->l = o.what;
			}
			/* behind here the travel may have come back from elsewhere: registers are of this state in any case */
			got = x->end_kind ? FLOW_ENDED : take_origin(f, &r, &o, name);
		}
	}
	place_close(&p);
	return got;
}

static bool same_line(const struct explain *x, const struct place *p)
{
	size_t n = json_array_size(x->chain);
	const json_t *last = n ? json_object_get(json_array_get(x->chain, n - 1), "location") : NULL;

	return last && json_equal(json_object_get(last, "file"), json_object_get(p->location, "file")) &&
	       json_equal(json_object_get(last, "line"), json_object_get(p->location, "line")) &&
	       json_equal(json_object_get(last, "function"), json_object_get(p->location, "function"));
}

/* The last step has no name for its value yet. */
static void name_last(struct explain *x, const char *name)
{
	size_t n = json_array_size(x->chain);
	json_t *last = n ? json_array_get(x->chain, n - 1) : NULL;

	if (last && json_is_null(json_object_get(last, "expression")))
		json_object_set_new(last, "expression", json_text(name, strlen(name)));
}

/* Allocated, or freed: the life of the memory begins or ends there. */
static int at_birth(struct flow *f, const char *name, const char *function, struct err *e)
{
	struct explain *x = f->x;
	struct user_regs_struct r;
	struct place p;
	int got = FLOW_ENDED;

	if (place_open(&p, x, e) || explain_regs(x, x->t.in.seg.tid, &r, e)) {
		got = -1;
	} else if (*function) {
		explain_end(x, "never-written", "%s was not set in this call of %s: it still has what lay there before", name, function);
	} else {
		const char *who = called(&p);
		bool frees = is_one_of(who, freeing);

		if (!sight_is_shim(&x->t.sight, r.rip)) {
			place_step(&p, "write", name, NULL, NULL, "this wrote over malloc's administration of %s", name);
			explain_end(x, "computed", "the heap was damaged");
		} else if (frees) {
			place_step(&p, "free", name, NULL, NULL, "the block with %s was freed here, and used afterwards", name);
			explain_end(x, "freed", "the memory was used after it was freed");
		} else {
			place_step(&p, "alloc", name, NULL, NULL, "%s allocated the block with %s", who, name);
			explain_end(x, "never-written", "%s was never set since then: it has what was there before", name);
		}
	}
	place_close(&p);
	return got;
}

/* The value is in memory. */
static int follow_memory(struct flow *f, struct err *e)
{
	struct explain *x = f->x;
	char function[128] = "";
	cleanup_free char *name = NULL;
	uint64_t birth;
	struct object o;
	struct place p;
	bool exact, is_birth;
	int r;

	if (place_open(&p, x, e)) {
		place_close(&p);
		return -1;
	}
	name = place_name(&p, f->l.addr, f->l.len, &exact);
	birth = place_birth(&p, f->l.addr, function, sizeof(function));
	if (!birth && place_object(&p, f->l.addr, &o) && o.heap)
		birth = o.header;
	if (f->derived && f->last == f->l.addr) {
		place_close(&p);
		explain_end(x, "computed", "the statement made %s from its own value before", name);
		return FLOW_ENDED;
	}
	if (same_line(x, &p)) {
		name_last(x, name);
	} else {
		cleanup_free char *v = value_text(f, f->value, f->l.len);

		place_step(&p, "load", name, v, v, "this read %s, which is %s", name, v);
	}
	place_close(&p);
	if (explain_is_over(x))
		return FLOW_ENDED;
	r = flow_last_write(x, f->l.addr, f->l.len, birth, &is_birth, e);
	if (r < 0)
		return -1;
	if (r == 1)
		never_written(f, name);
	if (r)
		return FLOW_ENDED;
	return is_birth ? at_birth(f, name, function, e) : written_here(f, name, e);
}

/* ---- registers ---- */

/* Does a function keep it for its caller? (System V ABI) */
static bool is_kept(unsigned reg)
{
	return reg == INSN_RBX || reg == INSN_RBP || reg == INSN_RSP || (reg >= INSN_R12 && reg <= INSN_R15);
}

static bool is_same_state(const struct user_regs_struct *a, const struct user_regs_struct *b)
{
	bool same = a->rip == b->rip;

	for (unsigned reg = 0; same && reg < INSN_XMM0; reg++)
		same = insn_reg(a, reg) == insn_reg(b, reg);
	return same;
}

/* Over a function that returned, to its call. 1: it did not come there, and the chain has ended. */
static int skip_callee(struct flow *f, uint64_t slot, struct err *e)
{
	struct explain *x = f->x;
	uint8_t code[INSN_BYTES];
	struct user_regs_struct r;
	bool ignored;
	struct insn i;
	int got = flow_last_write(x, slot, 8, 0, &ignored, e);

	if (got)
		return got < 0 ? -1 : 1;
	if (x->t.in.seg.tid == f->tid && !explain_regs(x, f->tid, &r, e) && !explain_insn(x, &r, code, &i, e) && insn_kind(&i) == INSN_CALL)
		return 0;
	explain_end(x, "unknown", "the call of a function that the value outlived is not found");
	return 1;
}

/* A call of the library, as one step, returned it. */
static int by_library(struct flow *f, struct err *e)
{
	struct explain *x = f->x;
	cleanup_free char *v = value_text(f, f->value, f->l.len), *event = NULL;
	struct place p;
	int r = FLOW_ENDED;

	if (place_open(&p, x, e)) {
		r = -1;
	} else {
		const char *who = called(&p);

		event = event_text(x);
		place_step(&p, "return", NULL, NULL, v, "%s returned %s", who, v);
		if (is_one_of(who, allocating))
			explain_end(x, "input", "the value is what %s returned", who);
		else
			explain_end(x, "input", "the value is what %s returned (%s)", who, event ? event : "no event");
	}
	place_close(&p);
	return r;
}

/* The argument of the thread's function: to its creation. 1: that is not where the value came from. */
static int to_creator(struct flow *f, struct err *e)
{
	struct explain *x = f->x;
	uint32_t thread = travel_ordinal(&x->t, f->tid);
	uint64_t total = travel_event(&x->t);
	struct user_regs_struct r;
	struct timeline_event ev;
	struct timeline_walk w;
	uint64_t made = 0;
	int got;

	if (f->l.where != INSN_IN_REG || f->l.reg != INSN_RDI || thread <= 1)
		return 1;
	if (timeline_walk_init(&w, x->nav.t.tl, 1, e))
		return -1;
	while ((got = timeline_walk_next(&w, &ev, e)) > 0 && ev.where.number <= total && !made)
		if (ev.ev.rec.kind == RLOG_CREATE && ev.ev.rec.op[0] == thread)
			made = ev.where.number;
	timeline_walk_fini(&w);
	if (got < 0 || !made)
		return got < 0 ? -1 : 1;
	got = travel_goto_end(&x->t, made - 1, e);
	if (got)
		return got;
	f->tid = x->t.in.seg.tid;
	if (explain_regs(x, f->tid, &r, e))
		return -1;
	f->l.reg = INSN_RCX;
	return go_on_with(f, &r, &f->l, true) == FLOW_ON ? 0 : 2;
}

static int began_with_it(struct flow *f, struct err *e)
{
	int r = to_creator(f, e);
	struct place p;

	if (r < 0)
		return -1;
	if (r) {
		explain_end(f->x, "initial", "the function that the library called began with it");
		return FLOW_ENDED;
	}
	if (place_open(&p, f->x, e)) {
		place_close(&p);
		return -1;
	}
	place_step(&p, "call", NULL, NULL, NULL, "the thread was created here, and got the value as its argument");
	place_close(&p);
	return FLOW_ON;
}

/* A step for a statement that made or passed the value. */
static int tell(struct flow *f, const char *role, const char *front, const char *behind, bool even_here, struct err *e)
{
	cleanup_free char *v = value_text(f, f->value, f->l.len);
	struct place p;
	int r = 0;

	if (place_open(&p, f->x, e))
		r = -1;
	else if (even_here || (json_is_string(json_object_get(p.location, "file")) && !same_line(f->x, &p)))
		place_step(&p, role, NULL, NULL, v, "%s%s%s", front, v, behind);
	place_close(&p);
	return r;
}

static uint64_t word_at(struct explain *x, uint64_t addr)
{
	struct err ignored;
	uint64_t v = 0;

	return trace_read(travel_memory(&x->t), addr, &v, sizeof(v), &ignored) ? 0 : v;
}

/* The value is in a register: to the instruction that put it there. */
static int follow_register(struct flow *f, struct err *e)
{
	struct explain *x = f->x;
	double until = clock_s() + BACK_S;
	struct user_regs_struct now, was;
	uint8_t code[INSN_BYTES];
	struct insn_origin o;
	struct stop stop;
	struct insn i;

	if (explain_regs(x, f->tid, &now, e))
		return -1;
	for (unsigned n = 0;; n++, now = was) {
		enum insn_kind kind;
		uint64_t back = word_at(x, now.rsp); /* in the recorder, where that called the function that begins here */

		if (n == BACK_STEPS || clock_s() > until) {
			explain_end(x, "limit", "%s was set more than %u instructions before", insn_reg_name(f->l.reg), n);
			return FLOW_ENDED;
		}
		if (travel_back_step(&x->t, f->tid, &stop, e))
			return -1;
		if (stop.kind == STOP_FIRST || stop.kind == STOP_BEGIN)
			return began_with_it(f, e);
		if (explain_regs(x, f->tid, &was, e))
			return -1;
		if (is_same_state(&was, &now)) /* with a fault that is yet to come */
			continue;
		if (sight_is_shim(&x->t.sight, was.rip)) {
			if (sight_is_shim(&x->t.sight, back))
				return began_with_it(f, e);
			if (is_kept(f->l.reg))
				continue;
			return by_library(f, e);
		}
		if (explain_insn(x, &was, code, &i, e))
			return -1;
		kind = insn_kind(&i);
		if (kind == INSN_CALL && sight_is_shim(&x->t.sight, back) && back != was.rip + insn_len(&i))
			return began_with_it(f, e);
		if (kind == INSN_RET && is_kept(f->l.reg) && f->l.reg != INSN_RSP && now.rsp > was.rsp) {
			int r = skip_callee(f, was.rsp, e);

			if (r)
				return r < 0 ? -1 : FLOW_ENDED;
			if (explain_regs(x, f->tid, &was, e))
				return -1;
			continue;
		}
		if (kind == INSN_CALL && !is_kept(f->l.reg)) {
			if (tell(f, "call", "", " was passed to the function that is called here", false, e))
				return -1;
			if (explain_is_over(x))
				return FLOW_ENDED;
		}
		insn_origin(&i, &f->l, &o);
		if (o.effect == INSN_KEEPS)
			continue;
		if (o.what.len < f->l.len && o.effect != INSN_SETS) {
			/* the rest comes from elsewhere, as an upper half that is 0 */
			if (o.what.off != f->l.off) {
				explain_end(x, "computed", "the value was put together in a register");
				return tell(f, "write", "this made the value ", "", true, e) ? -1 : FLOW_ENDED;
			}
			f->l.len = o.what.len;
		}
		if (is_made(f, &was, &o) &&
		    tell(f, "write", o.effect == INSN_SETS ? "this set the value to " : "this computed the value ", "", true, e))
			return -1;
		return take_origin(f, &was, &o, "the value");
	}
}

/* ---- both ---- */

static int follow(struct flow *f, struct err *e)
{
	int r = FLOW_ON;

	while (r == FLOW_ON && !explain_is_over(f->x))
		r = f->l.where == INSN_IN_MEM ? follow_memory(f, e) : follow_register(f, e);
	if (r < 0 && explain_may_go_on(f->x, e)) {
		explain_end(f->x, e->kind == ERR_CANCELLED ? "limit" : "unknown", "%s",
			    e->kind == ERR_CANCELLED ? "the search has taken too long to go on" : e->text);
		r = FLOW_ENDED;
	}
	return r < 0 ? -1 : 0;
}

int flow_follow(struct explain *x, pid_t tid, const struct insn_loc *l, bool pointer, struct err *e)
{
	struct flow f = {.x = x, .tid = tid, .l = *l, .pointer = pointer};
	struct user_regs_struct r;

	if (f.l.len > 8)
		f.l.len = 8;
	if (explain_regs(x, tid, &r, e))
		return -1;
	if (!read_loc(x, &r, &f.l, f.value)) {
		explain_end(x, "unknown", "the value cannot be read");
		return 0;
	}
	return follow(&f, e);
}

int flow_follow_write(struct explain *x, pid_t tid, struct err *e)
{
	struct insn_access v[INSN_ACCESSES];
	struct flow f = {.x = x, .tid = tid};
	struct user_regs_struct r;
	uint8_t code[INSN_BYTES];
	struct insn_origin o;
	struct insn i;
	unsigned n;

	if (explain_regs(x, tid, &r, e))
		return -1;
	if (sight_is_shim(&x->t.sight, r.rip) || explain_insn(x, &r, code, &i, e))
		return 0;
	n = insn_accesses(&i, v);
	for (unsigned k = 0; k < n; k++) {
		if (!v[k].writes || v[k].stack || v[k].len > 8)
			continue;
		f.l = (struct insn_loc){.where = INSN_IN_MEM, .addr = v[k].addr, .len = v[k].len};
		insn_origin(&i, &f.l, &o);
		if (o.effect != INSN_COPIES || !read_loc(x, &r, &o.from[0], f.value))
			return 0;
		f.l = o.from[0];
		return follow(&f, e);
	}
	return 0;
}
