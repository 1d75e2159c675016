/* SPDX-License-Identifier: MIT */
/* flow_register.c: a value in a register: to the instruction that put it there. */
#include "flow/flow_int.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "chain/inspect.h"
#include "describe/describe.h"
#include "timetravel/cursor_int.h"

#define BACK_STEPS 4000u /* instructions back, in search of what set a register */
#define STACK_ARGUMENTS 8u /* arguments of a call on the stack that are examined */
#define NEAR_STEPS 100u /* after this many steps, breakpoints are used instead */

/* ---- registers ---- */

/* System V ABI */
bool flow_calls_keep(unsigned reg)
{
	return reg == INSN_RBX || reg == INSN_RBP || reg == INSN_RSP || (reg >= INSN_R12 && reg <= INSN_R15);
}

bool flow_is_same_state(const struct user_regs_struct *a, const struct user_regs_struct *b)
{
	bool same = a->rip == b->rip;

	for (unsigned reg = 0; same && reg < INSN_XMM0; reg++)
		same = insn_reg(a, reg) == insn_reg(b, reg);
	return same;
}

/* Goes back over a function that returned, to its call. 1: the call was not reached, and the chain has ended. */
static int skip_callee(struct flow *f, uint64_t slot, struct err *e)
{
	struct explain *x = f->x;
	uint8_t code[INSN_BYTES];
	struct user_regs_struct r;
	bool ignored;
	struct insn i;
	int got = flow_last_write_or_mark(f, slot, 8, 0, &ignored, e);

	if (got || f->ended)
		return got < 0 ? -1 : 1;
	if (x->t.in.seg.tid == cursor_now(&x->t, f->tid) && !explain_regs(x, f->tid, &r, e) &&
	    !explain_insn(x, &r, code, &i, e) && insn_kind(&i) == INSN_CALL)
		return 0;
	explain_end(x, END_UNKNOWN, "the call of a function that the value outlived is not found");
	return 1;
}

static uint32_t number_of(const struct flow *f)
{
	uint32_t n;

	memcpy(&n, f->value, sizeof(n));
	return n;
}

/*
 * Explains why a call returned an error: a time-out of a wait for other threads, a descriptor that was closed. If it
 * cannot, the chain ends as it did.
 */
static int why_refused(struct explain *x, int (*way)(struct explain *x, struct err *e), struct err *e)
{
	cleanup_free char *text = x->end_text ? xstrdup(x->end_text) : NULL;
	enum chain_end end = x->end;
	int r;

	x->end = END_OPEN;
	r = way(x, e);
	if (r < 0 && !explain_may_go_on(x, e))
		return -1;
	if (r && text)
		explain_end_instead(x, end, "%s", text);
	return FLOW_ENDED;
}

/* A call of the library, as one step, returned it. */
static int by_library(struct flow *f, struct err *e)
{
	struct explain *x = f->x;
	cleanup_free char *v = flow_text(f, f->value, f->l.len), *event = NULL;
	struct inspect p = {0};
	int r = FLOW_ENDED;

	if (inspect_open(&p, x, e)) {
		r = -1;
	} else {
		const char *who = inspect_function(&p, 0);

		event = flow_event(x);
		inspect_step(&p, STEP_RETURN, NULL, NULL, v, "%s returned %s", who, v);
		x->allocated = flow_is_one_of(who, flow_allocating);
		if (x->allocated)
			explain_end(x, END_INPUT, "the value is what %s returned", who);
		else
			explain_end(x, END_INPUT, "the value is what %s returned (%s)", who,
				    event ? event : "no event");
	}
	inspect_close(&p);
	if (r == FLOW_ENDED && f->l.len >= 4 && number_of(f) == ETIMEDOUT)
		return why_refused(x, x->ways->timed_out, e);
	if (r == FLOW_ENDED && f->l.len >= 4 && number_of(f) == UINT32_MAX)
		return why_refused(x, x->ways->closed, e);
	return r;
}

static bool is_readable(struct flow *f, const struct user_regs_struct *r, const struct insn_origin *o)
{
	uint8_t ignored[8];

	for (unsigned k = 0; k < o->n; k++)
		if (!flow_read(f->x, r, &o->from[k], ignored))
			return false;
	return true;
}

/* The program stands in a function of libc, which made the returned value itself: only its call explains something. */
static int by_result(struct flow *f, struct err *e)
{
	const struct visibility *v = &f->x->t.visibility;
	struct inspect p = {0};
	size_t level = 0;
	int r = FLOW_ENDED;

	if (inspect_open(&p, f->x, e)) {
		r = -1;
	} else {
		const char *who;

		while (level + 1 < p.nframes && !visibility_is_shim(v, p.frames[level + 1].addr) &&
		       !visibility_is_certain(v, p.frames[level + 1].addr))
			level++;
		who = inspect_function(&p, level);
		inspect_step(&p, STEP_RETURN, NULL, NULL, NULL, "the value is the result of %s", who);
		explain_end(f->x, END_COMPUTED, "the value is the result of %s, which was called here", who);
	}
	inspect_close(&p);
	return r;
}

static uint64_t word_at(struct explain *x, uint64_t addr)
{
	struct err ignored;
	uint64_t v = 0;

	return trace_read(cursor_memory(&x->t), addr, &v, sizeof(v), &ignored) ? 0 : v;
}

/*
 * The value was inside a call of the library, and the way to there is not known. It comes from an argument of the call
 * that has the same value.
 */
static int by_argument(struct flow *f, const struct user_regs_struct *r)
{
	static const unsigned args[] = {INSN_RDI, INSN_RSI, INSN_RDX, INSN_RCX, 8, 9};
	uint64_t v, mask = f->l.len < 8 ? (1ull << f->l.len * 8) - 1 : UINT64_MAX;

	memcpy(&v, f->value, sizeof(v));
	for (unsigned k = 0; k < sizeof(args) / sizeof(args[0]) && f->l.len >= 4; k++) {
		struct insn_loc l = {.where = INSN_IN_REG, .reg = args[k], .len = f->l.len};

		if ((insn_reg(r, args[k]) & mask) == (v & mask))
			return flow_go_on(f, r, &l, true);
	}
	for (unsigned k = 1; k <= STACK_ARGUMENTS && f->l.len >= 4; k++) {
		struct insn_loc l = {.where = INSN_IN_MEM, .addr = r->rsp + k * 8, .len = f->l.len};

		if ((word_at(f->x, l.addr) & mask) == (v & mask))
			return flow_go_on(f, r, &l, true);
	}
	explain_end(f->x, END_UNKNOWN, "the value was made inside of a call of the library");
	return FLOW_ENDED;
}

/* Inside pthread_create: goes to its entry. 1: that is not reached. */
static int to_creation(struct explain *x, struct err *e)
{
	struct stop stop = {0};
	struct inspect p = {0};
	uint64_t entry = 0;
	int r = 0;

	if (inspect_open(&p, x, e))
		r = -1;
	else if (!inspect_number(&p, 0, "&pthread_create", &entry))
		r = 1;
	inspect_close(&p);
	if (r || p.at.pc == entry)
		return r;
	breaks_add(&x->t.breaks, entry, 0);
	r = cursor_back_continue(&x->t, &stop, e);
	breaks_remove(&x->t.breaks, entry, 0);
	return r ? -1 : stop.kind != STOP_BREAK;
}

int flow_to_creator(struct flow *f, struct err *e)
{
	struct explain *x = f->x;
	uint32_t thread = cursor_ordinal(&x->t, f->tid);
	uint64_t total = cursor_event(&x->t);
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
	got = cursor_goto_end(&x->t, made - 1, e);
	if (!got)
		got = to_creation(x, e);
	if (got)
		return got;
	f->tid = x->t.in.seg.tid;
	if (explain_regs(x, f->tid, &r, e))
		return -1;
	f->l.reg = INSN_RCX;
	return flow_go_on(f, &r, &f->l, true) == FLOW_ON ? 0 : 2;
}

static int began_with_it(struct flow *f, struct err *e)
{
	int r = flow_to_creator(f, e);
	struct inspect p = {0};

	if (r < 0)
		return -1;
	if (r) {
		explain_end(f->x, END_INITIAL, "the function that the library called began with it");
		return FLOW_ENDED;
	}
	if (inspect_open(&p, f->x, e)) {
		inspect_close(&p);
		return -1;
	}
	inspect_step(&p, STEP_CALL, NULL, NULL, NULL, "the thread was created here, and got the value as its argument");
	inspect_close(&p);
	return FLOW_ON;
}

/* A step for a statement that made or passed the value. */
static int tell(struct flow *f, enum step_role role, const char *front, const char *after, bool even_here,
		struct err *e)
{
	cleanup_free char *v = flow_text(f, f->value, f->l.len);
	struct inspect p = {0};
	int r = 0;

	if (inspect_open(&p, f->x, e))
		r = -1;
	else if (even_here || (json_is_string(json_object_get(p.location, "file")) && !flow_same_line(f->x, &p)))
		inspect_step(&p, role, NULL, NULL, v, "%s%s%s", front, v, after);
	inspect_close(&p);
	return r;
}

/* "3 with 4" */
static char *compared_text(struct flow *f, const struct user_regs_struct *r, const struct insn_origin *o)
{
	uint8_t a[8], b[8];
	cleanup_free char *first = NULL, *second = NULL;

	if (o->effect != INSN_COMPUTES || o->n != 2 || !flow_read(f->x, r, &o->from[0], a) ||
	    !flow_read(f->x, r, &o->from[1], b))
		return NULL;
	first = flow_text(f, a, o->from[0].len);
	second = flow_text(f, b, o->from[1].len);
	return str_fmt("%s with %s", first, second);
}

/* Is the last step a copy? Then a constant at the same statement says no more. */
static bool last_is_copy(const struct explain *x)
{
	return x->chain.n && x->chain.v[x->chain.n - 1].role == STEP_COPY;
}

static int tell_made(struct flow *f, const struct insn_origin *o, const struct user_regs_struct *r, struct err *e)
{
	cleanup_free char *what = f->l.reg == INSN_FLAGS ? compared_text(f, r, o) : NULL, *words = NULL;
	struct inspect p = {0};
	int got = 0;

	if (f->l.reg != INSN_FLAGS)
		return tell(f, STEP_WRITE,
			    o->effect == INSN_SETS ? "this set the value to " : "this computed the value ", "",
			    o->effect != INSN_SETS || !last_is_copy(f->x), e);
	words = what ? str_fmt("this compared %s", what) : xstrdup("this compared values");
	if (inspect_open(&p, f->x, e))
		got = -1;
	else
		inspect_step(&p, STEP_WRITE, NULL, NULL, NULL, "%s", words);
	inspect_close(&p);
	return got;
}

/* Has the same instruction added to the value in the loop's round before, perhaps by way of another register? */
static bool adds_again(struct flow *f, const struct user_regs_struct *r, const struct insn_origin *o)
{
	bool again = f->adds == r->rip;

	if (o->effect != INSN_DERIVES || o->from[0].where != INSN_IN_REG)
		return false;
	f->adds = r->rip;
	return again;
}

void flow_setter_begin(struct flow_setter *s)
{
	*s = (struct flow_setter){0};
}

/* The program stands at the return of a function that has left the value for its caller. */
static int note_return(struct flow *f, uint64_t slot, struct err *e)
{
	struct explain *x = f->x;

	bool points = f->pointer && !f->number && f->l.len == 8;

	if (f->trial || !(points || (f->compared && !f->last)) || f->l.reg != INSN_RAX || !flow_is_zero(f))
		return 0;
	x->returned.slot = slot;
	x->returned.steps = x->chain.n;
	return cursor_where(&x->t, &x->returned.at, e);
}

/*
 * *was: the state in front of what was executed last, from which `now` came. Does it tell where the value came from?
 * SETTER_ON: no.
 */
static int what_set_it(struct flow *f, struct flow_setter *s, const struct user_regs_struct *now, uint64_t back,
		       struct err *e)
{
	struct user_regs_struct *was = &s->regs;
	struct explain *x = f->x;
	uint8_t code[INSN_BYTES];
	enum insn_kind kind;
	struct insn i;

	if (flow_is_same_state(was, now)) /* a fault at that instruction is still to come */
		return SETTER_ON;
	if (visibility_is_shim(&x->t.visibility, was->rip) && now->rsp == was->rsp &&
	    !visibility_is_shim(&x->t.visibility, now->rip))
		return SETTER_ON; /* it has only gone on to libc's function of that name */
	if (visibility_is_shim(&x->t.visibility, was->rip)) {
		if (visibility_is_shim(&x->t.visibility, back))
			return SETTER_BEGIN;
		if (now->rsp < was->rsp)
			return SETTER_INSIDE;
		return flow_calls_keep(f->l.reg) ? SETTER_ON : SETTER_LIBRARY;
	}
	if (explain_insn(x, was, code, &i, e))
		return -1;
	kind = insn_kind(&i);
	if (kind == INSN_CALL && visibility_is_shim(&x->t.visibility, back) && back != was->rip + insn_len(&i))
		return SETTER_BEGIN;
	if (kind == INSN_RET && flow_calls_keep(f->l.reg) && f->l.reg != INSN_RSP && now->rsp > was->rsp) {
		int r = skip_callee(f, was->rsp, e);

		if (r || f->ended)
			return r < 0 ? -1 : SETTER_LOST;
		s->marked = f->mark ? word_at(x, f->mark) : 0;
		return explain_regs(x, f->tid, was, e) ? -1 : SETTER_ON;
	}
	if (kind == INSN_RET && note_return(f, was->rsp, e))
		return -1;
	if (kind == INSN_RET && was->rsp > s->returned)
		s->returned = was->rsp;
	if (visibility_is_certain(&x->t.visibility, was->rip))
		f->result = false; /* an argument of the function */
	else if (kind == INSN_RET && f->l.reg == INSN_RAX)
		f->result |= visibility_is_certain(&x->t.visibility, now->rip);
	insn_origin(&i, &f->l, &s->origin);
	if (s->origin.effect != INSN_KEEPS)
		return SETTER_INSN;
	if (kind != INSN_CALL || flow_calls_keep(f->l.reg))
		return SETTER_ON;
	if (now->rsp > s->returned)
		return SETTER_CALL;
	if (now->rsp == s->returned) /* it has left the register as it was */
		s->returned = 0;
	return SETTER_ON;
}

/* Searches with breakpoints. SETTER_ON: the search by steps goes on from s->regs. */
static int far_back(struct flow *f, struct flow_setter *s, struct err *e)
{
	uint8_t code[INSN_BYTES];
	struct insn i;
	int r;

	if (explain_regs(f->x, f->tid, &s->regs, e))
		return -1;
	if (f->mark || f->l.reg == INSN_RSP || f->l.reg >= INSN_XMM0 ||
	    visibility_is_shim(&f->x->t.visibility, s->regs.rip))
		return SETTER_ON;
	r = flow_far_back(f, flow_calls_keep(f->l.reg), &s->regs, e);
	if (r)
		return r < 0 ? -1 : SETTER_ON;
	if (explain_insn(f->x, &s->regs, code, &i, e))
		return -1;
	insn_origin(&i, &f->l, &s->origin);
	s->far = false;
	s->steps = 0;
	/* at the entry, or after a call, it goes on from there */
	return s->origin.effect == INSN_KEEPS ? SETTER_ON : SETTER_INSN;
}

int flow_to_setter(struct flow *f, struct flow_setter *s, struct err *e)
{
	struct explain *x = f->x;
	struct user_regs_struct now;
	struct stop stop;
	int r = SETTER_ON;

	if (explain_regs(x, f->tid, &now, e))
		return -1;
	s->marked = f->mark ? word_at(x, f->mark) : 0;
	for (; r == SETTER_ON; now = s->regs) {
		if (s->steps >= NEAR_STEPS && !s->far) {
			s->far = true;
			r = far_back(f, s, e);
			if (r != SETTER_ON)
				break;
			now = s->regs;
		}
		/* in the recorder, where that called the function that begins here */
		uint64_t back = word_at(x, now.rsp);

		if (s->steps++ == BACK_STEPS) {
			explain_end(x, END_LIMIT, "%s was set more than %u instructions before",
				    insn_reg_name(f->l.reg), s->steps - 1);
			return SETTER_LOST;
		}
		if (cursor_back_step(&x->t, f->tid, &stop, e))
			return -1;
		if (stop.kind == STOP_FIRST || stop.kind == STOP_BEGIN)
			return SETTER_BEGIN;
		if (explain_regs(x, f->tid, &s->regs, e))
			return -1;
		if (f->mark && word_at(x, f->mark) != s->marked) {
			s->marked = word_at(x, f->mark);
			if (flow_cross(f, e))
				return -1;
			if (f->ended)
				return SETTER_LOST;
		}
		r = what_set_it(f, s, &now, back, e);
	}
	return r;
}

#define HOPS 4u /* from register to register */

/* An address near 0 was computed from two zeros: one is a null pointer, the other an index or an offset. */
static bool is_null_sum(struct flow *f, const struct user_regs_struct *r, const struct insn_origin *o)
{
	uint8_t v[2][8];

	if (!f->pointer || o->effect != INSN_COMPUTES || o->n != 2)
		return false;
	for (unsigned k = 0; k < 2; k++)
		if (!flow_read(f->x, r, &o->from[k], v[k]))
			return false;
	return !memcmp(v[0], v[1], sizeof(v[0])) && !v[0][0] && !memcmp(v[0], v[0] + 1, sizeof(v[0]) - 1);
}

/*
 * Was the value extended from fewer bytes, or made by arithmetic? Then it is no pointer. The cursor may stand anywhere
 * afterwards; -1: it failed.
 */
static int is_number(struct flow *f, const struct insn_loc *l, struct err *e)
{
	struct flow one = {.x = f->x, .tid = f->tid, .l = *l, .trial = true};

	for (unsigned n = 0; n < HOPS && one.l.where == INSN_IN_REG && one.l.len == 8; n++) {
		struct flow_setter s;
		int got;

		flow_setter_begin(&s);
		got = flow_to_setter(&one, &s, e);
		explain_reopen(f->x);
		if (got != SETTER_INSN)
			return got < 0 ? -1 : 0;
		if (s.origin.effect != INSN_COPIES)
			return s.origin.effect == INSN_DERIVES;
		one.l = s.origin.from[0];
	}
	return one.l.len < 8;
}

/*
 * The instruction in front of which the program stands has added two zeros: moves the one that was meant as a pointer
 * to the front.
 */
static int pointer_first(struct flow *f, struct insn_origin *o, struct err *e)
{
	struct timeline_point here;
	int first, second = 0;

	if (cursor_where(&f->x->t, &here, e))
		return -1;
	first = is_number(f, &o->from[0], e);
	if (first < 0 || cursor_goto_point(&f->x->t, &here, e))
		return -1;
	if (first)
		second = is_number(f, &o->from[1], e);
	if (second < 0 || (first && cursor_goto_point(&f->x->t, &here, e)))
		return -1;
	if (first && !second) {
		struct insn_loc l = o->from[0];

		o->from[0] = o->from[1];
		o->from[1] = l;
	}
	return 0;
}

/* The program stands in front of the instruction that put the value there. */
static int set_here(struct flow *f, const struct user_regs_struct *was, struct insn_origin *o, struct err *e)
{
	if (f->result && !is_readable(f, was, o))
		return by_result(f, e);
	if (o->what.len < f->l.len && o->effect != INSN_SETS) {
		/* the other bytes come from elsewhere, such as an upper half of zeros */
		if (o->what.off != f->l.off) {
			explain_end(f->x, END_COMPUTED, "the value was put together in a register");
			return tell(f, STEP_WRITE, "this made the value ", "", true, e) ? -1 : FLOW_ENDED;
		}
		f->l.len = o->what.len;
	}
	f->compared |= f->l.reg == INSN_FLAGS;
	if (adds_again(f, was, o)) {
		f->x->counted = true;
		explain_end(f->x, END_COMPUTED, "the statement made the value from its own before");
		return tell(f, STEP_WRITE, "this made the value ", "", false, e) ? -1 : FLOW_ENDED;
	}
	if (f->compared && o->effect == INSN_COMPUTES && o->n > 1) {
		struct flow told = *f;
		int r = flow_latest(f, o, e);

		if (r == FLOW_TURNED)
			return tell_made(&told, o, was, e) ? -1 : FLOW_ON;
		if (r != FLOW_ON)
			return r;
	}
	if (is_null_sum(f, was, o) && pointer_first(f, o, e))
		return -1;
	if (flow_is_made(f, was, o)) {
		int r;

		if (f->result && o->effect != INSN_SETS)
			return by_result(f, e);
		r = tell_made(f, o, was, e) ? -1 : flow_lost_update(f, o, e);
		if (r)
			return r;
	}
	return flow_take_origin(f, was, o, "the value");
}

/* The value is in a register: to the instruction that put it there. */
int flow_register(struct flow *f, struct err *e)
{
	struct flow_setter s;

	flow_setter_begin(&s);
	for (;;) {
		switch (flow_to_setter(f, &s, e)) {
		case SETTER_INSN:
			return set_here(f, &s.regs, &s.origin, e);
		case SETTER_LIBRARY:
			return by_library(f, e);
		case SETTER_INSIDE:
			return by_argument(f, &s.regs);
		case SETTER_BEGIN:
			return began_with_it(f, e);
		case SETTER_LOST:
			return FLOW_ENDED;
		case SETTER_CALL:
			if (tell(f, STEP_CALL, "", " was passed to the function that is called here", false, e))
				return -1;
			if (explain_is_over(f->x))
				return FLOW_ENDED;
			break;
		default:
			return -1;
		}
	}
}
