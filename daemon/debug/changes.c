/* SPDX-License-Identifier: MIT */
/*
 * changes.c: see changes.h. One run at full speed with the bytes in debug registers notes which stops of which segments
 * changed them; then each such segment is entered for the exact positions.
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
#include "debug/travel_int.h"

#define BYTES_MAX (8u * BREAKS_WATCHES)
#define SHOWN_MAX 200u

struct bytes {
	uint8_t v[BYTES_MAX];
	bool there;
};

struct change {
	uint64_t event, k; /* the k-th stop of the segment behind this event, from 1 */
	struct bytes old, now;
};

struct changes {
	struct debug *d;
	uint64_t addr;
	unsigned len;
	struct bytes last;
	struct change *v;
	size_t n;
	uint64_t event, k; /* of the stop that was met last */
};

static void look(const struct changes *c, pid_t pid, struct bytes *b)
{
	struct err ignored;

	memset(b, 0, sizeof(*b));
	b->there = !trace_read(pid, c->addr, b->v, c->len, &ignored);
}

/* The next stop of the segment behind event. */
static void met(struct changes *c, uint64_t event, pid_t pid)
{
	struct change now = {.event = event};

	c->k = c->k && c->event == event ? c->k + 1 : 1;
	c->event = event;
	now.k = c->k;
	now.old = c->last;
	look(c, pid, &now.now);
	if (!memcmp(&now.old, &now.now, sizeof(now.old)))
		return;
	c->last = now.now;
	c->v = xreallocarray(c->v, c->n + 1, sizeof(c->v[0]));
	c->v[c->n++] = now;
}

/* From TRAVEL_GROUP up to event `to`. */
static int run_to(struct changes *c, uint64_t to, struct err *e)
{
	struct travel *t = &c->d->travel;
	struct stop stop = {0};

	while (stop.kind != STOP_LIMIT && stop.kind != STOP_END) {
		if (travel_run(t, 0, to, &stop, e))
			return -1;
		if (stop.kind == STOP_INTERRUPT)
			return err_set(e, ERR_CANCELLED, "interrupted");
		if (stop.kind == STOP_WATCH)
			met(c, nav_at(t->nav), travel_memory(t));
	}
	return 0;
}

/* The segment before a fork that is followed, and over that: forks.c. */
static int run_fork(struct changes *c, uint64_t fork, struct err *e)
{
	struct travel *t = &c->d->travel;
	struct stop stop;
	pid_t none = 0;
	int r;

	if (travel_enter_any(t, fork - 1, e))
		return -1;
	for (uint64_t k = 1; !(r = inside_nth_stop(&t->in, &t->breaks, k, &stop, e)); k++)
		met(c, fork - 1, travel_memory(t));
	return r < 0 ? -1 : travel_cross(t, &none, e);
}

/* All segments up to the one behind event `to`, which is left out. */
static int run(struct changes *c, uint64_t to, struct err *e)
{
	struct travel *t = &c->d->travel;
	uint64_t fork = 0;

	if (travel_hold(t, 0, e))
		return -1;
	look(c, travel_memory(t), &c->last);
	for (;;) {
		if (travel_next_fork(t, fork, &fork, e))
			return -1;
		if (!fork || fork > to)
			return run_to(c, to, e);
		if (run_to(c, fork - 1, e) || run_fork(c, fork, e))
			return -1;
	}
}

/* The segment in which it stood, up to there. */
static int run_last(struct changes *c, const struct timeline_point *here, struct err *e)
{
	struct travel *t = &c->d->travel;
	uint64_t count;

	if (travel_goto_pc(t, here->event, here->pc, here->hits, e) || inside_count_stops(&t->in, &t->breaks, &count, e))
		return -1;
	for (uint64_t k = 1; k <= count; k++) {
		struct stop stop;

		if (inside_nth_stop(&t->in, &t->breaks, k, &stop, e))
			return -1;
		met(c, here->event, travel_memory(t));
	}
	return 0;
}

static void add_hex(struct buf *out, const struct bytes *b, unsigned len)
{
	for (unsigned i = 0; b->there && i < len; i++)
		buf_addf(out, "%02x", b->v[i]);
}

/* Its stop is behind the statement. */
static int show(struct changes *c, const struct change *x, struct buf *out, struct err *e)
{
	struct travel *t = &c->d->travel;
	struct timeline_point p;
	struct stop stop;

	if (travel_enter_any(t, x->event, e) || inside_nth_stop(&t->in, &t->breaks, x->k, &stop, e))
		return -1;
	t->tid = t->in.seg.tid;
	if (travel_back_step(t, t->tid, &stop, e) || travel_where(t, &p, e))
		return -1;
	buf_add_str(out, "change ");
	places_add_position(out, &p);
	buf_addf(out, " %d %llx ", (int)t->tid, (unsigned long long)p.pc);
	add_hex(out, &x->old, c->len);
	buf_add_char(out, ' ');
	add_hex(out, &x->now, c->len);
	buf_add_char(out, '\n');
	return 0;
}

static int show_all(struct changes *c, struct buf *out, struct err *e)
{
	size_t first = c->n > SHOWN_MAX ? c->n - SHOWN_MAX : 0;

	for (size_t i = first; i < c->n; i++) {
		if (c->d->travel.interrupted(c->d->travel.ctx))
			return err_set(e, ERR_CANCELLED, "interrupted");
		if (show(c, &c->v[i], out, e))
			return -1;
	}
	if (first)
		buf_addf(out, "fred: %zu earlier changes are left out\n", first);
	return 0;
}

/* With these breakpoints in the place of the debugger's. */
static int find(struct changes *c, const struct timeline_point *here, struct buf *out, struct err *e)
{
	if (breaks_watch(&c->d->travel.breaks, GROUP_WRITE, c->addr, c->len))
		return err_set(e, ERR_USAGE, "history: %u bytes at 0x%llx are more than the debug registers can watch", c->len,
			       (unsigned long long)c->addr);
	return run(c, here->event, e) || run_last(c, here, e) || show_all(c, out, e) ? -1 : 0;
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
	if (parse(args, &c, e) || travel_where(&d->travel, &here, e))
		return -1;
	mine = d->travel.breaks;
	d->travel.breaks = (struct breaks){0};
	r = find(&c, &here, out, e);
	breaks_fini(&d->travel.breaks);
	d->travel.breaks = mine;
	free(c.v);
	d->jumped = true;
	if (r && e->kind == ERR_CANCELLED)
		return -1;
	if (travel_goto_pc(&d->travel, here.event, here.pc, here.hits, r ? &why : e)) {
		if (r)
			log_warn("the session does not come back: %s", why.text);
		r = -1;
	}
	return r;
}
