/* SPDX-License-Identifier: MIT */
/* decompose.c: see decompose.h. */
#include "hist/decompose.h"
#include <inttypes.h>

/* The expansion under way: h without its last command, then out, must lead to `target`. */
struct expansion {
	const struct hist *h;
	uint64_t prefix; /* commands of h before the one that is expanded */
	struct hist out;
	struct hist_cursor *c;
	uint64_t target;
};

/* Restarts and goes to the end of what has been found so far. */
static int again(struct expansion *x, struct err *e)
{
	hist_cursor_lost(x->c);
	if (hist_cursor_goto(x->c, x->h, x->prefix, e))
		return -1;
	hist_cursor_lost(x->c);
	for (size_t i = 0; i < x->out.n; i++)
		if (x->c->ops->exec(x->c->ctx, x->out.v[i].cmd, x->out.v[i].count, e))
			return -1;
	return 0;
}

/* Issues the command and says where that led, relative to the target: -1 before, 0 at, 1 past it.
 */
static int try_command(struct expansion *x, enum hist_cmd cmd, uint64_t count, int *side,
		       struct err *e)
{
	struct hist_place p;

	if (x->c->ops->exec(x->c->ctx, cmd, count, e) || hist_cursor_where(x->c, &p, e))
		return -1;
	*side = p.pos < x->target ? -1 : p.pos > x->target;
	return 0;
}

/* As many of cmd as stay before the target: doubling, then halving counts, each overshoot undone.
 */
static int greedy(struct expansion *x, enum hist_cmd cmd, struct err *e)
{
	uint64_t n = 1;
	bool growing = true;
	int side;

	while (n) {
		if (try_command(x, cmd, n, &side, e))
			return -1;
		if (side < 0) {
			if (hist_append(&x->out, cmd, n, e))
				return -1;
		} else {
			growing = false;
			if (again(x, e))
				return -1;
		}
		n = growing ? n * 2 : n / 2;
	}
	return 0;
}

static int by_instructions(struct expansion *x, struct err *e)
{
	int side;

	if (greedy(x, HIST_STEPI, e) || try_command(x, HIST_STEPI, 1, &side, e))
		return -1;
	if (side)
		return err_set(e, ERR_INTERNAL, "the debug history does not lead to its end again");
	return hist_append(&x->out, HIST_STEPI, 1, e);
}

/* From a place before the target: `next` as far as possible, then one `step`, which enters a
 * function or arrives; and so on inside that function. */
static int expand(struct expansion *x, enum hist_cmd finest, struct err *e)
{
	int side;

	for (;;) {
		if (greedy(x, HIST_NEXT, e) || try_command(x, HIST_STEP, 1, &side, e))
			return -1;
		if (side > 0 || (!side && finest == HIST_STEPI))
			return again(x, e) || by_instructions(x, e) ? -1 : 0;
		if (hist_append(&x->out, HIST_STEP, 1, e))
			return -1;
		if (!side)
			return 0;
	}
}

static int expand_last(struct expansion *x, enum hist_cmd finest, struct err *e)
{
	struct hist_place p;

	if (hist_cursor_goto(x->c, x->h, x->prefix + 1, e) || hist_cursor_where(x->c, &p, e))
		return -1;
	x->target = p.pos;
	hist_cursor_lost(x->c);
	if (hist_cursor_goto(x->c, x->h, x->prefix, e) || hist_cursor_where(x->c, &p, e))
		return -1;
	if (p.pos >= x->target) /* the command did nothing */
		return 0;
	hist_cursor_lost(x->c);
	return expand(x, finest, e);
}

int hist_decompose(struct hist *h, struct hist_cursor *c, enum hist_cmd finest, struct err *e)
{
	struct expansion x = {.h = h, .c = c};
	struct hist result = {0};
	int r = -1;

	if (!h->n)
		return err_set(e, ERR_NOT_FOUND, "the debug history is empty");
	x.prefix = hist_length(h) - 1;
	if (hist_at(h, x.prefix) >= finest)
		return 0;
	if (!expand_last(&x, finest, e) && !hist_copy(&result, h, e)) {
		hist_truncate(&result, x.prefix);
		r = hist_append_all(&result, &x.out, e);
	}
	hist_fini(&x.out);
	if (r) {
		hist_fini(&result);
		return err_wrap(e, "expand %s", hist_cmd_name(hist_at(h, x.prefix)));
	}
	hist_fini(h);
	*h = result;
	hist_cursor_lost(c);
	return 0;
}

static int place_at_end(const struct hist *h, struct hist_cursor *c, struct hist_place *p,
			struct err *e)
{
	if (!h->n)
		return err_set(e, ERR_NOT_FOUND, "the debug history is empty");
	if (hist_cursor_goto(c, h, hist_length(h), e))
		return -1;
	return hist_cursor_where(c, p, e);
}

/* Commands that did nothing, say at the end of the program, are taken back on the way. */
static int reverse_by(struct hist *h, struct hist_cursor *c, enum hist_cmd finest, struct err *e)
{
	struct hist_place end = {0}, now = {0};

	if (place_at_end(h, c, &end, e))
		return -1;
	do {
		uint64_t length = hist_length(h);

		if (hist_decompose(h, c, finest, e))
			return -1;
		if (h->n && hist_length(h) >= length)
			hist_truncate(h, hist_length(h) - 1);
		if (hist_cursor_goto(c, h, hist_length(h), e) || hist_cursor_where(c, &now, e))
			return -1;
	} while (h->n && now.pos == end.pos);
	return 0;
}

int hist_reverse_step(struct hist *h, struct hist_cursor *c, struct err *e)
{
	return reverse_by(h, c, HIST_STEP, e);
}

int hist_reverse_stepi(struct hist *h, struct hist_cursor *c, struct err *e)
{
	return reverse_by(h, c, HIST_STEPI, e);
}

/* Shortens h until it ends at most `depth` deep. Along a run of `next` the depth never grows, so if
 * its end is too deep, all of it is. */
static int back_to_depth(struct hist *h, struct hist_cursor *c, unsigned depth, struct err *e)
{
	struct hist_place p;

	for (;;) {
		if (hist_cursor_goto(c, h, hist_length(h), e) || hist_cursor_where(c, &p, e))
			return -1;
		if (p.depth <= depth || !h->n || hist_length(h) == c->base)
			return 0;
		if (h->v[h->n - 1].cmd == HIST_NEXT)
			h->n--;
		else if (h->v[h->n - 1].cmd >= HIST_STEP)
			hist_truncate(h, hist_length(h) - 1);
		else if (hist_decompose(h, c, HIST_STEP, e))
			return -1;
	}
}

int hist_reverse_next(struct hist *h, struct hist_cursor *c, struct err *e)
{
	struct hist_place end = {0};

	if (place_at_end(h, c, &end, e) || hist_reverse_step(h, c, e))
		return -1;
	return back_to_depth(h, c, end.depth, e);
}

int hist_reverse_finish(struct hist *h, struct hist_cursor *c, struct err *e)
{
	struct hist_place end = {0};

	if (place_at_end(h, c, &end, e))
		return -1;
	if (!end.depth)
		return err_set(e, ERR_NOT_FOUND, "this is the outermost frame");
	return back_to_depth(h, c, end.depth - 1, e);
}

int hist_reverse_continue(struct hist *h, struct hist_cursor *c, struct err *e)
{
	size_t n = h->n;

	if (!n)
		return err_set(e, ERR_NOT_FOUND, "the debug history is empty");
	while (n && h->v[n - 1].cmd >= HIST_NEXT)
		n--;
	if (n < h->n)
		h->n = n;
	else
		hist_truncate(h, hist_length(h) - 1);
	return hist_cursor_goto(c, h, hist_length(h), e);
}

int hist_undo(struct hist *h, struct hist_cursor *c, uint64_t n, struct err *e)
{
	uint64_t length = hist_length(h);

	if (!length)
		return err_set(e, ERR_NOT_FOUND, "the debug history is empty");
	hist_truncate(h, n < length ? length - n : 0);
	return hist_cursor_goto(c, h, hist_length(h), e);
}
