/* SPDX-License-Identifier: MIT */
/* stop.c: when the server ends: by request, or after being idle for long enough. */
#define LOG_DOMAIN "rpc"
#include "base/log.h"
#include "rpc/rpc.h"

void stop_arm_idle(struct server *s)
{
	bool busy = s->conn_count || s->operation_count;

	loop_timer_set(&s->idle, busy ? 0 : s->config.idle_ms);
}

static void stop_if_done(struct server *s)
{
	struct conn *c;

	if (!s->stopping || s->operation_count)
		return;
	LIST_FOREACH(c, &s->conns, link)
	conn_flush(c);
	loop_stop(s->loop);
}

void server_stop(struct server *s)
{
	struct operation *op;

	if (s->stopping)
		return;
	s->stopping = true;
	loop_del(s->loop, &s->listener);
	LIST_FOREACH(op, &s->operations, link)
	operation_cancel(op);
	stop_if_done(s);
}

void stop_idle_fired(struct loop_timer *t)
{
	struct server *s = container_of(t, struct server, idle);

	if (s->conn_count || s->operation_count)
		return;
	log_info("idle, ending");
	server_stop(s);
}

void stop_operation_gone(struct server *s)
{
	stop_arm_idle(s);
	stop_if_done(s);
}
