/* SPDX-License-Identifier: MIT */
/*
 * message.c: JSON-RPC 2.0. Lines come from any process that can open the socket, so the parser takes nothing for
 * granted: duplicate keys, batches, wrong types and fractional ids are refused by name.
 */
#include "wire/message.h"

#include <stdlib.h>
#include <string.h>

struct code_row {
	int code;
	enum err_kind kind;
	int primary;
	const char *text;
};

static const struct code_row codes[] = {
#define WIRE_CODE(name, code, kind, primary, text) {code, kind, primary, text},
#include "wire/errors.def"
#undef WIRE_CODE
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct code_row *find_code(int code)
{
	for (size_t i = 0; i < COUNT(codes); i++)
		if (codes[i].code == code)
			return &codes[i];
	return NULL;
}

int wire_code_of(enum err_kind kind)
{
	for (size_t i = 0; i < COUNT(codes); i++)
		if (codes[i].kind == kind && codes[i].primary)
			return codes[i].code;
	return WIRE_E_INTERNAL;
}

enum err_kind wire_kind_of(int code)
{
	const struct code_row *r = find_code(code);

	return r ? r->kind : ERR_INTERNAL;
}

const char *wire_code_text(int code)
{
	const struct code_row *r = find_code(code);

	return r ? r->text : "unknown error";
}

static int bad_request(struct err *e, int *code, const char *what)
{
	*code = WIRE_E_REQUEST;
	return err_set(e, ERR_USAGE, "%s", what);
}

static int valid_id(const json_t *id)
{
	return json_is_string(id) || json_is_integer(id);
}

static int parse_error_object(struct wire_msg *m, json_t *error, int *code, struct err *e)
{
	json_t *c = json_object_get(error, "code");
	json_t *t = json_object_get(error, "message");

	if (!json_is_integer(c) || !json_is_string(t) || json_integer_value(c) != (int)json_integer_value(c))
		return bad_request(e, code, "an error needs an integer code and a message");
	m->type = WIRE_MSG_ERROR;
	m->code = (int)json_integer_value(c);
	m->text = json_string_value(t);
	return 0;
}

static int parse_call(struct wire_msg *m, int *code, struct err *e)
{
	json_t *method = json_object_get(m->root, "method");

	if (!json_is_string(method))
		return bad_request(e, code, "method must be a string");
	m->method = json_string_value(method);
	m->params = json_object_get(m->root, "params");
	m->type = m->id ? WIRE_MSG_REQUEST : WIRE_MSG_NOTIFICATION;
	if (m->params && !json_is_object(m->params))
		return bad_request(e, code, "params must be an object");
	return 0;
}

static int parse_answer(struct wire_msg *m, int *code, struct err *e)
{
	json_t *error = json_object_get(m->root, "error");

	m->result = json_object_get(m->root, "result");
	if (!error == !m->result)
		return bad_request(e, code, "neither a call nor an answer");
	if (error)
		return parse_error_object(m, error, code, e);
	m->type = WIRE_MSG_RESULT;
	return m->id ? 0 : bad_request(e, code, "a result needs an id");
}

static int parse_object(struct wire_msg *m, int *code, struct err *e)
{
	json_t *id = json_object_get(m->root, "id");
	json_t *v = json_object_get(m->root, "jsonrpc");

	if (valid_id(id))
		m->id = id;
	if (!json_is_string(v) || strcmp(json_string_value(v), "2.0"))
		return bad_request(e, code, "jsonrpc must be \"2.0\"");
	if (id && !m->id && !(json_is_null(id) && json_object_get(m->root, "error")))
		return bad_request(e, code, "id must be a string or an integer");
	if (json_object_get(m->root, "method"))
		return parse_call(m, code, e);
	return parse_answer(m, code, e);
}

int wire_msg_parse(const char *line, size_t len, struct wire_msg *m, int *code, struct err *e)
{
	json_error_t je;

	memset(m, 0, sizeof(*m));
	m->root = json_loadb(line, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &je);
	if (!m->root) {
		*code = WIRE_E_PARSE;
		return err_set(e, ERR_USAGE, "not a JSON text: %s at byte %d", je.text, je.position);
	}
	if (json_is_array(m->root))
		return bad_request(e, code, "batches are not supported");
	if (!json_is_object(m->root))
		return bad_request(e, code, "a message must be an object");
	return parse_object(m, code, e);
}

void wire_msg_fini(struct wire_msg *m)
{
	json_decref(m->root);
	memset(m, 0, sizeof(*m));
}

json_t *wire_request(json_int_t id, const char *method, json_t *params)
{
	return json_pack("{s:s, s:I, s:s, s:o*}", "jsonrpc", "2.0", "id", id, "method", method, "params", params);
}

json_t *wire_notification(const char *method, json_t *params)
{
	return json_pack("{s:s, s:s, s:o*}", "jsonrpc", "2.0", "method", method, "params", params);
}

json_t *wire_result(json_t *id, json_t *result)
{
	return json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result ? result : json_null());
}

json_t *wire_error(json_t *id, int code, const char *text)
{
	return json_pack("{s:s, s:O?, s:{s:i, s:s}}", "jsonrpc", "2.0", "id", id, "error", "code", code, "message",
			 text);
}

json_t *wire_error_from(json_t *id, const struct err *e)
{
	json_t *msg = wire_error(id, wire_code_of(e->kind), e->text);

	if (!msg) /* a cause that is no UTF-8, such as a file name */
		msg = wire_error(id, wire_code_of(e->kind), "the message is not valid UTF-8");
	json_object_set_new(json_object_get(msg, "error"), "data", json_pack("{s:s}", "kind", err_kind_name(e->kind)));
	return msg;
}

char *wire_line(const json_t *msg, size_t *len)
{
	char *s = json_dumps(msg, JSON_COMPACT);
	char *grown;

	if (!s)
		return NULL;
	*len = strlen(s);
	grown = realloc(s, *len + 2);
	if (!grown) {
		free(s);
		return NULL;
	}
	grown[(*len)++] = '\n';
	grown[*len] = '\0';
	return grown;
}

int wire_msg_to_err(const struct wire_msg *m, struct err *e)
{
	json_t *data = json_object_get(json_object_get(m->root, "error"), "data");
	const char *kind = json_string_value(json_object_get(data, "kind"));

	return err_set(e, kind ? err_kind_from_name(kind) : wire_kind_of(m->code), "%s", m->text);
}
