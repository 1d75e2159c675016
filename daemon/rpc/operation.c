/* SPDX-License-Identifier: MIT */
/*
 * operation.c: a long method, run by a worker process. Its lines (replay/operation.h) become notifications to the
 * client; the operation ends when the worker has ended, even after its result.
 */
#define LOG_DOMAIN "op"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "rpc/rpc.h"
#include "wire/message.h"

static void forward(struct operation *op, const char *method, json_t *params)
{
	if (!op->conn || op->cancelled) {
		json_decref(params);
		return;
	}
	json_object_set(params, "id", op->request_id);
	json_object_set_new(params, "op", json_integer((json_int_t)op->id));
	conn_send(op->conn, wire_notification(method, params));
}

static void got_progress(struct operation *op, const json_t *line)
{
	json_t *text = json_object_get(line, "text");

	op->fraction = json_number_value(json_object_get(line, "progress"));
	if (text) {
		json_decref(op->text);
		op->text = json_incref(text);
	}
	forward(op, "op.progress", json_pack("{s:f, s:O*}", "fraction", op->fraction, "text", text));
}

static void got_output(struct operation *op, const json_t *line)
{
	forward(op, "op.output",
		json_pack("{s:O, s:O*}", "fd", json_object_get(line, "output"), "base64",
			  json_object_get(line, "base64")));
}

static void got_note(struct operation *op, const json_t *line)
{
	forward(op, "op.note", json_pack("{s:O}", "text", json_object_get(line, "note")));
}

static void got_line(struct operation *op, const char *line, size_t len)
{
	json_auto_t *v = json_loadb(line, len, 0, NULL);

	if (json_object_get(v, "progress"))
		got_progress(op, v);
	else if (json_object_get(v, "output"))
		got_output(op, v);
	else if (json_object_get(v, "note"))
		got_note(op, v);
	else if (!op->final && (json_object_get(v, "result") || json_object_get(v, "error")))
		op->final = json_incref(v);
	else
		op->garbled = true;
}

static void handle_lines(struct operation *op)
{
	enum wire_frame_result r = WIRE_FRAME_MORE;
	const char *line;
	size_t len;

	while (!op->garbled && (r = wire_frame_next(&op->in, &line, &len)) == WIRE_FRAME_LINE)
		got_line(op, line, len);
	if (r == WIRE_FRAME_LOST)
		op->garbled = true;
	if (op->garbled)
		loop_child_kill(&op->child, op->end_signal);
}

static void pipe_ready(struct loop_source *src, uint32_t events)
{
	struct operation *op = container_of(src, struct operation, pipe);
	ssize_t n = wire_frame_read(&op->in, src->fd);
	struct err e;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		loop_del(op->server->loop, src); /* its end is reported by the pidfd */
		return;
	}
	handle_lines(op);
	if (op->conn && conn_is_full(op->conn)) {
		op->conn->paused = true;
		if (loop_mod(op->server->loop, src, 0, &e))
			log_error("%s", e.text);
	}
}

/* Reads the rest of the pipe: the worker is dead, and has written all that it will. */
static void drain(struct operation *op)
{
	while (wire_frame_read(&op->in, op->pipe.fd) > 0)
		handle_lines(op);
}

static void death_text(const struct operation *op, int code, int status, struct err *e)
{
	const char *name = op->method->name;

	if (op->garbled)
		err_set(e, ERR_INTERNAL, "%s: the worker wrote a line that is not a valid message", name);
	else if (code == CLD_EXITED && status == CELL_CROWDED)
		err_set(e, ERR_INTERNAL, "%s: the recorded program made more than %u processes, and was ended", name,
			CELL_PROCESSES);
	else if (code == CLD_EXITED)
		err_set(e, ERR_INTERNAL, "%s: the worker ended with status %d and no result", name, status);
	else
		err_set(e, ERR_INTERNAL, "%s: the worker was killed by SIG%s", name,
			sigabbrev_np(status) ? sigabbrev_np(status) : "?");
}

static json_t *final_answer(struct operation *op, int code, int status)
{
	json_t *result = json_object_get(op->final, "result");
	json_t *error = json_object_get(op->final, "error");
	const char *kind = json_string_value(json_object_get(error, "kind"));
	const char *text = json_string_value(json_object_get(error, "text"));
	struct err e;

	if (result && !op->garbled)
		return wire_result(op->request_id, json_incref(result));
	if (op->cancelled)
		err_set(&e, ERR_CANCELLED, "%s: cancelled", op->method->name);
	else if (kind && text && !op->garbled)
		err_set(&e, err_kind_from_name(kind), "%s", text);
	else
		death_text(op, code, status, &e);
	if (e.kind == ERR_INTERNAL)
		log_error("operation %llu: %s", (unsigned long long)op->id, e.text);
	return wire_error_from(op->request_id, &e);
}

static void operation_free(struct operation *op)
{
	loop_del(op->server->loop, &op->pipe);
	loop_child_fini(&op->child);
	if (op->pipe.fd >= 0)
		close(op->pipe.fd);
	wire_frame_fini(&op->in);
	json_decref(op->request_id);
	json_decref(op->params);
	json_decref(op->final);
	json_decref(op->text);
	free(op);
}

static void worker_ended(struct loop_child *child, int code, int status)
{
	struct operation *op = container_of(child, struct operation, child);
	struct server *s = op->server;

	drain(op);
	cell_remove_dir(op->dir);
	LIST_REMOVE(op, link);
	s->operation_count--;
	log_info("operation %llu: %s ended after %llu ms", (unsigned long long)op->id, op->method->name,
		 (unsigned long long)(clock_ms() - op->started_ms));
	if (op->conn) {
		op->conn->operations--;
		conn_send(op->conn, final_answer(op, code, status));
		conn_wake(op->conn);
	}
	operation_free(op);
	s->on->operation_gone(s);
}

static int start_worker(struct operation *op, struct err *e)
{
	struct loop *l = op->server->loop;
	struct cell cell;

	if (worker_start(op, &cell, &op->pipe.fd, e))
		return -1;
	op->end_signal = cell.end_signal;
	memcpy(op->dir, cell.dir, sizeof(op->dir));
	op->pipe.fn = pipe_ready;
	if (!loop_child_init(&op->child, l, cell.pid, cell.pidfd, worker_ended, e) &&
	    !loop_add(l, &op->pipe, EPOLLIN, e))
		return 0;
	/* the process is a child that was not reaped yet, so the PID is still its own */
	kill(cell.pid, cell.end_signal);
	waitpid(cell.pid, NULL, __WALL);
	cell_remove_dir(cell.dir);
	return -1;
}

static struct operation *operation_new(struct conn *c, const struct wire_method *m, json_t *id, json_t *params)
{
	struct operation *op = xcalloc(1, sizeof(*op));

	op->server = c->server;
	op->conn = c;
	op->method = m;
	op->request_id = json_incref(id);
	op->params = params ? json_incref(params) : json_object();
	op->started_ms = clock_ms();
	op->id = c->server->next_operation++;
	op->pipe.fd = -1;
	op->child.source.fd = -1;
	wire_frame_init(&op->in, WIRE_MAX_MESSAGE);
	return op;
}

int operation_start(struct conn *c, const struct wire_method *m, json_t *id, json_t *params, struct err *e)
{
	struct server *s = c->server;
	struct operation *op;

	if (s->stopping)
		return err_set(e, ERR_CANCELLED, "%s: the daemon is shutting down", m->name);
	if (s->operation_count >= RPC_MAX_OPERATIONS)
		return err_set(e, ERR_HOST, "%s: %d operations are already running", m->name, RPC_MAX_OPERATIONS);
	op = operation_new(c, m, id, params);
	if (start_worker(op, e)) {
		operation_free(op);
		return err_wrap(e, "%s", m->name);
	}
	LIST_INSERT_HEAD(&s->operations, op, link);
	s->operation_count++;
	c->operations++;
	log_info("operation %llu: %s started, worker %d", (unsigned long long)op->id, m->name, (int)op->child.pid);
	return 0;
}

void operation_cancel(struct operation *op)
{
	op->cancelled = true;
	loop_child_kill(&op->child, op->end_signal);
}

void operation_orphan_all(struct conn *c)
{
	struct operation *op;

	LIST_FOREACH(op, &c->server->operations, link)
	{
		if (op->conn != c)
			continue;
		op->conn = NULL;
		operation_cancel(op);
	}
	c->operations = 0;
}

void operation_resume_all(struct conn *c)
{
	struct operation *op;
	struct err e;

	LIST_FOREACH(op, &c->server->operations, link)
	if (op->conn == c && op->pipe.events && loop_mod(c->server->loop, &op->pipe, EPOLLIN, &e))
		log_error("%s", e.text);
}

json_t *operation_describe(const struct operation *op)
{
	return json_pack("{s:I, s:s, s:i, s:f, s:f, s:O*, s:O*}", "op", (json_int_t)op->id, "method", op->method->name,
			 "pid", (int)op->child.pid, "elapsed_s", (double)(clock_ms() - op->started_ms) / 1000,
			 "fraction", op->fraction, "text", op->text, "rec", json_object_get(op->params, "rec"));
}
