/* SPDX-License-Identifier: MIT */
/* latest.c: what other threads write to the memory of a value, before and after it is read: see flow_int.h. */
#define LOG_DOMAIN "explain"
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "chain/inspect.h"
#include "flow/flow_int.h"
#include "timetravel/cursor_int.h"

/* ---- the value that was written last ---- */

/* Where following one value has led. */
struct origin_way {
	struct chain steps;
	enum chain_end end;
	char *text;
	uint64_t memory, event; /* address and event of the last step by another thread; 0: there is none */
	bool counted; /* it ends at a counter of a loop */
};

/* Moves the steps after the first `before`, and the end, from x to *w. */
static void take_way(struct explain *x, size_t before, uint32_t thread, struct origin_way *w)
{
	*w = (struct origin_way){.end = x->end, .text = x->end_text, .memory = x->memory, .counted = x->counted};
	x->end = END_OPEN;
	x->end_text = NULL;
	for (size_t i = before; i < x->chain.n; i++) {
		const struct step *s = &x->chain.v[i];

		if (json_integer_value(json_object_get(s->thread, "id")) != (json_int_t)thread)
			w->event = s->at.event + 1;
		chain_add(&w->steps, s);
	}
	if (x->chain.n > before)
		x->chain.n = before;
	if (!w->end || chain_led_nowhere(w->end))
		w->event = 0;
}

static void drop_way(struct origin_way *w)
{
	chain_fini(&w->steps);
	free(w->text);
	*w = (struct origin_way){0};
}

static int go_back(struct explain *x, const struct timeline_point *at, struct err *e)
{
	return cursor_goto_point(&x->t, at, e);
}

/*
 * Where in memory a compared value was read from, in the state in front of the comparison. false: it was not read from
 * memory.
 */
static bool read_from(struct flow *f, const struct insn_loc *from, const struct timeline_point *at, struct insn_loc *l,
		      uint8_t value[8], struct err *e)
{
	struct explain *x = f->x;
	struct flow one = {.x = x, .tid = f->tid, .l = *from, .compared = true, .trial = true, .to_memory = true};
	size_t before = x->chain.n;
	struct user_regs_struct r;

	if (cursor_goto_point(&x->t, at, e) || explain_regs(x, f->tid, &r, e) || !flow_read(x, &r, &one.l, one.value) ||
	    x->ways->flow_on(&one, e))
		return false;
	explain_cut(x, before);
	explain_reopen(x);
	*l = one.l;
	memcpy(value, one.value, 8);
	return one.l.where == INSN_IN_MEM && one.l.len <= 8;
}

/*
 * For values that only this thread has written: the one that was written last decided the comparison. The cursor may
 * stand anywhere before, and stands in front of the comparison afterwards. FLOW_TURNED: f is about that value; FLOW_ON:
 * not both were read from memory; -1.
 */
static int last_of_both(struct flow *f, const struct insn_origin *o, const struct timeline_point *at, struct err *e)
{
	struct explain *x = f->x;
	uint8_t value[2][8], now[8];
	struct insn_loc l[2];
	unsigned which = 0;
	int r;

	if (o->n != 2 || !read_from(f, &o->from[0], at, &l[0], value[0], e) ||
	    !read_from(f, &o->from[1], at, &l[1], value[1], e)) {
		explain_reopen(x);
		return cursor_goto_point(&x->t, at, e) ? -1 : FLOW_ON;
	}
	if (cursor_goto_point(&x->t, at, e))
		return -1;
	r = flow_last_write_of(x, l, 2, &which, e);
	if (r < 0)
		return -1;
	explain_reopen(x);
	if (cursor_goto_point(&x->t, at, e))
		return -1;
	/* written between its reading and the comparison: then it is not what was compared */
	if (r || !flow_read(x, NULL, &l[which], now) || memcmp(now, value[which], l[which].len))
		return FLOW_ON;
	f->l = l[which];
	memcpy(f->value, now, sizeof(now));
	f->derived = f->compared = false;
	return FLOW_TURNED;
}

/* The chain continues with these steps, and ends as they do. */
static void go_way(struct explain *x, struct origin_way *w)
{
	for (size_t i = 0; i < w->steps.n; i++)
		chain_add(&x->chain, &w->steps.v[i]);
	w->steps.n = 0; /* the chain has them */
	x->end = w->end;
	x->end_text = w->text;
	x->memory = w->memory;
	x->counted = w->counted;
	w->text = NULL;
}

/*
 * Does it lead from the comparison to a statement that explains more than what is compared? A constant, or a value that
 * the program began with, is what the value was expected to be, and a loop's counter tells only how far the loop went.
 */
static bool says_more(const struct origin_way *w)
{
	return w->end && !chain_led_nowhere(w->end) && w->end != END_CONSTANT && w->end != END_INITIAL && !w->counted &&
	       w->steps.n;
}

/* The only one of the n compared values whose origin explains more. NULL: none, or several do. */
static struct origin_way *only_way(struct origin_way *w, unsigned n)
{
	struct origin_way *only = NULL;

	for (unsigned k = 0; k < n; k++) {
		if (!says_more(&w[k]))
			continue;
		if (only)
			return NULL;
		only = &w[k];
	}
	return only;
}

/* Follows each of the values back; w has room for INSN_SOURCES. */
static int try_ways(struct flow *f, const struct insn_origin *o, const struct timeline_point *at, struct origin_way *w,
		    struct err *e)
{
	struct explain *x = f->x;
	uint32_t thread = x->t.in.seg.thread;
	bool counted = x->counted;
	size_t before = x->chain.n;
	pid_t tid = f->tid;

	for (unsigned k = 0; k < o->n; k++) {
		struct flow one = {.x = x, .tid = tid, .l = o->from[k], .compared = true, .trial = true};
		struct user_regs_struct r;

		if ((k && go_back(x, at, e)) || explain_regs(x, tid, &r, e))
			return -1;
		if (!flow_read(x, &r, &one.l, one.value))
			continue;
		x->counted = false;
		if (x->ways->flow_on(&one, e))
			return -1;
		take_way(x, before, thread, &w[k]);
		x->counted = counted;
	}
	return 0;
}

int flow_latest(struct flow *f, const struct insn_origin *o, struct err *e)
{
	struct explain *x = f->x;
	struct timeline_point at;
	struct origin_way w[INSN_SOURCES] = {0}, *best = NULL;
	int r = FLOW_ENDED;

	if (f->trial)
		return FLOW_ON;
	if (cursor_where(&x->t, &at, e))
		return -1;
	if (try_ways(f, o, &at, w, e))
		r = -1;
	for (unsigned k = 0; r >= 0 && k < o->n; k++)
		if (w[k].event > (best ? best->event : 0))
			best = &w[k];
	if (r >= 0 && !best) {
		r = last_of_both(f, o, &at, e);
		best = r == FLOW_ON ? only_way(w, o->n) : NULL;
	}
	if (best) {
		go_way(x, best);
		r = FLOW_ENDED;
	}
	for (unsigned k = 0; k < o->n; k++)
		drop_way(&w[k]);
	return r;
}

/* ---- how far a loop goes ---- */

int flow_to_comparison(struct explain *x, pid_t tid, struct insn_origin *o, struct err *e)
{
	struct insn_loc flags = {.where = INSN_IN_REG, .reg = INSN_FLAGS, .len = 8};
	struct user_regs_struct r;
	uint8_t code[INSN_BYTES];
	struct stop stop;
	struct insn i;

	for (unsigned n = 0; n < FLOW_NEAR_STEPS; n++) {
		if (cursor_back_step(&x->t, tid, &stop, e))
			return -1;
		if (stop.kind != STOP_STEP)
			return 1;
		if (explain_regs(x, tid, &r, e) || explain_insn(x, &r, code, &i, e))
			return -1;
		insn_origin(&i, &flags, o);
		if (o->effect != INSN_KEEPS)
			return 0;
	}
	return 1;
}

/* Is the value one that the loop counts? The cursor may stand anywhere afterwards. -1: it failed. */
static int is_counter(struct explain *x, pid_t tid, const struct insn_loc *from, struct err *e)
{
	struct flow one = {.x = x, .tid = tid, .l = *from, .pointer = true, .number = true, .trial = true};
	size_t before = x->chain.n;
	struct user_regs_struct r;
	bool counted;

	x->counted = false;
	if (explain_regs(x, tid, &r, e))
		return -1;
	if (!flow_read(x, &r, &one.l, one.value))
		return 0;
	if (x->ways->flow_on(&one, e))
		return -1;
	counted = x->counted;
	explain_cut(x, before);
	explain_reopen(x);
	return counted;
}

static int follow_other(struct explain *x, pid_t tid, const struct insn_loc *l, struct err *e)
{
	struct flow f = {.x = x, .tid = tid, .l = *l, .compared = true};
	struct user_regs_struct r;

	if (explain_regs(x, tid, &r, e))
		return -1;
	return flow_read(x, &r, &f.l, f.value) ? x->ways->flow_on(&f, e) : 1;
}

int flow_follow_bound(struct explain *x, pid_t tid, struct err *e)
{
	struct timeline_point at;
	struct insn_origin o;
	int r = flow_to_comparison(x, tid, &o, e);

	if (r)
		return r;
	if (o.n != 2)
		return 1;
	if (cursor_where(&x->t, &at, e))
		return -1;
	for (unsigned k = 0; k < o.n; k++) {
		r = is_counter(x, tid, &o.from[k], e);
		if (r < 0 || cursor_goto_point(&x->t, &at, e))
			return -1;
		if (r)
			return follow_other(x, tid, &o.from[!k], e);
	}
	return 1;
}

/* ---- writes between a read and a write ---- */

/* l: what was read and written. */
static int tell_lost(struct flow *f, const struct insn_loc *l, uint32_t reader, struct err *e)
{
	struct explain *x = f->x;
	cleanup_free char *name = NULL;
	struct inspect p = {0};
	bool exact;

	if (inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	name = inspect_name(&p, l->addr, l->len, &exact);
	inspect_step(&p, STEP_WRITE, name, NULL, NULL,
		     "thread %u wrote %s here, between the read and the write of thread %u: this update is lost",
		     x->t.in.seg.thread, name, reader);
	inspect_close(&p);
	explain_end(x, END_LOST_UPDATE, "two threads changed the value at the same time");
	return FLOW_ENDED;
}

int flow_lost_update(struct flow *f, const struct insn_origin *o, struct err *e)
{
	struct explain *x = f->x;
	uint32_t reader = x->t.in.seg.thread;
	struct timeline_point at;
	uint8_t value[8];
	struct insn_loc l = {0};
	bool lost = false, ignored;
	int r;

	if (f->trial || !f->stored.pc || !f->stored.hits || o->effect == INSN_SETS)
		return FLOW_ON;
	if (cursor_where(&x->t, &at, e))
		return -1;
	for (unsigned k = 0; k < o->n && !lost; k++)
		lost = read_from(f, &o->from[k], &at, &l, value, e) && l.addr == f->last &&
		       memcmp(value, f->was, l.len);
	explain_reopen(x);
	if (!lost && f->l.len <= 8) {
		l = (struct insn_loc){.where = INSN_IN_MEM, .addr = f->last, .len = f->l.len};
		lost = x->ways->is_stale(x, &l, &f->stored, f->was);
	}
	if (lost) {
		if (cursor_goto_point(&x->t, &f->stored, e))
			return -1;
		r = flow_last_write(x, l.addr, l.len, 0, &ignored, e);
		if (r < 0)
			return -1;
		if (!r && x->t.in.seg.thread != reader)
			return tell_lost(f, &l, reader, e);
		explain_reopen(x);
	}
	return cursor_goto_point(&x->t, &at, e) ? -1 : FLOW_ON;
}

/* ---- a write that comes too late ---- */

/* Goes to the first write after `at`, in front of its instruction. 0; 1: there is none; -1. */
static int to_next_write(struct explain *x, const struct timeline_point *at, uint64_t addr, unsigned len, struct err *e)
{
	struct breaks *b = &x->t.breaks;
	struct timeline_point there;
	struct stop stop = {0};
	int r;

	if (cursor_goto_point(&x->t, at, e))
		return -1;
	b->many = true;
	if (breaks_watch(b, GROUP_WRITE, addr, len))
		return 1;
	r = cursor_continue(&x->t, &stop, e);
	memset(b->watch, 0, sizeof(b->watch));
	b->nmore = 0;
	if (r)
		return -1;
	if (stop.kind != STOP_WATCH)
		return 1;
	if (cursor_where(&x->t, &there, e))
		return -1;
	if (!there.pc)
		return 1;
	if (cursor_goto_point(&x->t, &there, e))
		return -1;
	return stop.before ? 0 : cursor_back_step(&x->t, x->t.in.seg.tid, &stop, e);
}

int flow_too_late(struct explain *x, const struct timeline_point *at, uint64_t addr, unsigned len, const char *name,
		  struct err *e)
{
	struct user_regs_struct regs;
	uint32_t reader;
	struct inspect p = {0};
	int r;

	if (!at->pc || cursor_goto_point(&x->t, at, e))
		return at->pc ? -1 : 1;
	reader = x->t.in.seg.thread;
	r = to_next_write(x, at, addr, len, e);
	if (r < 0 && explain_may_go_on(x, e))
		r = 1;
	if (r)
		return r;
	if (explain_regs(x, x->t.in.seg.tid, &regs, e))
		return -1;
	if (x->t.in.seg.thread == reader || visibility_is_shim(&x->t.visibility, regs.rip))
		return 1;
	if (inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	inspect_step(&p, STEP_LATE, name, NULL, NULL,
		     "nobody had set %s when thread %u read it: thread %u sets it only here", name, reader,
		     x->t.in.seg.thread);
	inspect_close(&p);
	explain_end(x, END_LATE, "%s was read before it was set", name);
	return 0;
}
