/* SPDX-License-Identifier: MIT */
/*
 * changes.c: see changes.h. The newest changes are found first, in one part of the timeline after the other, until
 * there are enough: a run at full speed with the bytes in debug registers tells which segments have changes, and each
 * of those is entered for its last ones.
 */
#define LOG_DOMAIN "changes"
#include "debug/changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "segcursor/segcursor_int.h"
#include "timetravel/cursor_int.h"

#define BYTES_MAX (8u * BREAKS_WATCHES)
#define SHOWN_MAX SEGCUR_CHANGES
#define TRIES 3

struct bytes {
	uint8_t v[BYTES_MAX];
	bool there;
};

struct change {
	struct timeline_point at; /* of the statement */
	pid_t tid; /* as recorded */
	struct bytes old, now;
};

struct changes {
	struct debug *d;
	uint64_t addr;
	unsigned len;
	struct change *v; /* SHOWN_MAX entries; the last n of them are the newest changes */
	unsigned n;
	bool more; /* there are earlier ones */
};

static void look(const struct changes *c, struct bytes *b)
{
	struct err ignored;

	memset(b, 0, sizeof(*b));
	b->there = !trace_read(cursor_memory(&c->d->cursor), c->addr, b->v, c->len, &ignored);
}

/* Concatenates the words that the debug registers watch. */
static void join(const struct changes *c, const uint64_t *words, struct bytes *b)
{
	const struct group_slot *w = c->d->cursor.breaks.watch;

	b->there = true;
	for (unsigned i = 0; i < BREAKS_WATCHES; i++)
		if (w[i].kind)
			memcpy(b->v + (w[i].addr - c->addr), &words[i], w[i].len);
}

/* Adds an older change. NULL: there are enough. */
static struct change *add(struct changes *c)
{
	if (c->n == SHOWN_MAX) {
		c->more = true;
		return NULL;
	}
	return &c->v[SHOWN_MAX - ++c->n];
}

/* Adds the change at the kth stop of the segment in which the cursor is; the cursor is then after the statement. */
static int find_one(struct changes *c, uint64_t event, uint64_t k, struct err *e)
{
	struct cursor *t = &c->d->cursor;
	struct change *x = add(c);
	struct stop stop = {0};

	if (!x)
		return 0;
	if (cursor_enter_any(t, event, e) || segcur_nth_stop(&t->in, &t->breaks, k, &stop, e))
		return -1;
	t->tid = t->in.seg.tid;
	x->tid = target_shown_tid(&t->nav->t, t->in.seg.thread, t->tid);
	look(c, &x->now);
	if (cursor_back_step(t, t->tid, &stop, e) || cursor_where(t, &x->at, e))
		return -1;
	look(c, &x->old);
	return 0;
}

/* Adds the changes up to stop k, one by one, from the last one back. */
static int find_each(struct changes *c, uint64_t event, uint64_t k, struct err *e)
{
	for (; k && c->n < SHOWN_MAX; k--) {
		if (c->d->cursor.interrupted(c->d->cursor.ctx))
			return err_set(e, ERR_CANCELLED, "interrupted");
		if (find_one(c, event, k, e))
			return -1;
	}
	c->more |= k != 0;
	return 0;
}

/* Adds the changes in the cursor's segment, up to the cursor, or to the segment's end. */
static int find_inside(struct changes *c, bool to_end, struct err *e)
{
	struct segcur *in = &c->d->cursor.in;
	struct breaks *b = &c->d->cursor.breaks;
	struct segcur_change *v;
	uint64_t all = 0, k = 0, event = in->n;
	struct goal end = {0};
	unsigned n = 0;
	int r;

	v = xcalloc(SHOWN_MAX, sizeof(*v));
	r = in->marks ? segcur_changes(in, b, to_end, v, SHOWN_MAX - c->n, &n, &all, e) : 1;
	for (unsigned i = n; i > 0 && !r; i--) {
		struct change *x = add(c);

		x->at = (struct timeline_point){event, v[i - 1].pc, v[i - 1].hits};
		x->tid = target_shown_tid(in->seg.t, in->seg.thread, in->seg.tid);
		join(c, v[i - 1].was, &x->old);
		join(c, v[i - 1].now, &x->now);
	}
	free(v);
	if (!r) {
		c->more |= all > n;
		return all > n ? 0 : segcur_count_before_walks(in, b, &k, e) || find_each(c, event, k, e) ? -1 : 0;
	}
	if (r > 0)
		r = to_end ? segcur_count_to(in, &in->base, b, &end, 0, &k, e) : segcur_count_stops(in, b, &k, e);
	return r ? -1 : find_each(c, event, k, e);
}

/*
 * Adds the changes before event *to, in the part of the timeline that ends there; *to becomes the beginning of that
 * part.
 */
static int find_before(struct changes *c, uint64_t *to, struct err *e)
{
	struct cursor *t = &c->d->cursor;
	struct cursor_last all;
	int r = cursor_stopped_segments(t, to, &all, e);

	for (size_t i = all.maybes; i > 0 && !r; i--) {
		if (c->n == SHOWN_MAX) {
			c->more = true;
			break;
		}
		r = cursor_enter_any(t, all.maybe[i - 1], e) || find_inside(c, true, e) ? -1 : 0;
	}
	free(all.maybe);
	return r;
}

static void add_hex(struct buf *out, const struct bytes *b, unsigned len)
{
	for (unsigned i = 0; b->there && i < len; i++)
		buf_addf(out, "%02x", b->v[i]);
}

static void show(const struct changes *c, const struct change *x, struct buf *out)
{
	buf_add_str(out, "change ");
	bookmarks_add_position(out, &x->at);
	buf_addf(out, " %d %llx ", (int)x->tid, (unsigned long long)x->at.pc);
	add_hex(out, &x->old, c->len);
	buf_add_char(out, ' ');
	add_hex(out, &x->now, c->len);
	buf_add_char(out, '\n');
}

static bool same(const struct bytes *a, const struct bytes *b)
{
	return a->there == b->there && !memcmp(a->v, b->v, sizeof(a->v));
}

/*
 * Is the old value of each change the new value of the one before it, and is `end` the new value of the last one?
 * start: the old value of the first one, NULL: not known. It is not compared if the memory was not mapped then.
 */
static bool is_chain(const struct changes *c, const struct bytes *start, const struct bytes *end)
{
	const struct bytes *next = end;

	for (unsigned i = 0; i < c->n; i++) {
		const struct change *x = &c->v[SHOWN_MAX - 1 - i];

		if (!same(&x->now, next))
			return false;
		next = &x->old;
	}
	return !start || !start->there || same(start, next);
}

/* Are all changes known, back to the start? */
static bool is_from_start(const struct changes *c, uint64_t to)
{
	return !c->more && to <= nav_first(c->d->cursor.nav);
}

/* As is_chain. 1; 0; -1. */
static int is_complete(struct changes *c, uint64_t to, const struct bytes *end, struct err *e)
{
	struct cursor *t = &c->d->cursor;
	struct bytes start;

	if (!is_from_start(c, to))
		return is_chain(c, NULL, end);
	if (cursor_goto(t, nav_first(t->nav), e))
		return -1;
	look(c, &start);
	return is_chain(c, &start, end);
}

/* *end: the bytes at the cursor's position. */
static int collect(struct changes *c, const struct timeline_point *here, uint64_t *to, struct bytes *end, struct err *e)
{
	*to = here->event;
	if (cursor_goto_point(&c->d->cursor, here, e))
		return -1;
	look(c, end);
	if (find_inside(c, false, e))
		return -1;
	while (c->n<SHOWN_MAX && * to> nav_first(c->d->cursor.nav))
		if (find_before(c, to, e))
			return -1;
	return 0;
}

/*
 * With these breakpoints instead of the debugger's. The processor may miss the hit of a debug register: the search is
 * repeated until the changes form a chain. If two searches in a row find as many, the kernel has changed the memory in
 * between, which causes no hit.
 */
static int find(struct changes *c, const struct timeline_point *here, struct buf *out, struct err *e)
{
	struct cursor *t = &c->d->cursor;
	unsigned before = SHOWN_MAX + 1;
	int complete = 0;
	struct bytes end;
	uint64_t to;

	if (breaks_watch(&t->breaks, GROUP_WRITE, c->addr, c->len))
		return err_set(e, ERR_USAGE, "history: %u bytes at 0x%llx are more than the debug registers can watch",
			       c->len, (unsigned long long)c->addr);
	for (unsigned tries = 0; tries < TRIES; tries++) {
		c->n = 0;
		c->more = false;
		complete = collect(c, here, &to, &end, e) ? -1 : is_complete(c, to, &end, e);
		if (complete < 0)
			return -1;
		if (c->n == before || complete)
			break;
		before = c->n;
		log_info("the changes do not follow from each other: once more");
	}
	for (unsigned i = SHOWN_MAX - c->n; i < SHOWN_MAX; i++)
		show(c, &c->v[i], out);
	if (!complete)
		buf_add_str(out,
			    "fred: some changes may be missing: what one has left is not what the next one found\n");
	if (!is_from_start(c, to))
		buf_addf(out, "fred: these are the %u newest changes; earlier ones were not searched for\n", c->n);
	return 0;
}

static int parse(const char *args, struct changes *c, struct err *e)
{
	unsigned long long addr;

	if (sscanf(args, "%llx %u", &addr, &c->len) != 2 || !c->len || c->len > BYTES_MAX)
		return err_set(e, ERR_USAGE, "history ADDR LENGTH: LENGTH is 1 to %u bytes", BYTES_MAX);
	c->addr = addr;
	return 0;
}

int changes_list(struct debug *d, const char *args, struct buf *out, struct err *e)
{
	struct changes c = {.d = d};
	struct timeline_point here;
	struct breaks mine;
	struct err why;
	int r;

	debug_end_diversion(d);
	if (parse(args, &c, e) || cursor_where(&d->cursor, &here, e))
		return -1;
	c.v = xcalloc(SHOWN_MAX, sizeof(c.v[0]));
	mine = d->cursor.breaks;
	d->cursor.breaks = (struct breaks){0};
	r = find(&c, &here, out, e);
	breaks_fini(&d->cursor.breaks);
	d->cursor.breaks = mine;
	free(c.v);
	d->jumped = true;
	if (r && e->kind == ERR_CANCELLED)
		return -1;
	if (cursor_goto_point(&d->cursor, &here, r ? &why : e)) {
		if (r)
			log_warn("the session could not return to its position: %s", why.text);
		r = -1;
	}
	return r;
}
