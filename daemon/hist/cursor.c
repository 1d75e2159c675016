/* SPDX-License-Identifier: MIT */
/* cursor.c: see cursor.h. */
#include "hist/cursor.h"
#include <inttypes.h>
#include <string.h>

void hist_cursor_init(struct hist_cursor *c, const struct hist_ops *ops, void *ctx)
{
	memset(c, 0, sizeof(*c));
	c->ops = ops;
	c->ctx = ctx;
}

void hist_cursor_lost(struct hist_cursor *c)
{
	c->alive = false;
}

/* Issues the commands from index `from` to before index `to`. */
static int issue(struct hist_cursor *c, const struct hist *h, uint64_t from, uint64_t to,
		 struct err *e)
{
	uint64_t i = 0;

	for (size_t k = 0; k < h->n && i < to; k++) {
		uint64_t end = i + h->v[k].count;
		uint64_t a = i > from ? i : from, b = end < to ? end : to;

		if (a < b && c->ops->exec(c->ctx, h->v[k].cmd, b - a, e))
			return err_wrap(e, "%s", hist_cmd_name(h->v[k].cmd));
		i = end;
	}
	return 0;
}

int hist_cursor_goto(struct hist_cursor *c, const struct hist *h, uint64_t k, struct err *e)
{
	uint64_t from;

	if (k < c->base)
		return err_set(e, ERR_INTERNAL, "command %" PRIu64 " is before the checkpoint", k);
	if (!c->alive || c->at > k) {
		c->alive = false;
		if (c->ops->restart(c->ctx, e))
			return err_wrap(e, "restart");
		c->restarts++;
		c->at = c->base;
	}
	from = c->at;
	c->alive = false;
	if (issue(c, h, from, k, e))
		return -1;
	c->alive = true;
	c->at = k;
	return 0;
}

int hist_cursor_checkpoint(struct hist_cursor *c, struct err *e)
{
	if (!c->ops->checkpoint)
		return 0;
	if (c->ops->checkpoint(c->ctx, e))
		return err_wrap(e, "checkpoint");
	c->checkpoints++;
	c->base = c->at;
	return 0;
}

int hist_cursor_where(struct hist_cursor *c, struct hist_place *p, struct err *e)
{
	return c->ops->where(c->ctx, p, e) ? err_wrap(e, "position") : 0;
}
