/* SPDX-License-Identifier: MIT */
/* dispatch.c: from a line to a method, and from an outcome to an answer. */
#include "rpc/rpc.h"
#include "wire/message.h"

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

	if (rpc_quick(c, method, m->params, &result, &e))
		answer(c, m, wire_error_from(m->id, &e));
	else
		answer(c, m, wire_result(m->id, result));
}

static void start(struct conn *c, const struct wire_msg *m, const struct wire_method *method)
{
	struct err e;

	if (m->type != WIRE_MSG_REQUEST)
		return; /* nobody to answer to */
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
	/* an answer: we have asked nothing, and answering an answer could go on for ever */
}
