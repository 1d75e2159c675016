/* SPDX-License-Identifier: MIT */
/* server.c: the listening socket; joins the parts of rpc.h. */
#define LOG_DOMAIN "rpc"
#include "rpc/server.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "rpc/rpc.h"
#include "wire/addr.h"
#include "wire/message.h"

/* Sends one line and ignores errors: the client belongs to another user, or there are too many. */
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
	stop_arm_idle(s);
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

/* A client has gone: the listener may have waited for its descriptor or its place. */
static void conn_gone(struct conn *c)
{
	struct server *s = c->server;
	struct err e;

	operation_orphan_all(c);
	if (s->stopping)
		return;
	if (loop_mod(s->loop, &s->listener, EPOLLIN, &e))
		log_error("%s", e.text);
	stop_arm_idle(s);
}

static const struct server_events events = {
	.line = rpc_dispatch,
	.drained = operation_resume_all,
	.conn_gone = conn_gone,
	.operation_gone = stop_operation_gone,
};

struct server *server_new(struct loop *l, const struct server_config *config, struct err *e)
{
	struct server *s = xcalloc(1, sizeof(*s));

	s->loop = l;
	s->config = *config;
	s->on = &events;
	s->started_ms = clock_ms();
	s->next_operation = 1;
	LIST_INIT(&s->conns);
	LIST_INIT(&s->operations);
	s->listener.fd = config->listen_fd;
	s->listener.fn = listener_ready;
	if (loop_timer_init(&s->idle, l, stop_idle_fired, e)) {
		free(s);
		return NULL;
	}
	if (loop_add(l, &s->listener, EPOLLIN, e)) {
		loop_timer_fini(&s->idle);
		free(s);
		return NULL;
	}
	stop_arm_idle(s);
	return s;
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
