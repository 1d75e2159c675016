/* SPDX-License-Identifier: MIT */
/* server.c: the listening socket, the idle timer, and the orderly end. */
#define LOG_DOMAIN "rpc"
#include "rpc/server.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "rpc/rpc.h"
#include "wire/addr.h"
#include "wire/message.h"

uint64_t rpc_now_ms(void)
{
	return clock_ns() / 1000000;
}

static void arm_idle(struct server *s)
{
	bool busy = s->conn_count || s->operation_count;

	loop_timer_set(&s->idle, busy ? 0 : s->config.idle_ms);
}

static void idle_fired(struct loop_timer *t)
{
	struct server *s = container_of(t, struct server, idle);

	if (s->conn_count || s->operation_count)
		return;
	log_info("idle, ending");
	server_stop(s);
}

/* One line, best effort: the client is not ours or is one too many. */
static void turn_away(int fd, int code, const char *text)
{
	json_auto_t *msg = wire_error(NULL, code, text);
	size_t len;
	char *line = wire_line(msg, &len);

	if (line && send(fd, line, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		log_debug("a client that was turned away has gone");
	free(line);
	close(fd);
}

static void accepted(struct server *s, int fd)
{
	struct err e;

	if (wire_peer_check(fd, &e)) {
		log_warn("client refused: %s", e.text);
		turn_away(fd, WIRE_E_HOST, "this fredd belongs to another user");
		return;
	}
	if (s->conn_count >= RPC_MAX_CONNS) {
		log_warn("client refused: too many connections");
		turn_away(fd, WIRE_E_BUSY, "too many connections");
		return;
	}
	if (conn_new(s, fd, &e)) {
		log_warn("client refused: %s", e.text);
		return;
	}
	arm_idle(s);
}

static void listener_ready(struct loop_source *src, uint32_t events)
{
	struct server *s = container_of(src, struct server, listener);
	int fd = accept4(src->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct err e;

	if (fd >= 0) {
		accepted(s, fd);
		return;
	}
	if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
		log_warn("accept: out of descriptors or memory, waiting for a client to leave");
		if (s->conn_count && loop_mod(s->loop, src, 0, &e))
			log_error("%s", e.text);
	}
}

struct server *server_new(struct loop *l, const struct server_config *config, struct err *e)
{
	struct server *s = xcalloc(1, sizeof(*s));

	s->loop = l;
	s->config = *config;
	s->started_ms = rpc_now_ms();
	s->next_operation = 1;
	LIST_INIT(&s->conns);
	LIST_INIT(&s->operations);
	s->listener.fd = config->listen_fd;
	s->listener.fn = listener_ready;
	if (loop_timer_init(&s->idle, l, idle_fired, e)) {
		free(s);
		return NULL;
	}
	if (loop_add(l, &s->listener, EPOLLIN, e)) {
		loop_timer_fini(&s->idle);
		free(s);
		return NULL;
	}
	arm_idle(s);
	return s;
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

void server_conn_gone(struct server *s)
{
	struct err e;

	if (s->stopping)
		return;
	if (loop_mod(s->loop, &s->listener, EPOLLIN, &e))
		log_error("%s", e.text);
	arm_idle(s);
}

void server_operation_gone(struct server *s)
{
	arm_idle(s);
	stop_if_done(s);
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

void server_free(struct server *s)
{
	if (!s)
		return;
	while (!LIST_EMPTY(&s->conns))
		conn_free(LIST_FIRST(&s->conns));
	loop_del(s->loop, &s->listener);
	loop_timer_fini(&s->idle);
	free(s);
}
