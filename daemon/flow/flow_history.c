/* SPDX-License-Identifier: MIT */
/*
 * flow_history.c: examines the writes of a variable that a condition compared, from the last one backwards. Did a
 * thread write what it had made from an older value, or did another thread set the variable between two changes by one
 * thread? Then an update was lost, perhaps long before the condition was checked. It is reported if the condition would
 * have held with that update.
 */
#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "chain/condition.h"
#include "chain/inspect.h"
#include "expr/text.h"
#include "flow/flow_int.h"
#include "timetravel/cursor_int.h"

#define WRITES 48u
#define CHECKED 12u /* writes whose values are followed */
#define HISTORY_WORK 20000u
#define SETTERS 32u /* instructions that one write's value is followed through */

/* ---- the variables ---- */

/* Returns the end of the name, with members and elements, of a variable that begins at s. */
static const char *end_of_name(const char *s)
{
	for (;;) {
		while (text_is_name(*s))
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
	cleanup_free char *names = xstrdup(expr); /* without string literals */

	if (x->compared_expr)
		return;
	x->compared_at = p->at;
	x->compared_level = level;
	x->compared_expr = xstrdup(expr);
	condition_strip(names);
	for (const char *s = names; *s && x->ncompared < EXPLAIN_COMPARED; s++) {
		const char *end = text_is_name(*s) ? end_of_name(s) : NULL;
		cleanup_free char *name = end ? xstrndup(s, (size_t)(end - s)) : NULL;
		uint64_t addr, len;

		if (!end)
			continue;
		s = end - 1;
		if (*end != '(' && !isdigit((unsigned char)*name) && strlen(name) < sizeof(x->compared->name)) {
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
	struct timeline_point at; /* in front of the write; pc 0: none */
	uint32_t thread;
	uint8_t was[8]; /* the value that it replaced */
	uint64_t change; /* what it added to that */
};

/* Where the value that was written came from: from the variable itself, or not. */
enum history_source { NOT_FROM_IT, FROM_IT, NOT_KNOWN };

/* What was found out about that. */
struct history_read {
	const struct insn_loc *place; /* the variable */
	uint8_t was[8]; /* its value in front of the write */
	bool same, other; /* the variable was read while it had that value; while it had another */
	uint64_t event; /* the event before the last one of these reads */
	bool foreign; /* the value that is followed was made by another thread than the one that wrote the variable */
	bool lost; /* the origin of a part of the value is not known, or is the variable, by another thread */
	unsigned setters;
};

static int read_operands(struct explain *x, pid_t tid, const struct insn_origin *o, struct history_read *read,
			 struct err *e);

/* Notes that the variable is read in the current state. 0; -1. */
static int note_read(struct explain *x, struct history_read *read, struct err *e)
{
	struct timeline_point here;
	uint8_t value[8];

	if (cursor_where(&x->t, &here, e))
		return -1;
	if (here.event > read->event)
		read->event = here.event;
	if (read->foreign || !flow_read(x, NULL, read->place, value))
		read->lost = true;
	else if (memcmp(value, read->was, read->place->len))
		read->other = true;
	else
		read->same = true;
	return 0;
}

/* Notes where the value comes from that was written to l by the instruction in front of which the thread stands. */
static int read_source(struct explain *x, pid_t tid, const struct insn_loc *l, struct history_read *read, struct err *e)
{
	struct user_regs_struct r;
	uint8_t code[INSN_BYTES];
	struct insn_origin o;
	struct insn i;

	if (explain_regs(x, tid, &r, e) || visibility_is_shim(&x->t.visibility, r.rip) ||
	    explain_insn(x, &r, code, &i, e)) {
		read->lost = true;
		return 0;
	}
	insn_origin(&i, l, &o);
	return read_operands(x, tid, &o, read, e);
}

/* Notes in *read where the value at l, in the thread's current state, comes from. 0; -1. Moves the cursor. */
static int read_at(struct explain *x, pid_t tid, const struct insn_loc *l, struct history_read *read, struct err *e)
{
	struct flow f = {.x = x, .tid = tid, .l = *l, .trial = true};
	struct flow_setter s;
	bool ignored;
	int got;

	if (read->setters++ >= SETTERS || (l->where != INSN_IN_MEM && l->reg >= INSN_XMM0)) {
		read->lost = true;
		return 0;
	}
	if (l->where == INSN_IN_MEM && l->addr < read->place->addr + read->place->len &&
	    read->place->addr < l->addr + l->len)
		return note_read(x, read, e);
	if (l->where == INSN_IN_MEM) {
		got = flow_last_write(x, l->addr, l->len, 0, &ignored, e);
		explain_reopen(x);
		if (got < 0)
			return -1;
		if (!got) {
			bool foreign = read->foreign;

			read->foreign |= x->t.in.seg.tid != cursor_now(&x->t, tid);
			got = read_source(x, x->t.in.seg.tid, l, read, e);
			read->foreign = foreign;
			return got;
		}
		read->lost |= got != 1; /* 1: it had the value from the beginning */
		return 0;
	}
	flow_setter_begin(&s);
	do
		got = flow_to_setter(&f, &s, e);
	while (got == SETTER_CALL);
	explain_reopen(x);
	if (got == SETTER_INSN)
		return read_operands(x, f.tid, &s.origin, read, e);
	read->lost = true;
	return got < 0 ? -1 : 0;
}

/* The same for the operands of the instruction in front of which the program stands. */
static int read_operands(struct explain *x, pid_t tid, const struct insn_origin *o, struct history_read *read,
			 struct err *e)
{
	struct timeline_point here;

	read->lost |= o->effect == INSN_KEEPS;
	if (o->effect == INSN_SETS || read->lost)
		return 0;
	if (o->n > 1 && cursor_where(&x->t, &here, e))
		return -1;
	for (unsigned k = 0; k < o->n && !read->lost; k++)
		if ((k && cursor_goto_point(&x->t, &here, e)) || read_at(x, tid, &o->from[k], read, e))
			return -1;
	return 0;
}

/* Did the write make the new value from the variable's earlier one? enum history_source, or -1. Moves the cursor. */
static int source_of(struct explain *x, const struct history_write *w, struct history_read *read, struct err *e)
{
	if (!w->at.pc || !w->at.hits)
		return NOT_KNOWN;
	memcpy(read->was, w->was, sizeof(w->was));
	if (cursor_goto_point(&x->t, &w->at, e) || read_source(x, x->t.in.seg.tid, read->place, read, e))
		return -1;
	return read->lost ? NOT_KNOWN : read->same || read->other ? FROM_IT : NOT_FROM_IT;
}

/*
 * The write may have been made by a function of libc that fills memory: did the value come from its arguments? As
 * source_of.
 */
static int source_of_filling(struct explain *x, const struct history_write *w, struct history_read *read, struct err *e)
{
	struct insn_loc l = {.where = INSN_IN_REG, .reg = INSN_RSI, .len = 4};
	struct flow_copy c = {0};
	struct inspect p = {0};
	int r = cursor_goto_point(&x->t, &w->at, e) ? -1 : inspect_open(&p, x, e);

	if (!r && flow_is_filling(&p))
		r = flow_copy_at(x, &w->at, &c, e);
	inspect_close(&p);
	if (r || !c.entry.pc)
		return r ? -1 : NOT_KNOWN;
	read->lost = false;
	if (cursor_goto_point(&x->t, &c.entry, e) || read_at(x, x->t.in.seg.tid, &l, read, e))
		return -1;
	return read->lost ? NOT_KNOWN : read->same || read->other ? FROM_IT : NOT_FROM_IT;
}

/* ---- what it explains ---- */

/* The condition, with `change` added to the variable; malloc'd. */
static char *condition_with(const struct explain *x, const struct explain_compared *c, uint64_t change)
{
	cleanup_free char *names = xstrdup(x->compared_expr);
	struct buf b = {0};

	condition_strip(names); /* each character keeps its place */
	for (size_t i = 0, n; names[i]; i += n) {
		n = (size_t)(end_of_name(names + i) - (names + i));
		if (n && n == strlen(c->name) && !strncmp(names + i, c->name, n)) {
			/* `|' refuses pointers and fractions */
			buf_addf(&b, "((%s | 0) + (%lld))", c->name, (long long)change);
			continue;
		}
		n = n ? n : 1;
		buf_addf(&b, "%.*s", (int)n, x->compared_expr + i);
	}
	return buf_steal(&b);
}

/* Would the condition, which did not hold, have held with what was lost? 1; 0: no, or it is not known; -1. */
static int would_hold(struct explain *x, const struct explain_compared *c, uint64_t lost, struct err *e)
{
	cleanup_free char *now = condition_with(x, c, 0), *then = condition_with(x, c, lost);
	cleanup_free char *was = str_fmt("(%s) ? 1 : 0", now), *would = str_fmt("(%s) ? 1 : 0", then);
	uint64_t is = 1, holds = 0;
	struct inspect p = {0};
	int r = cursor_goto_point(&x->t, &x->compared_at, e) ? -1 : inspect_open(&p, x, e);

	if (!r)
		r = inspect_number(&p, x->compared_level, was, &is) && !is &&
		    inspect_number(&p, x->compared_level, would, &holds) && holds;
	inspect_close(&p);
	return r;
}

/*
 * Was the written value made only from values that the variable had before the one which the write replaced? *event:
 * the event before the last read of such a value. 1; 0; -1.
 */
static int is_of_older(struct explain *x, const struct insn_loc *place, const struct history_write *w, uint64_t *event,
		       struct err *e)
{
	struct history_read read = {.place = place};
	int got = source_of(x, w, &read, e);

	*event = read.event;
	return got < 0 ? -1 : got == FROM_IT && !read.same;
}

bool flow_is_stale(struct explain *x, const struct insn_loc *place, const struct timeline_point *at,
		   const uint8_t was[8])
{
	struct history_write w = {.at = *at};
	struct err ignored;
	const struct rec_image *img = rec_image(x->rec, x->process, &ignored);
	uint64_t event;
	bool is;

	memcpy(w.was, was, sizeof(w.was));
	is = img && img->nthreads > 1 && is_of_older(x, place, &w, &event, &ignored) == 1;
	explain_reopen(x);
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

/* How `later` is related to `earlier`, the write before it. */
enum conflict {
	CONFLICT_NONE = 0,
	CONFLICT_STALE, /* made only of a value from before `earlier`, whose update is lost */
	CONFLICT_STALE_SEVERAL, /* the same, and other updates are lost, too */
	CONFLICT_RESET, /* its thread took back a change that `earlier` had replaced */
};

/* The two steps, after what the chain has. */
static int tell_both(struct explain *x, const struct explain_compared *c, const struct history_write *later,
		     const struct history_write *earlier, enum conflict kind, struct err *e)
{
	cleanup_free char *first = NULL, *second = NULL;

	if (kind != CONFLICT_RESET) {
		first = str_fmt("thread %u wrote %s here, made of what it had read before thread %u wrote it",
				later->thread, c->name, earlier->thread);
		second = str_fmt("thread %u wrote %s here, between the read and the write of thread %u: this update is "
				 "lost%s",
				 earlier->thread, c->name, later->thread,
				 kind == CONFLICT_STALE_SEVERAL ? ", as are others" : "");
	} else {
		first = str_fmt("thread %u took back here what it had changed of %s before", later->thread, c->name);
		second =
			str_fmt("thread %u set %s here, after thread %u had changed it and before that thread took the "
				"change back",
				earlier->thread, c->name, later->thread);
	}
	return tell(x, later, c->name, first, e) || tell(x, earlier, c->name, second, e) ? -1 : 0;
}

/* Replaces the chain: `later` lost the update `earlier`, or restored what that had replaced. */
static int tell_conflict(struct explain *x, const struct explain_compared *c, const struct history_write *later,
			 const struct history_write *earlier, enum conflict kind, struct err *e)
{
	struct strv notes = x->notes; /* the notes are about the steps that are dropped */
	size_t before = x->chain.n;

	explain_reopen(x);
	x->notes = (struct strv){0};
	if (tell_both(x, c, later, earlier, kind, e)) {
		explain_cut(x, before);
		strv_fini(&x->notes);
		x->notes = notes;
		return -1;
	}
	strv_fini(&notes);
	while (before > 1)
		explain_drop(x, --before);
	if (kind != CONFLICT_RESET)
		explain_end(x, END_LOST_UPDATE, "two threads changed the value at the same time");
	else
		explain_end(x, END_LOST_UPDATE, "the value was set while the change of thread %u was part of it",
			    later->thread);
	x->found = true;
	return 0;
}

/* Reads a signed number of len bytes. */
static uint64_t number_of(const uint8_t v[8], unsigned len)
{
	uint64_t n = 0;

	memcpy(&n, v, len);
	return len < 8 ? (uint64_t)((int64_t)(n << (64 - len * 8)) >> (64 - len * 8)) : n;
}

/*
 * Goes to the write before the current state. birth: what is written when the memory's block is allocated; 0: the
 * memory is in no block. 0; 1: there is no write, or it is not known; -1.
 */
static int to_write(struct explain *x, const struct explain_compared *c, uint64_t birth, struct history_write *w,
		    struct err *e)
{
	uint8_t after[8];
	bool is_birth;
	int r;

	if (!flow_read(x, NULL, &c->place, after))
		return 1;
	r = flow_last_write(x, c->place.addr, c->place.len, birth, &is_birth, e);
	explain_reopen(x);
	if (r || is_birth)
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
 * w: the last writes, the latest first. Has the thread of the latest changed the variable's own value twice, and has
 * another thread certainly set it in between, and would the condition have held without that? 1; 0; -1.
 */
static int is_reset(struct explain *x, const struct explain_compared *c, const struct history_write w[3], struct err *e)
{
	if (w[0].thread != w[2].thread || w[0].thread == w[1].thread || w[0].change + w[2].change)
		return 0;
	for (unsigned k = 0; k < 3; k++) {
		struct history_read read = {.place = &c->place};
		int got = source_of(x, &w[k], &read, e);

		if (k == 1 && got == NOT_KNOWN)
			got = source_of_filling(x, &w[k], &read, e);
		if (got < 0 || got != (k == 1 ? NOT_FROM_IT : FROM_IT) || read.other)
			return got < 0 ? -1 : 0;
	}
	return would_hold(x, c, w[2].change, e);
}

#define LOST_MOST 16u /* writes that one write has lost */

/*
 * `later` was made only of what was there before `earlier`. Adds to *lost all changes by other threads from `earlier`
 * backwards, up to where the thread of `later` had read the variable, which was after the event `read`. 0; -1.
 */
static int lost_by(struct explain *x, const struct explain_compared *c, uint64_t birth,
		   const struct history_write *later, const struct history_write *earlier, uint64_t read,
		   uint64_t *lost, struct err *e)
{
	struct history_write w = *earlier;
	int got = 0;

	/* only one thread runs between two events */
	for (unsigned n = 0; !got && w.thread != later->thread && w.at.event > read && n < LOST_MOST; n++) {
		*lost += w.change;
		got = cursor_goto_point(&x->t, &w.at, e) ? -1 : to_write(x, c, birth, &w, e);
	}
	return got < 0 ? -1 : 0;
}

/*
 * Was `later` made only of what was there before `earlier`, and would the condition have been met with that, or with
 * all that was lost by it, or by it and later ones? *lost: that of later ones; adds to it. enum conflict; -1.
 */
static int is_stale(struct explain *x, const struct explain_compared *c, uint64_t birth,
		    const struct history_write *later, const struct history_write *earlier, uint64_t *lost,
		    struct err *e)
{
	uint64_t read, here = 0, of_later = *lost;
	int got = is_of_older(x, &c->place, later, &read, e);

	if (got != 1)
		return got;
	got = would_hold(x, c, earlier->change, e);
	if (got)
		return got > 0 ? CONFLICT_STALE : -1;
	if (lost_by(x, c, birth, later, earlier, read, &here, e))
		return -1;
	*lost += here;
	if (here != earlier->change)
		got = would_hold(x, c, here, e);
	if (!got && of_later)
		got = would_hold(x, c, *lost, e);
	return got > 0 ? CONFLICT_STALE_SEVERAL : got;
}

static int search(struct explain *x, const struct explain_compared *c, struct err *e)
{
	struct history_write w[3] = {0}, later = {0};
	struct object block = {0};
	unsigned checked = 0;
	uint64_t lost = 0;

	inspect_block(cursor_memory(&x->t), c->place.addr, &block);

	for (unsigned n = 0; n < WRITES && checked < CHECKED; n++) {
		struct history_write earlier;
		int got = to_write(x, c, block.header, &earlier, e);

		if (got)
			return got;
		if (n < 3)
			w[n] = earlier;
		if (n == 2) {
			got = is_reset(x, c, w, e);
			if (got)
				return got < 0 ? -1 : tell_conflict(x, c, &w[0], &w[1], CONFLICT_RESET, e);
		}
		if (n && later.thread != earlier.thread) {
			checked++;
			got = is_stale(x, c, block.header, &later, &earlier, &lost, e);
			if (got)
				return got < 0 ? -1 : tell_conflict(x, c, &later, &earlier, (enum conflict)got, e);
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

	if (!x->ncompared || !x->compared_at.pc || x->end == END_LOST_UPDATE || x->end == END_LATE || !img ||
	    img->nthreads < 2)
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
