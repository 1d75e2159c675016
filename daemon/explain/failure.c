/* SPDX-License-Identifier: MIT */
/* failure.c: see failure.h. What concerns deadlocks is in stuck.c. */
#define LOG_DOMAIN "explain"
#include "explain/failure.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/maps.h"
#include "base/str.h"
#include "debug/travel_int.h"
#include "explain/condition.h"
#include "explain/flow.h"
#include "explain/place.h"
#include "explain/stuck.h"

#define NEAR 65536u /* bytes: so far is a member of an object from its beginning */
#define CYCLE_MAX 16u
#define CYCLE_FRAMES 48u /* that must repeat */

static void set_kind(struct explain *x, const char *kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void set_kind(struct explain *x, const char *kind, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	text = str_vfmt(fmt, ap);
	va_end(ap);
	json_object_set_new(x->failure, "kind", json_string(kind));
	json_object_set_new(x->failure, "text", json_text(text, strlen(text)));
	free(text);
}

static void set_text(struct explain *x, const char *key, const char *text)
{
	json_object_set_new(x->failure, key, json_text(text, strlen(text)));
}

static const char *failure_text(const struct explain *x)
{
	return json_string_value(json_object_get(x->failure, "text"));
}

/* ---- back to the call of a function ---- */

/* To the last entry of one of these functions. 0; 1: there is none, and it stands at its failure; -1. */
static int to_entry(struct explain *x, const char *const *functions, struct err *e)
{
	struct breaks *b = &x->t.breaks;
	struct stop stop = {0};
	struct place p;
	int r = 0;

	if (place_open(&p, x, e))
		r = -1;
	for (const char *const *f = functions; !r && *f; f++) {
		cleanup_free char *at = str_fmt("&'%s'", *f), *plain = str_fmt("&%s", *f);
		uint64_t addr;

		if (place_number(&p, 0, plain, &addr) || place_number(&p, 0, at, &addr))
			breaks_add(b, addr, 0);
	}
	place_close(&p);
	if (!r && !b->n)
		return 1;
	if (!r)
		r = travel_back_continue(&x->t, &stop, e);
	breaks_fini(b);
	if (r && (e->kind != ERR_CANCELLED || op_cancelled(x->ctx)))
		return -1;
	if (!r && stop.kind == STOP_BREAK)
		return 0;
	return explain_goto_failure(x, e) ? -1 : 1;
}

/* From here on this is where it failed. */
static int failed_here(struct explain *x, struct err *e)
{
	x->tid = x->t.in.seg.tid;
	return travel_where(&x->t, &x->at, e);
}

static char *string_at(struct explain *x, uint64_t addr)
{
	char s[512];
	struct err ignored;
	size_t n = 0;

	while (n + 1 < sizeof(s) && !trace_read(travel_memory(&x->t), addr + n, &s[n], 1, &ignored) && s[n])
		n++;
	s[n] = '\0';
	return n ? xstrdup(s) : NULL;
}

static uint64_t memory_word(struct explain *x, uint64_t addr)
{
	struct err ignored;
	uint64_t v = 0;

	return trace_read(travel_memory(&x->t), addr, &v, sizeof(v), &ignored) ? 0 : v;
}

#define NEAR_STEPS 64u

/* Back in the function, to the last instruction that has compared a pointer which is null: *l. 0: there; 1: none was met; -1. */
static int to_null_test(struct explain *x, struct insn_loc *l, struct err *e)
{
	struct user_regs_struct r;
	uint8_t code[INSN_BYTES];
	struct stop stop;
	struct insn i;

	for (unsigned n = 0; n < NEAR_STEPS; n++) {
		struct insn_loc flags = {.where = INSN_IN_REG, .reg = INSN_FLAGS, .len = 8};
		struct insn_origin o;
		enum insn_kind kind;

		if (travel_back_step(&x->t, x->tid, &stop, e) || explain_regs(x, x->tid, &r, e))
			return -1;
		if (stop.kind != STOP_STEP || sight_is_shim(&x->t.sight, r.rip) || explain_insn(x, &r, code, &i, e))
			return 1;
		kind = insn_kind(&i);
		if (kind == INSN_CALL || kind == INSN_RET)
			return 1;
		insn_origin(&i, &flags, &o);
		if (o.effect != INSN_DERIVES || o.from[0].len != 8 || insn_operands(&i, l, 1) != 1)
			continue;
		if ((l->where == INSN_IN_REG ? insn_reg(&r, l->reg) : memory_word(x, l->addr)) == 0)
			return 0;
	}
	return 1;
}

/* A step for the failure, where it stands. */
static int tell_failure(struct explain *x, struct place *p, struct err *e)
{
	if (place_open(p, x, e))
		return -1;
	place_step(p, "failure", NULL, NULL, NULL, "%s", failure_text(x));
	return 0;
}

/* The innermost frame behind `level` that has source. */
static int with_source(const struct place *p, int level)
{
	for (size_t i = (size_t)level; i < p->nframes; i++)
		if (p->frames[i].fullname && p->frames[i].line > 0)
			return (int)i;
	return -1;
}

/* ---- assertions ---- */

static const char *const asserting[] = {"__assert_fail", "__assert", NULL};

static int explain_assertion(struct explain *x, struct err *e)
{
	struct user_regs_struct r;
	cleanup_free char *expr = NULL;
	struct place p = {.x = x};
	int level, got;

	got = to_entry(x, asserting, e);
	if (got)
		return got;
	if (failed_here(x, e) || explain_regs(x, x->tid, &r, e))
		return -1;
	expr = string_at(x, r.rdi);
	set_kind(x, "assertion", "the assertion `%s' failed", expr ? expr : "?");
	if (expr)
		set_text(x, "expression", expr);
	got = tell_failure(x, &p, e);
	level = got ? -1 : with_source(&p, 1);
	if (got || !expr || level < 0) {
		place_close(&p);
		explain_end(x, "unknown", "the assertion's text, or its frame, is not known");
		return got;
	}
	return condition_search(x, &p, level, expr, CONDITION_OF_ALL, e) < 0 ? -1 : 0;
}

/* ---- what a condition of the program's own has decided ---- */

#define BRANCH_STEPS 3000u

/*
 * From the entry of a function back to its caller, and there to the branch in the lines of the condition; c NULL: to the last one. 0:
 * there; 1: none was met; -1. What it called meanwhile is skipped.
 */
static int to_branch(struct explain *x, const struct condition *c, struct err *e)
{
	struct user_regs_struct r;
	uint64_t frame;
	bool ignored;
	int got;

	/* from the entry of what was called, over a loader that may have looked it up */
	if (explain_regs(x, x->tid, &r, e))
		return -1;
	got = flow_last_write(x, r.rsp, 8, 0, &ignored, e);
	if (got || explain_regs(x, x->tid, &r, e))
		return got > 0 ? 1 : -1;
	frame = r.rsp;
	for (unsigned n = 0; n < BRANCH_STEPS && !explain_is_over(x); n++) {
		uint8_t code[INSN_BYTES];
		struct gdb_line line = {0};
		enum insn_kind kind;
		struct place p;
		struct stop stop;
		struct insn i;
		bool is;

		if (travel_back_step(&x->t, x->tid, &stop, e))
			return -1;
		if (stop.kind != STOP_STEP)
			return 1;
		if (explain_regs(x, x->tid, &r, e) || sight_is_shim(&x->t.sight, r.rip) || explain_insn(x, &r, code, &i, e))
			continue;
		kind = insn_kind(&i);
		if (kind == INSN_RET && r.rsp < frame) {
			if (flow_last_write(x, r.rsp, 8, 0, &ignored, e))
				return x->end_kind ? 1 : -1;
			continue;
		}
		if (r.rsp > frame + 8)
			return 1;
		if (kind != INSN_BRANCH || r.rsp != frame)
			continue;
		if (place_open(&p, x, e) || gdb_line_at(x->g, r.rip, &line, e)) {
			place_close(&p);
			return -1;
		}
		is = line.line >= c->from && line.line <= c->to;
		gdb_line_fini(&line);
		place_close(&p);
		if (is)
			return 0;
	}
	return 1;
}

/* The condition cannot be evaluated: what the instruction compared that decided its branch. 0: found; 1: not. */
static int by_branch(struct explain *x, const struct condition *c, struct err *e)
{
	struct insn_loc flags = {.where = INSN_IN_REG, .reg = INSN_FLAGS, .len = 8};
	size_t before = json_array_size(x->chain);
	int r = explain_goto_failure(x, e) ? -1 : to_branch(x, c, e);

	if (!r)
		r = flow_follow(x, x->tid, &flags, false, e);
	if (r < 0 && !explain_may_go_on(x, e))
		return -1;
	if (!r && json_array_size(x->chain) > before && !str_eq(x->end_kind, "unknown") && !str_eq(x->end_kind, "limit"))
		return 0;
	/* it led nowhere */
	while (json_array_size(x->chain) > before)
		json_array_remove(x->chain, before);
	x->end_kind = NULL;
	return 1;
}

/*
 * Whether the `if` around the statement of a frame tells more. p is open at that place, and is closed. called: it stands at a function
 * that the statement has called.
 */
static int by_condition(struct explain *x, struct place *p, int level, bool called, enum condition_of of, struct err *e)
{
	cleanup_free char *expr = NULL;
	struct condition c = {0};
	int r = 1;

	if (level >= 0)
		condition_at(p, level, &c);
	if (c.text && !c.effects) {
		expr = condition_good(&c);
		r = condition_search(x, p, level, expr, of, e);
	} else {
		place_close(p);
	}
	if (r == 1 && c.text && called)
		r = by_branch(x, &c, e);
	if (!r && called && json_array_size(x->chain) > 1)
		x->found = true;
	condition_fini(&c);
	return r;
}

/*
 * Where the value came from says nothing of why it was used there. The chain ended at its first step: the condition under which the
 * statement was executed is the next thing to ask about.
 */
static int why_here(struct explain *x, struct err *e)
{
	struct place p;
	int r;

	if (json_array_size(x->chain) != 1 || !x->end_kind ||
	    !(str_eq(x->end_kind, "initial") || str_eq(x->end_kind, "constant")))
		return 0;
	if (explain_goto_failure(x, e) || place_open(&p, x, e)) {
		place_close(&p);
		return -1;
	}
	{
		const char *kind = x->end_kind;
		cleanup_free char *text = xstrdup(x->end_text);

		x->end_kind = NULL;
		r = by_condition(x, &p, p.user, false, CONDITION_OF_ALL, e);
		if (r < 0)
			return -1;
		if (r)
			explain_end_instead(x, kind, "%s", text);
		else
			explain_note(x, "%s; so this is about why the statement was executed", text);
	}
	return 0;
}

/* ---- faults ---- */

struct fault {
	int sig, code;
	uint64_t addr, pc;
};

/* Do the innermost frames repeat? The names of one round, joined; NULL: they do not. malloc'd. */
static char *cycle_of(const struct place *p)
{
	size_t first = (size_t)p->user;

	for (unsigned period = 1; period <= CYCLE_MAX; period++) {
		struct buf b = {0};
		bool same = p->nframes >= first + CYCLE_FRAMES + period;

		for (size_t i = first; same && i < first + CYCLE_FRAMES; i++)
			same = str_eq(place_function(p, i), place_function(p, i + period));
		if (!same)
			continue;
		for (unsigned i = period; i > 0; i--)
			buf_addf(&b, "%s calls ", place_function(p, first + i - 1));
		buf_add_str(&b, place_function(p, first + period - 1));
		return buf_steal(&b);
	}
	return NULL;
}

/* Below the stack, and near to its pointer? */
static bool is_below_stack(struct explain *x, const struct fault *f, const struct user_regs_struct *r)
{
	struct mapping m;
	int64_t away = (int64_t)(r->rsp - f->addr);

	if (away > (int64_t)(8u << 20) || away < -4096)
		return false;
	return !maps_find(travel_memory(&x->t), f->addr, &m) || !m.write;
}

static int explain_overflow(struct explain *x, struct place *p, const char *cycle)
{
	cleanup_free char *text = xstrdup(cycle);

	place_step(p, "failure", NULL, NULL, NULL, "%s", failure_text(x));
	place_step(p, "recursion", NULL, NULL, NULL, "the recursion does not end: %s", text);
	explain_end(x, "recursion", "the functions call each other without end: %s", text);
	x->found = true;
	return 0;
}

/* The operand that made the access bad. false: nobody can say. */
static bool bad_operand(struct explain *x, const struct insn *i, const struct fault *f, struct insn_loc *l, struct buf *words)
{
	struct insn_access v[INSN_ACCESSES];
	unsigned n = insn_accesses(i, v), reg;
	const struct insn_access *a = NULL;
	struct mapping m;

	for (unsigned k = 0; k < n; k++)
		if (!a || (f->addr >= v[k].addr && f->addr < v[k].addr + v[k].len))
			a = &v[k];
	if (!a)
		return false;
	reg = a->base;
	if (a->index != INSN_NO_REG) {
		uint64_t base = a->base == INSN_NO_REG ? (uint64_t)a->disp : insn_reg(i->regs, a->base);

		/* an index into something that is there is what is wrong */
		if (reg == INSN_NO_REG || maps_find(travel_memory(&x->t), base + (a->base == INSN_NO_REG ? 0 : 0), &m))
			reg = a->index;
	}
	if (reg == INSN_NO_REG)
		return false;
	*l = (struct insn_loc){.where = INSN_IN_REG, .reg = reg, .len = 8};
	buf_addf(words, "%s 0x%llx, %s being 0x%llx", a->writes ? "it wrote to" : "it read", (unsigned long long)a->addr,
		 insn_reg_name(reg), (unsigned long long)insn_reg(i->regs, reg));
	return true;
}

/* In a function of the recorder's that stands for one of libc's: the argument that the access began from. */
static bool bad_argument(const struct user_regs_struct *r, const struct fault *f, struct insn_loc *l, struct buf *words)
{
	static const unsigned args[] = {INSN_RDI, INSN_RSI, INSN_RDX, INSN_RCX, 8, 9};
	unsigned best = INSN_NO_REG;

	for (unsigned k = 0; k < sizeof(args) / sizeof(args[0]); k++) {
		uint64_t v = insn_reg(r, args[k]);
		bool wild = v >> 47 && v >> 47 != 0x1ffff;

		if (wild ? f->addr == 0 : f->addr >= v && f->addr - v < NEAR) {
			if (best == INSN_NO_REG || insn_reg(r, best) < v)
				best = args[k];
		}
	}
	if (best == INSN_NO_REG)
		return false;
	*l = (struct insn_loc){.where = INSN_IN_REG, .reg = best, .len = 8};
	buf_addf(words, "its argument in %s is 0x%llx", insn_reg_name(best), (unsigned long long)insn_reg(r, best));
	return true;
}

static void name_fault(struct explain *x, const struct fault *f, const char *words)
{
	const char *name = sigabbrev_np(f->sig);
	bool freed = false;
	cleanup_free char *addr = str_fmt("0x%llx", (unsigned long long)f->addr);

	(void)freed;
	set_text(x, "address", addr);
	set_kind(x, "segfault", "SIG%s: %s", name ? name : "?", words);
}

/* The call that returns to ret: its address; 0: what is there is none. */
static uint64_t call_before(struct explain *x, uint64_t ret)
{
	struct user_regs_struct r = {0};
	uint8_t code[INSN_BYTES];
	struct err ignored;

	for (unsigned n = 2; n <= 8; n++) {
		struct insn i = {code, n, &r};

		r.rip = ret - n;
		if (!trace_read(travel_memory(&x->t), r.rip, code, n, &ignored) && insn_len(&i) == n && insn_kind(&i) == INSN_CALL)
			return r.rip;
	}
	return 0;
}

/*
 * To the last call in this segment of the instruction at pc, if it went to `target`. 0: there; 1: it did not; -1.
 */
static int to_call(struct explain *x, uint64_t pc, uint64_t target, struct insn_loc *l, struct err *e)
{
	struct breaks b = {.scene = x->t.breaks.scene};
	uint64_t event = x->t.in.n, v = 0;
	struct user_regs_struct r;
	uint8_t code[INSN_BYTES];
	struct stop stop;
	struct insn i;
	int got;

	breaks_add(&b, pc, 0);
	got = inside_last_stop(&x->t.in, &b, &stop, e);
	breaks_fini(&b);
	if (got < 0)
		return -1;
	x->t.tid = x->t.in.seg.tid;
	if (!got && !explain_regs(x, x->t.tid, &r, e) && !explain_insn(x, &r, code, &i, e) && insn_operands(&i, l, 1))
		v = l->where == INSN_IN_REG ? insn_reg(&r, l->reg) : memory_word(x, l->addr);
	if (!got && v == target) {
		x->no_code = false;
		return 0;
	}
	return travel_goto_end(&x->t, event, e) ? -1 : 1;
}

/* Went to where there is no code: by what the instruction before read. */
static int explain_jump(struct explain *x, const struct fault *f, struct err *e)
{
	cleanup_free char *addr = str_fmt("0x%llx", (unsigned long long)f->pc);
	struct user_regs_struct r;
	const char *how = "went to";
	struct insn_loc l = {0};
	struct place p;
	uint64_t call;
	int got = 1;

	set_text(x, "address", addr);
	if (explain_regs(x, x->tid, &r, e))
		return -1;
	call = x->no_code ? call_before(x, memory_word(x, r.rsp)) : 0;
	if (call)
		got = to_call(x, call, f->pc, &l, e);
	if (got < 0)
		return -1;
	if (!got) {
		how = "called a function at";
		if (failed_here(x, e))
			return -1;
	} else if (memory_word(x, r.rsp - 8) == f->pc) {
		how = "returned to";
		l = (struct insn_loc){.where = INSN_IN_MEM, .addr = r.rsp - 8, .len = 8};
	}
	set_kind(x, "jump", "the program %s %s, where there is no code", how, addr);
	if (tell_failure(x, &p, e)) {
		place_close(&p);
		return -1;
	}
	place_close(&p);
	if (!l.len) {
		explain_end(x, "unknown", "the instruction that went there is not known");
		return 0;
	}
	return flow_follow(x, x->tid, &l, true, e);
}

/* Does the instruction go to an address that none can be? (not canonical: the processor faults before it goes) */
static bool goes_astray(struct explain *x, const struct insn *i, struct insn_loc *l, uint64_t *target)
{
	enum insn_kind kind = insn_kind(i);

	if ((kind != INSN_RET && kind != INSN_CALL && kind != INSN_JUMP) || !insn_operands(i, l, 1))
		return false;
	*target = l->where == INSN_IN_REG ? insn_reg(i->regs, l->reg) : memory_word(x, l->addr);
	return *target >> 47 && *target >> 47 != 0x1ffff;
}

/* It stands at an instruction that goes to the address at l. */
static int explain_target(struct explain *x, const struct insn_loc *l, enum insn_kind kind, uint64_t target, struct err *e)
{
	cleanup_free char *addr = str_fmt("0x%llx", (unsigned long long)target);
	struct place p;
	int r;

	set_text(x, "address", addr);
	set_kind(x, "jump", "the program %s %s, which is no address",
		 kind == INSN_RET ? "returned to" : kind == INSN_CALL ? "called a function at" : "went to", addr);
	r = tell_failure(x, &p, e);
	place_close(&p);
	return r ? -1 : flow_follow(x, x->tid, l, true, e);
}

static int explain_division(struct explain *x, struct err *e)
{
	struct user_regs_struct r;
	uint8_t code[INSN_BYTES];
	struct insn_loc l;
	struct place p;
	struct insn i;

	set_kind(x, "divide", "SIGFPE: an integer was divided by zero, or the result is too large");
	if (explain_regs(x, x->tid, &r, e) || tell_failure(x, &p, e)) {
		place_close(&p);
		return -1;
	}
	place_close(&p);
	if (explain_insn(x, &r, code, &i, e) || !insn_operands(&i, &l, 1)) {
		explain_end(x, "unknown", "the divisor is not known");
		return 0;
	}
	return flow_follow(x, x->tid, &l, false, e);
}

static bool is_code(struct explain *x, uint64_t pc)
{
	struct mapping m;

	return maps_find(travel_memory(&x->t), pc, &m) && m.exec;
}

/* Does it access an address that no register is part of? The compiler knew what the pointer is. */
static bool is_absolute(const struct insn *i)
{
	struct insn_access v[INSN_ACCESSES];
	unsigned n = insn_accesses(i, v);

	return n && v[0].base == INSN_NO_REG && v[0].index == INSN_NO_REG && !v[0].stack;
}

/* The compiler knew that the pointer is null where it made this path of the code: a test in front of it has said so. */
static int known_address(struct explain *x, struct err *e)
{
	struct insn_loc l;
	int r = to_null_test(x, &l, e);

	if (r < 0)
		return -1;
	if (!r)
		return flow_follow(x, x->tid, &l, true, e);
	explain_end(x, "constant", "the address is a constant of the instruction");
	return 0;
}

static int explain_fault(struct explain *x, const struct fault *f, struct err *e)
{
	cleanup_buf struct buf words = {0};
	cleanup_free char *cycle = NULL;
	struct user_regs_struct r;
	uint8_t code[INSN_BYTES];
	struct insn_loc l;
	struct place p;
	uint64_t target;
	bool known, shim;
	struct insn i;

	if (f->sig == SIGFPE)
		return explain_division(x, e);
	if (explain_regs(x, x->tid, &r, e))
		return -1;
	if (!is_code(x, f->pc))
		return explain_jump(x, f, e);
	if (outside_hides(&x->t.outside, &x->t.sight, travel_memory(&x->t), &r)) {
		struct stop stop;

		/* in what the recorder's function has called: to the program's call of that */
		if (travel_back_step(&x->t, x->tid, &stop, e) || failed_here(x, e) || explain_regs(x, x->tid, &r, e))
			return -1;
	}
	if (place_open(&p, x, e)) {
		place_close(&p);
		return -1;
	}
	if (!explain_insn(x, &r, code, &i, e) && goes_astray(x, &i, &l, &target)) {
		place_close(&p);
		return explain_target(x, &l, insn_kind(&i), target, e);
	}
	cycle = is_below_stack(x, f, &r) ? cycle_of(&p) : NULL;
	if (cycle) {
		set_kind(x, "stack-overflow", "the stack overflowed");
		explain_overflow(x, &p, cycle);
		place_close(&p);
		return 0;
	}
	if (f->sig != SIGSEGV && f->sig != SIGBUS) {
		set_kind(x, "illegal", "SIG%s at 0x%llx", sigabbrev_np(f->sig), (unsigned long long)f->pc);
		place_step(&p, "failure", NULL, NULL, NULL, "%s", failure_text(x));
		explain_end(x, "decided", "the program executed this instruction: a trap of its own, or a compiler's, or no code");
		x->found = true;
		if (by_condition(x, &p, p.user, false, CONDITION_OF_ALL, e) < 0)
			return -1;
		return 0;
	}
	shim = sight_is_shim(&x->t.sight, r.rip);
	if (shim)
		buf_addf(&words, "in %s, ", place_function(&p, 0));
	known = shim ? bad_argument(&r, f, &l, &words) : !explain_insn(x, &r, code, &i, e) && bad_operand(x, &i, f, &l, &words);
	if (!known)
		buf_addf(&words, "access to 0x%llx", (unsigned long long)f->addr);
	name_fault(x, f, buf_str(&words));
	place_step(&p, "failure", NULL, NULL, NULL, "%s", failure_text(x));
	place_close(&p);
	if (!known) {
		if (!shim && !explain_insn(x, &r, code, &i, e) && is_absolute(&i))
			return known_address(x, e);
		explain_end(x, "unknown", "what made the address is not known");
		return 0;
	}
	return flow_follow(x, x->tid, &l, true, e);
}

/* ---- the heap ---- */

static const char *const releasing[] = {"free", "realloc", "reallocarray", "cfree", NULL};

/* It stands at the call of free or realloc that was refused. */
static int explain_release(struct explain *x, struct err *e)
{
	struct user_regs_struct r;
	struct object o = {0};
	bool freed, is_birth;
	struct place p;
	int got;

	if (failed_here(x, e) || explain_regs(x, x->tid, &r, e) || place_open(&p, x, e))
		return -1;
	freed = place_object(&p, r.rdi, &o) && o.heap && o.freed && o.lo == r.rdi;
	if (freed)
		set_kind(x, "double-free", "%s was called for the block at 0x%llx, which is free already", place_function(&p, 0),
			 (unsigned long long)r.rdi);
	else
		set_kind(x, "heap", "%s was called for 0x%llx, which is no block of the heap", place_function(&p, 0), (unsigned long long)r.rdi);
	place_step(&p, "failure", NULL, NULL, NULL, "%s", failure_text(x));
	place_close(&p);
	if (!freed) {
		struct insn_loc l = {.where = INSN_IN_REG, .reg = INSN_RDI, .len = 8};

		if (o.heap && o.lo != r.rdi) /* in the middle of one */
			return flow_follow(x, x->tid, &l, true, e);
		if (r.rdi % 16 == 0 && r.rdi > NEAR) {
			struct insn_loc head = {.where = INSN_IN_MEM, .addr = r.rdi - 16, .len = 8};
			struct err ignored;
			uint64_t v;

			/* a block whose header was overwritten */
			if (r.rdi >= 0x200000000000ull && r.rdi < 0x500000000000ull &&
			    !trace_read(travel_memory(&x->t), head.addr, &v, sizeof(v), &ignored))
				return flow_follow(x, x->tid, &head, false, e);
		}
		return flow_follow(x, x->tid, &l, true, e);
	}
	got = flow_last_write(x, o.header, 8, 0, &is_birth, e);
	if (got)
		return got < 0 ? -1 : 0;
	if (place_open(&p, x, e)) {
		place_close(&p);
		return -1;
	}
	place_step(&p, "free", o.name, NULL, NULL, "%s was freed here for the first time", o.name);
	explain_end(x, "freed", "the block was freed here, and once more at the failure");
	x->found = true;
	place_close(&p);
	return 0;
}

/* ---- exceptions ---- */

static const char *const throwing[] = {"__cxa_throw", NULL};

static char *symbol_at(struct place *p, uint64_t addr)
{
	cleanup_free char *cmd = str_fmt("info symbol 0x%llx", (unsigned long long)addr), *text = NULL;
	struct err ignored;
	char *end;

	if (gdb_console(p->x->g, cmd, &text, &ignored) || !text || !(end = strstr(text, " in section ")))
		return NULL;
	*end = '\0';
	if (strstr(text, "@"))
		*strstr(text, "@") = '\0'; /* a version */
	return xstrdup(text);
}

static uint64_t word_at(struct place *p, uint64_t addr)
{
	struct err ignored;
	uint64_t v = 0;

	return trace_read(p->copy, addr, &v, sizeof(v), &ignored) ? 0 : v;
}

/* What an object of a class derived from std::exception says; malloc'd. NULL: it is none. */
static char *what_of(struct place *p, uint64_t object)
{
	uint64_t what = word_at(p, word_at(p, object) + 16);
	cleanup_free char *name = what ? symbol_at(p, what) : NULL, *call = NULL, *value = NULL;
	char *open, *close;

	if (!name || !strstr(name, "::what() const"))
		return NULL;
	call = str_fmt("((const char *(*)(void *)) 0x%llx)((void *) 0x%llx)", (unsigned long long)what, (unsigned long long)object);
	value = place_eval(p, 0, call);
	open = value ? strchr(value, '"') : NULL;
	close = open ? strrchr(open + 1, '"') : NULL;
	return close ? xstrndup(open + 1, (size_t)(close - open - 1)) : NULL;
}

static int explain_exception(struct explain *x, struct err *e)
{
	cleanup_free char *type = NULL, *what = NULL, *name = NULL;
	struct user_regs_struct r;
	struct place p;
	int got;

	set_kind(x, "terminate", "std::terminate was called");
	got = tell_failure(x, &p, e);
	place_close(&p);
	if (got)
		return -1;
	got = to_entry(x, throwing, e);
	if (got < 0)
		return -1;
	if (got) {
		explain_end(x, "decided", "no exception was thrown before");
		x->found = true;
		return 0;
	}
	if (explain_regs(x, x->t.in.seg.tid, &r, e) || place_open(&p, x, e)) {
		place_close(&p);
		return -1;
	}
	name = symbol_at(&p, r.rsi);
	type = name && str_starts(name, "typeinfo for ") ? xstrdup(name + strlen("typeinfo for ")) : xstrdup("?");
	what = what_of(&p, r.rdi);
	set_kind(x, "exception", "nobody caught an exception of type %s%s%s", type, what ? ": " : "", what ? what : "");
	set_text(x, "type", type);
	if (what)
		set_text(x, "what", what);
	json_object_set(json_array_get(x->chain, 0), "words", json_object_get(x->failure, "text"));
	if (x->t.in.seg.tid != x->tid)
		explain_note(x, "the last exception before the failure was thrown by another thread");
	place_step(&p, "throw", NULL, NULL, what, "an exception of type %s was thrown here%s%s", type, what ? ": " : "", what ? what : "");
	place_close(&p);
	explain_end(x, "thrown", "the exception was thrown here");
	x->found = true;
	return 0;
}

/* ---- abort ---- */

static const char *const terminating[] = {"std::terminate", "__gnu_cxx::__verbose_terminate_handler", "__cxxabiv1::__terminate",
					  "__cxa_pure_virtual", "__cxa_bad_cast", NULL};
/* A frame of these, and abort above it: libc's own allocator found something. */
static const char *const checking[] = {"malloc_printerr", "free", "malloc", "calloc", "realloc", "cfree", "__libc_free", NULL};
static const char *const smashed[] = {"__stack_chk_fail", NULL};
static const char *const aborting[] = {"abort", NULL};
static const char *const freeing[] = {"free", "cfree", "realloc", NULL};

static int plain_abort(struct explain *x, struct err *e)
{
	struct place p;
	int got = to_entry(x, aborting, e);

	if (got < 0 || failed_here(x, e))
		return -1;
	set_kind(x, "abort", "the program aborted");
	if (tell_failure(x, &p, e)) {
		place_close(&p);
		return -1;
	}
	x->found = true;
	if (by_condition(x, &p, with_source(&p, 0), true, CONDITION_OF_ALL, e) < 0)
		return -1;
	explain_end(x, "decided", "the program called abort here");
	return 0;
}

static int explain_abort(struct explain *x, struct err *e)
{
	bool asserts, terminates, checks, smashes;
	struct user_regs_struct r;
	bool shim;
	struct place p;

	if (explain_regs(x, x->tid, &r, e) || place_open(&p, x, e)) {
		place_close(&p);
		return -1;
	}
	asserts = place_find(&p, asserting) >= 0;
	terminates = place_find(&p, terminating) >= 0;
	checks = place_find(&p, checking) >= 0;
	smashes = place_find(&p, smashed) >= 0;
	shim = sight_is_shim(&x->t.sight, r.rip) && place_find(&p, releasing) == 0;
	place_close(&p);
	if (asserts)
		return explain_assertion(x, e);
	if (terminates)
		return explain_exception(x, e);
	if (shim)
		return explain_release(x, e);
	if (checks || smashes) {
		int got = checks ? to_entry(x, freeing, e) : 1;

		if (got < 0)
			return -1;
		if (!got)
			return explain_release(x, e);
		set_kind(x, smashes ? "smashed-stack" : "heap", smashes ? "a function's stack was overwritten (stack smashing detected)"
									: "a check of the C library failed");
		if (tell_failure(x, &p, e)) {
			place_close(&p);
			return -1;
		}
		place_close(&p);
		explain_end(x, "unknown", "what was overwritten is not followed");
		return 0;
	}
	return plain_abort(x, e);
}

/* ---- exit ---- */

/* What a return statement returns, malloc'd; NULL: it is none, or a constant. */
static char *returned(const struct place *p, bool constant)
{
	const char *text = json_string_value(json_object_get(p->location, "text"));
	const char *s = text ? strstr(text, "return ") : NULL, *end = s ? strchr(s, ';') : NULL;
	char *expr;

	if (!end)
		return NULL;
	s += strlen("return ");
	if (constant) /* one of two, by a condition */
		end = memchr(s, '?', (size_t)(end - s));
	if (!end)
		return NULL;
	expr = xstrndup(s, (size_t)(end - s));
	if (strspn(expr, "0123456789 ()-") == strlen(expr)) {
		free(expr);
		return NULL;
	}
	return expr;
}

/* The status was made by a statement: its condition, or what it returns, turned somewhere. */
static int why_status(struct explain *x, struct err *e)
{
	const json_t *last = json_array_get(x->chain, json_array_size(x->chain) - 1), *pos = json_object_get(last, "position");
	const char *kind = x->end_kind ? x->end_kind : "";
	cleanup_free char *text = x->end_text ? xstrdup(x->end_text) : NULL, *expr = NULL, *not = NULL;
	uint64_t pc;
	struct place p;
	int r = 1;

	if (!(str_eq(kind, "constant") || str_eq(kind, "computed")) ||
	    str_u64(json_string_value(json_object_get(pos, "pc")), 0, 1, UINT64_MAX, &pc))
		return 0;
	if (travel_goto_pc(&x->t, (uint64_t)json_integer_value(json_object_get(pos, "event")), pc,
			   (uint64_t)json_integer_value(json_object_get(pos, "hits")), e) ||
	    place_open(&p, x, e)) {
		place_close(&p);
		return -1;
	}
	x->end_kind = NULL;
	expr = returned(&p, str_eq(kind, "constant"));
	if (expr) {
		cleanup_free char *truth = str_fmt("(%s) ? 1 : 0", expr), *value = place_eval(&p, p.user, truth);

		not = value && str_eq(value, "0") ? xstrdup(expr) : str_fmt("!(%s)", expr);
		r = condition_search(x, &p, p.user, not, CONDITION_OF_OBJECTS, e);
	} else {
		r = by_condition(x, &p, p.user, false, CONDITION_OF_OBJECTS, e);
	}
	if (r < 0)
		return -1;
	if (r)
		explain_end_instead(x, str_eq(kind, "constant") ? "constant" : "computed", "%s", text);
	return 0;
}

static const char *const exiting[] = {"exit", "_exit", "_Exit", "quick_exit", NULL};
static const char *const exit_alone[] = {"exit", "quick_exit", NULL};

/* To the call by which the program, or main's caller, ended it. As to_entry. */
static int to_exit(struct explain *x, struct err *e)
{
	int got = to_entry(x, exiting, e);
	bool inner;
	struct place p;

	if (got)
		return got;
	if (place_open(&p, x, e)) {
		place_close(&p);
		return -1;
	}
	inner = place_find(&p, exit_alone) > 0;
	place_close(&p);
	return inner ? to_entry(x, exit_alone, e) : 0;
}

static int explain_exit(struct explain *x, struct err *e)
{
	struct insn_loc l = {.where = INSN_IN_REG, .reg = INSN_RDI, .len = 4};
	struct user_regs_struct r;
	struct place p;
	int got = to_exit(x, e);

	set_kind(x, "exit", "the program exited with status %d", x->ending.value);
	json_object_set_new(x->failure, "code", json_integer(x->ending.value));
	if (got < 0 || failed_here(x, e) || explain_regs(x, x->tid, &r, e) || tell_failure(x, &p, e)) {
		if (got >= 0)
			place_close(&p);
		return -1;
	}
	place_close(&p);
	if (got || (int)(r.rdi & 0xff) != x->ending.value) {
		explain_end(x, "unknown", "the call that ended the program is not found");
		return 0;
	}
	x->found = true;
	if (flow_follow(x, x->tid, &l, false, e))
		return -1;
	return why_status(x, e);
}

/* ---- all ---- */

static int read_fault(struct explain *x, struct fault *f, struct err *e)
{
	struct timeline_event ev;

	if (timeline_read(x->nav.t.tl, nav_total(&x->nav), &ev, e))
		return -1;
	*f = (struct fault){.sig = x->ending.value, .code = 0};
	if (ev.ev.rec.kind == RLOG_CRASH)
		*f = (struct fault){(int)ev.ev.rec.op[0], (int)(int64_t)ev.ev.rec.op[1], ev.ev.rec.op[2], ev.ev.rec.op[3]};
	return 0;
}

static int explain_signal(struct explain *x, const struct fault *f, struct err *e)
{
	const char *name = sigabbrev_np(f->sig);
	struct place p;
	int r;

	set_kind(x, "signal", "the program was ended by SIG%s", name ? name : "?");
	r = tell_failure(x, &p, e);
	place_close(&p);
	explain_end(x, "decided", "the signal was sent");
	return r;
}

static int explain_crash(struct explain *x, struct err *e)
{
	struct fault f;
	int r;

	if (read_fault(x, &f, e))
		return -1;
	json_object_set_new(x->failure, "signal", json_integer(f.sig));
	if (sigabbrev_np(f.sig))
		json_object_set_new(x->failure, "signal_name", json_sprintf("SIG%s", sigabbrev_np(f.sig)));
	if (f.sig == SIGABRT && stuck_is(x))
		return stuck_explain(x, e);
	if (explain_goto_failure(x, e))
		return -1;
	if (f.sig == SIGABRT)
		return explain_abort(x, e);
	r = f.code > 0 ? explain_fault(x, &f, e) : explain_signal(x, &f, e);
	return r ? -1 : why_here(x, e);
}

/* A chain of more than the failure leads somewhere, if nothing was left open. */
static void judge(struct explain *x)
{
	static const char *const open[] = {"unknown", "limit", NULL};

	if (json_array_size(x->chain) > 1)
		x->found = true;
	for (const char *const *k = open; *k; k++)
		if (str_eq(x->end_kind, *k) && json_array_size(x->chain) <= 1)
			x->found = false;
	if (json_array_size(x->chain) == 1 && x->end_kind && !str_eq(x->end_kind, "unknown") && !str_eq(x->end_kind, "limit"))
		x->found = true;
}

int failure_explain(struct explain *x, struct err *e)
{
	int r = 0;

	switch (x->ending.how) {
	case PROCS_CRASHED:
		r = explain_crash(x, e);
		break;
	case PROCS_FAILED:
		r = explain_goto_failure(x, e) ? -1 : explain_exit(x, e);
		break;
	case PROCS_RUNNING:
		r = stuck_explain(x, e);
		break;
	case PROCS_EXITED:
	case PROCS_EXECED:
		set_kind(x, "none", x->ending.how == PROCS_EXITED ? "the process exited with status 0" : "the process became another program");
		explain_end(x, "decided", "nothing failed");
		return 0;
	}
	if (r && json_array_size(x->chain) && explain_may_go_on(x, e)) {
		explain_end(x, "unknown", "%s", e->text);
		r = 0;
	}
	if (!r)
		judge(x);
	return r;
}
