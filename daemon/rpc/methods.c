/* SPDX-License-Identifier: MIT */
/* methods.c: the QUICK methods of wire/methods.def. */
#include <string.h>
#include <unistd.h>

#include "rpc/rpc.h"

typedef int (*quick_fn)(struct conn *c, json_t *params, json_t **result, struct err *e);

static int do_hello(struct conn *c, json_t *params, json_t **result, struct err *e)
{
	*result = json_pack("{s:s, s:i, s:i, s:s, s:I}", "version", FRED_VERSION, "protocol",
			    WIRE_PROTOCOL, "pid", (int)getpid(), "build", c->server->config.build,
			    "operations", (json_int_t)c->server->operation_count);
	return 0;
}

static int do_status(struct conn *c, json_t *params, json_t **result, struct err *e)
{
	struct server *s = c->server;
	json_t *list = json_array();
	struct operation *op;

	LIST_FOREACH(op, &s->operations, link)
		json_array_append_new(list, operation_describe(op));
	*result = json_pack("{s:s, s:i, s:s, s:f, s:I, s:o}", "version", FRED_VERSION, "pid",
			    (int)getpid(), "home", s->config.home, "uptime_s",
			    (double)(rpc_now_ms() - s->started_ms) / 1000, "clients",
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

	LIST_FOREACH(op, &c->server->operations, link) {
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

int rpc_quick(struct conn *c, const struct wire_method *m, json_t *params, json_t **result,
	      struct err *e)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].name, m->name))
			return table[i].fn(c, params, result, e);
	return err_set(e, ERR_INTERNAL, "%s: in the table of methods, but nowhere done", m->name);
}
