/* SPDX-License-Identifier: MIT */
/*
 * flow_history.c: the writes of a variable that a condition compared, from the last one backwards. Has a thread written
 * what it had made of an older value, or another one set it between two changes of one thread? Then an update was lost,
 * perhaps long before the condition was checked.
 */
#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "chain/inspect.h"
#include "flow/flow_int.h"
#include "timetravel/cursor_int.h"

#define WRITES 48u
#define CHECKED 12u /* of them, whose values are followed */
#define HISTORY_WORK 20000u
#define SETTERS 12u /* that are gone back to from one write */

/* ---- the variables ---- */

/* A variable with its members and elements begins at s: after it. */
static const char *end_of_name(const char *s)
{
	for (;;) {
		while (isalnum((unsigned char)*s) || *s == '_')
			s++;
		if (*s == '[') {
			const char *end = inspect_closing(s);

			if (!end)
				return s;
			s = end;
		} else if (*s == '.' || (s[0] == '-' && s[1] == '>')) {
			s += *s == '.' ? 1 : 2;
		} else {
			return s;
		}
	}
}

void flow_note_compared(struct inspect *p, int level, const char *expr)
{
	struct explain *x = p->x;

	if (x->ncompared)
		return;
	x->compared_at = p->at;
	for (const char *s = expr; *s && x->ncompared < EXPLAIN_COMPARED; s++) {
		const char *end = isalnum((unsigned char)*s) || *s == '_' ? end_of_name(s) : NULL;
		cleanup_free char *name = end ? xstrndup(s, (size_t)(end - s)) : NULL;
		uint64_t addr, len;

		if (!end)
			continue;
		s = end - 1;
		if (*end != '(' && !isdigit((unsigned char)*name)) {
			cleanup_free char *address = str_fmt("&(%s)", name), *size = str_fmt("sizeof(%s)", name);

			if (inspect_number(p, level, address, &addr) && inspect_number(p, level, size, &len) && len &&
			    len <= 8 && !flow_is_stack(x, addr)) {
				struct explain_compared *c = &x->compared[x->ncompared++];

				c->place = (struct insn_loc){.where = INSN_IN_MEM, .addr = addr, .len = (unsigned)len};
				snprintf(c->name, sizeof(c->name), "%s", name);
			}
		}
		if (!*end)
			break;
	}
}

/* ---- the writes ---- */

struct history_write {
	struct timeline_point at; /* in front of it; pc 0: none */
	uint32_t thread;
	uint8_t was[8]; /* the value that it replaced */
	uint64_t change; /* what it added to that */
};

/* Where a value was read. */
struct history_read {
	const struct insn_loc *place;
	uint8_t value[8]; /* what was there */
	unsigned setters;
};

static int reads_any(struct explain *x, pid_t tid, const struct insn_origin *o, struct history_read *read,
		     struct err *e);

/* Does what is at l, in the current state of the thread, come from the place? 1; 0; -1. */
static int reads(struct explain *x, pid_t tid, const struct insn_loc *l, struct history_read *read, struct err *e)
{
	struct flow f = {.x = x, .tid = tid, .l = *l, .trial = true};
	struct user_regs_struct r;
	uint8_t code[INSN_BYTES];
	struct insn_origin o;
	struct flow_setter s;
	struct insn i;
	bool ignored;
	int got;

	if (read->setters++ >= SETTERS)
		return 0;
	if (l->where == INSN_IN_MEM && l->addr == read->place->addr)
		return flow_read(x, NULL, read->place, read->value);
	if (l->where == INSN_IN_MEM) {
		if (!flow_is_stack(x, l->addr))
			return 0;
		got = flow_last_write(x, l->addr, l->len, 0, &ignored, e);
		explain_reopen(x);
		if (got || x->t.in.seg.tid != cursor_now(&x->t, tid))
			return got < 0 ? -1 : 0;
		if (explain_regs(x, tid, &r, e) || visibility_is_shim(&x->t.visibility, r.rip) ||
		    explain_insn(x, &r, code, &i, e))
			return 0;
		insn_origin(&i, l, &o);
		return reads_any(x, tid, &o, read, e);
	}
	if (l->reg >= INSN_XMM0)
		return 0;
	flow_setter_begin(&s);
	got = flow_to_setter(&f, &s, e);
	explain_reopen(x);
	if (got < 0)
		return -1;
	return got == SETTER_INSN ? reads_any(x, f.tid, &s.origin, read, e) : 0;
}

/* The same for one of the operands of the instruction in front of which the program stands. */
static int reads_any(struct explain *x, pid_t tid, const struct insn_origin *o, struct history_read *read,
		     struct err *e)
{
	struct timeline_point here;
	int got = 0;

	if (o->effect == INSN_SETS || o->effect == INSN_KEEPS)
		return 0;
	if (o->n > 1 && cursor_where(&x->t, &here, e))
		return -1;
	for (unsigned k = 0; k < o->n && !got; k++) {
		if (k && cursor_goto_point(&x->t, &here, e))
			return -1;
		got = reads(x, tid, &o->from[k], read, e);
	}
	return got;
}

/* Does the write make the value of the variable's own before? 1: it does, of read->value; 0; -1. Moves. */
static int is_update(struct explain *x, const struct history_write *w, struct history_read *read, struct err *e)
{
	struct user_regs_struct r;
	uint8_t code[INSN_BYTES];
	struct insn_origin o;
	struct err ignored;
	struct insn i;
	pid_t tid;

	if (!w->at.pc || !w->at.hits || cursor_goto_point(&x->t, &w->at, e))
		return w->at.pc && w->at.hits ? -1 : 0;
	tid = x->t.in.seg.tid;
	if (explain_regs(x, tid, &r, &ignored) || visibility_is_shim(&x->t.visibility, r.rip) ||
	    explain_insn(x, &r, code, &i, &ignored))
		return 0;
	insn_origin(&i, read->place, &o);
	return reads_any(x, tid, &o, read, e);
}

bool flow_is_update(struct explain *x, const struct insn_loc *place, const struct timeline_point *at, uint8_t value[8])
{
	struct history_read read = {.place = place};
	struct history_write w = {.at = *at};
	struct err ignored;
	const struct rec_image *img = rec_image(x->rec, x->process, &ignored);
	bool is = img && img->nthreads > 1 && is_update(x, &w, &read, &ignored) == 1;

	explain_reopen(x);
	memcpy(value, read.value, sizeof(read.value));
	return is;
}

static int tell(struct explain *x, const struct history_write *w, const char *name, const char *words, struct err *e)
{
	struct inspect p = {0};
	int r = cursor_goto_point(&x->t, &w->at, e);

	if (!r)
		r = inspect_open(&p, x, e);
	if (!r)
		inspect_step(&p, STEP_WRITE, name, NULL, NULL, "%s", words);
	inspect_close(&p);
	return r;
}

/* Without what the chain had: `later` has lost the update `earlier`. */
static int tell_conflict(struct explain *x, const struct explain_compared *c, const struct history_write *later,
			 const struct history_write *earlier, bool stale, struct err *e)
{
	cleanup_free char *first = NULL, *second = NULL;

	if (stale) {
		first = str_fmt("thread %u wrote %s here, made of what it had read before thread %u wrote it",
				later->thread, c->name, earlier->thread);
		second = str_fmt("thread %u wrote %s here, between the read and the write of thread %u: this update is "
				 "lost",
				 earlier->thread, c->name, later->thread);
	} else {
		first = str_fmt("thread %u took back here what it had changed of %s before", later->thread, c->name);
		second =
			str_fmt("thread %u set %s here, after thread %u had changed it and before that thread took the "
				"change back: the first change is lost",
				earlier->thread, c->name, later->thread);
	}
	strv_fini(&x->notes); /* they are about the steps that go */
	explain_cut(x, 1);
	explain_reopen(x);
	if (tell(x, later, c->name, first, e) || tell(x, earlier, c->name, second, e))
		return -1;
	explain_end(x, END_LOST_UPDATE, "two threads changed the value at the same time");
	x->found = true;
	return 0;
}

/* A signed number of so many bytes. */
static uint64_t number_of(const uint8_t v[8], unsigned len)
{
	uint64_t n = 0;

	memcpy(&n, v, len);
	return len < 8 ? (uint64_t)((int64_t)(n << (64 - len * 8)) >> (64 - len * 8)) : n;
}

/* To the write before the current state. 0; 1: there is none, or it is not known; -1. */
static int to_write(struct explain *x, const struct explain_compared *c, struct history_write *w, struct err *e)
{
	uint8_t after[8];
	bool ignored;
	int r;

	if (!flow_read(x, NULL, &c->place, after))
		return 1;
	r = flow_last_write(x, c->place.addr, c->place.len, 0, &ignored, e);
	explain_reopen(x);
	if (r)
		return r < 0 ? -1 : 1;
	if (cursor_where(&x->t, &w->at, e))
		return -1;
	w->thread = x->t.in.seg.thread;
	if (!flow_read(x, NULL, &c->place, w->was))
		return 1;
	w->change = number_of(after, c->place.len) - number_of(w->was, c->place.len);
	return 0;
}

/*
 * w: the last writes, the latest first. Has the thread of the latest changed its own value twice, and another one set
 * it in between? 1; 0; -1.
 */
static int is_reset(struct explain *x, const struct explain_compared *c, const struct history_write w[3], struct err *e)
{
	if (w[0].thread != w[2].thread || w[0].thread == w[1].thread || w[0].change + w[2].change)
		return 0;
	for (unsigned k = 0; k < 3; k++) {
		struct history_read read = {.place = &c->place};
		int got = is_update(x, &w[k], &read, e);

		if (got < 0 || got == (k == 1))
			return got < 0 ? -1 : 0;
	}
	return 1;
}

static int search(struct explain *x, const struct explain_compared *c, struct err *e)
{
	struct history_write w[3] = {0}, later = {0};
	unsigned checked = 0;

	for (unsigned n = 0; n < WRITES && checked < CHECKED; n++) {
		struct history_read read = {.place = &c->place};
		struct history_write earlier;
		int got = to_write(x, c, &earlier, e);

		if (got)
			return got;
		if (n < 3)
			w[n] = earlier;
		if (n == 2) {
			got = is_reset(x, c, w, e);
			if (got)
				return got < 0 ? -1 : tell_conflict(x, c, &w[0], &w[1], false, e);
		}
		if (n && later.thread != earlier.thread) {
			checked++;
			got = is_update(x, &later, &read, e);
			if (got < 0)
				return -1;
			if (got && memcmp(read.value, later.was, c->place.len))
				return tell_conflict(x, c, &later, &earlier, true, e);
		}
		later = earlier;
		if (cursor_goto_point(&x->t, &earlier.at, e))
			return -1;
	}
	return 1;
}

int flow_lost_before(struct explain *x, struct err *e)
{
	struct err ignored;
	const struct rec_image *img = rec_image(x->rec, x->process, &ignored);
	uint64_t until = x->until;
	int r = 1;

	if (!x->ncompared || x->end == END_LOST_UPDATE || x->end == END_LATE || !img || img->nthreads < 2)
		return 0;
	for (unsigned k = 0; k < x->ncompared && r > 0; k++) {
		struct timeline_point at = x->compared_at;
		enum chain_end end = x->end;
		cleanup_free char *text = x->end_text ? xstrdup(x->end_text) : NULL;

		explain_reopen(x);
		explain_limit(x, HISTORY_WORK);
		r = cursor_goto_point(&x->t, &at, e) ? -1 : search(x, &x->compared[k], e);
		x->until = until;
		if (r < 0 && explain_may_go_on(x, e))
			r = 1;
		if (r > 0)
			explain_end_instead(x, end, "%s", text ? text : "?");
	}
	return r < 0 ? -1 : 0;
}
