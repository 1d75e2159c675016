/* SPDX-License-Identifier: MIT */
/*
 * conn.c: one client. Reads lines and hands them to server_events.line, sends what was queued. A
 * client that does not read is not read from either, so it costs bounded memory.
 */
#define LOG_DOMAIN "rpc"
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "rpc/rpc.h"
#include "wire/message.h"

static void update_events(struct conn *c)
{
	uint32_t events = 0;
	struct err e;

	if (!c->eof && !c->closing && !conn_is_full(c))
		events |= EPOLLIN;
	/* there may be nothing to send: the event also closes the connection */
	if (c->out.len || c->paused || c->closing || (c->eof && !c->operations))
		events |= EPOLLOUT;
	if (loop_mod(c->server->loop, &c->source, events, &e))
		log_error("%s", e.text);
}

bool conn_is_full(const struct conn *c)
{
	return c->out.len > RPC_OUT_HIGH;
}

void conn_wake(struct conn *c)
{
	update_events(c);
}

void conn_flush(struct conn *c)
{
	while (c->out.len) {
		ssize_t n = send(c->source.fd, c->out.data, c->out.len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return;
		buf_consume(&c->out, (size_t)n);
	}
}

void conn_send(struct conn *c, json_t *msg)
{
	json_auto_t *owned = msg;
	size_t len = 0;
	char *line = owned ? wire_line(owned, &len) : NULL;

	if (!line) {
		log_error("a message could not be encoded");
		c->closing = true;
	} else {
		buf_add(&c->out, line, len);
		free(line);
	}
	conn_flush(c);
	update_events(c);
}

static void lost_framing(struct conn *c)
{
	log_warn("client closed: message over %zu bytes", c->in.limit);
	conn_send(c, wire_error(NULL, WIRE_E_TOO_LARGE, wire_code_text(WIRE_E_TOO_LARGE)));
	c->closing = true;
}

static void handle_lines(struct conn *c)
{
	const char *line;
	size_t len;

	while (!c->closing) {
		if (conn_is_full(c)) {
			c->paused = true;
			return;
		}
		switch (wire_frame_next(&c->in, &line, &len)) {
		case WIRE_FRAME_LINE:
			c->server->on->line(c, line, len);
			break;
		case WIRE_FRAME_MORE:
			return;
		case WIRE_FRAME_LOST:
			lost_framing(c);
			return;
		}
	}
}

/* Returns -1 when the socket has failed. */
static int handle_input(struct conn *c)
{
	ssize_t n = wire_frame_read(&c->in, c->source.fd);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (n == 0)
		c->eof = true;
	handle_lines(c);
	return 0;
}

/* Handles the lines that waited while too much was left to send. */
static void resume(struct conn *c)
{
	if (!c->paused || conn_is_full(c))
		return;
	c->paused = false;
	handle_lines(c);
	c->server->on->drained(c);
}

static void conn_ready(struct loop_source *src, uint32_t events)
{
	struct conn *c = container_of(src, struct conn, source);
	bool broken = false;

	if (events & EPOLLOUT) {
		conn_flush(c);
		resume(c);
	}
	if ((events & EPOLLIN) && !c->eof && !c->closing)
		broken = handle_input(c) < 0;
	if (!(events & EPOLLIN) || c->eof || c->closing)
		broken |= (events & (EPOLLHUP | EPOLLERR)) != 0;
	if (broken || (!c->out.len && (c->closing || (c->eof && !c->operations))))
		conn_free(c);
	else
		update_events(c);
}

int conn_new(struct server *s, int fd, struct err *e)
{
	struct conn *c = xcalloc(1, sizeof(*c));

	c->server = s;
	c->source.fd = fd;
	c->source.fn = conn_ready;
	wire_frame_init(&c->in, WIRE_MAX_MESSAGE);
	if (loop_add(s->loop, &c->source, EPOLLIN, e)) {
		close(fd);
		free(c);
		return -1;
	}
	LIST_INSERT_HEAD(&s->conns, c, link);
	s->conn_count++;
	return 0;
}

void conn_free(struct conn *c)
{
	struct server *s = c->server;

	LIST_REMOVE(c, link);
	s->conn_count--;
	s->on->conn_gone(c);
	loop_del(s->loop, &c->source);
	close(c->source.fd);
	wire_frame_fini(&c->in);
	buf_fini(&c->out);
	free(c);
}
