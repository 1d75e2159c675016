/* SPDX-License-Identifier: MIT */
/*
 * dispatch.c: from a line to a method, and from an outcome to an answer. The QUICK methods of
 * wire/methods.def are answered here; the others become operations.
 */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "rpc/rpc.h"
#include "wire/message.h"

/* ---- quick methods ---- */

typedef int (*quick_fn)(struct conn *c, json_t *params, json_t **result, struct err *e);

static int do_hello(struct conn *c, json_t *params, json_t **result, struct err *e)
{
	*result = json_pack("{s:s, s:i, s:i, s:s, s:I}", "version", FRED_VERSION, "protocol", WIRE_PROTOCOL, "pid",
			    (int)getpid(), "build", c->server->config.build, "operations",
			    (json_int_t)c->server->operation_count);
	return 0;
}

static int do_status(struct conn *c, json_t *params, json_t **result, struct err *e)
{
	struct server *s = c->server;
	json_t *list = json_array();
	struct operation *op;

	LIST_FOREACH(op, &s->operations, link)
	json_array_append_new(list, operation_describe(op));
	*result = json_pack("{s:s, s:i, s:s, s:f, s:I, s:o}", "version", FRED_VERSION, "pid", (int)getpid(), "home",
			    s->config.home, "uptime_s", (double)(clock_ms() - s->started_ms) / 1000, "clients",
			    (json_int_t)s->conn_count, "operations", list);
	return 0;
}

static int do_shutdown(struct conn *c, json_t *params, json_t **result, struct err *e)
{
	size_t cancelled = c->server->operation_count;

	*result = json_pack("{s:b, s:I}", "stopped", 1, "cancelled", (json_int_t)cancelled);
	server_stop(c->server); /* takes effect after this callback, which sends the answer */
	return 0;
}

static struct operation *find_operation(struct conn *c, const json_t *id, const json_t *number)
{
	struct operation *op;

	LIST_FOREACH(op, &c->server->operations, link)
	{
		if (number && op->id == (uint64_t)json_integer_value(number))
			return op;
		if (id && op->conn == c && json_equal(op->request_id, id))
			return op;
	}
	return NULL;
}

static int do_cancel(struct conn *c, json_t *params, json_t **result, struct err *e)
{
	const json_t *id = json_object_get(params, "id");
	const json_t *number = json_object_get(params, "op");
	struct operation *op;

	if (!id == !number)
		return err_set(e, ERR_USAGE, "op.cancel: one of 'id' and 'op' is needed");
	op = find_operation(c, id, number);
	if (!op)
		return err_set(e, ERR_USAGE, "op.cancel: no such operation is running");
	operation_cancel(op);
	*result = json_pack("{s:I}", "cancelled", (json_int_t)op->id);
	return 0;
}

static const struct {
	const char *name;
	quick_fn fn;
} table[] = {
	{"hello", do_hello},
	{"status", do_status},
	{"shutdown", do_shutdown},
	{"op.cancel", do_cancel},
};

static int quick_run(struct conn *c, const struct wire_method *m, json_t *params, json_t **result, struct err *e)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].name, m->name))
			return table[i].fn(c, params, result, e);
	return err_set(e, ERR_INTERNAL, "%s: is in the table of methods, but has no implementation", m->name);
}

/* ---- from a line to its answer ---- */

/* Notifications get no answer (JSON-RPC 2.0, 4.1). */
static void answer(struct conn *c, const struct wire_msg *m, json_t *msg)
{
	if (m->type == WIRE_MSG_REQUEST)
		conn_send(c, msg);
	else
		json_decref(msg);
}

static void quick(struct conn *c, const struct wire_msg *m, const struct wire_method *method)
{
	json_t *result = NULL;
	struct err e;

	if (quick_run(c, method, m->params, &result, &e))
		answer(c, m, wire_error_from(m->id, &e));
	else
		answer(c, m, wire_result(m->id, result));
}

static void start(struct conn *c, const struct wire_msg *m, const struct wire_method *method)
{
	struct err e;

	if (m->type != WIRE_MSG_REQUEST)
		return; /* a notification gets no answer */
	if (operation_start(c, method, m->id, m->params, &e))
		conn_send(c, wire_error_from(m->id, &e));
}

static void call(struct conn *c, const struct wire_msg *m)
{
	const struct wire_method *method = wire_method_find(m->method);
	struct err e;

	if (!method) {
		err_set(&e, ERR_USAGE, "no such method: '%.64s'", m->method);
		answer(c, m, wire_error(m->id, WIRE_E_METHOD, e.text));
		return;
	}
	if (wire_params_check(method, m->params, &e)) {
		answer(c, m, wire_error(m->id, WIRE_E_PARAMS, e.text));
		return;
	}
	if (method->mode == WIRE_OP)
		start(c, m, method);
	else
		quick(c, m, method);
}

void rpc_dispatch(struct conn *c, const char *line, size_t len)
{
	cleanup_wire_msg struct wire_msg m;
	int code = 0;
	struct err e;

	if (wire_msg_parse(line, len, &m, &code, &e)) {
		conn_send(c, wire_error(m.id, code, e.text));
		return;
	}
	if (m.type == WIRE_MSG_REQUEST || m.type == WIRE_MSG_NOTIFICATION)
		call(c, &m);
	/*
	 * the message is an answer: the daemon asks nothing, and if it answered this, the two sides could go on for
	 * ever
	 */
}
