/* SPDX-License-Identifier: MIT */
/* message.h: JSON-RPC 2.0 messages: builders, the parser, and the error codes (errors.def). */
#ifndef FRED_WIRE_MESSAGE_H
#define FRED_WIRE_MESSAGE_H

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"

enum wire_code {
#define WIRE_CODE(name, code, kind, primary, text) WIRE_E_##name = code,
#include "wire/errors.def"
#undef WIRE_CODE
};

/* The code sent for a kind, and the kind that a received code stands for (unknown: ERR_INTERNAL). */
int wire_code_of(enum err_kind kind);
enum err_kind wire_kind_of(int code);
const char *wire_code_text(int code);

enum wire_msg_type { WIRE_MSG_REQUEST, WIRE_MSG_NOTIFICATION, WIRE_MSG_RESULT, WIRE_MSG_ERROR };

/* A parsed message. All other pointers are into root. */
struct wire_msg {
	json_t *root;
	enum wire_msg_type type;
	const char *method; /* request, notification */
	json_t *params; /* or NULL: none */
	json_t *id; /* request, result, error; may be JSON null in an error */
	json_t *result;
	int code; /* error */
	const char *text;
};

/*
 * Parses one line (not NUL-terminated). On failure: ERR_USAGE, *code says which JSON-RPC error it is,
 * and m->id is the id to answer to if one could be read, else NULL; call wire_msg_fini in any case.
 */
int wire_msg_parse(const char *line, size_t len, struct wire_msg *m, int *code, struct err *e);
void wire_msg_fini(struct wire_msg *m);
#define cleanup_wire_msg __attribute__((cleanup(wire_msg_fini)))

/* Builders. Each returns a new object; id is borrowed, params and result are stolen (may be NULL). */
json_t *wire_request(json_int_t id, const char *method, json_t *params);
json_t *wire_notification(const char *method, json_t *params);
json_t *wire_result(json_t *id, json_t *result);
/* id NULL: JSON null. */
json_t *wire_error(json_t *id, int code, const char *text);
/* An error with the code of e's kind; error.data.kind is the kind's name. */
json_t *wire_error_from(json_t *id, const struct err *e);
/* The message as one malloc'd line that ends in a newline; *len without the NUL. NULL: no memory. */
char *wire_line(const json_t *msg, size_t *len);
/* Turns an error message into e: its kind by error.data.kind or else by the code. Returns -1. */
int wire_msg_to_err(const struct wire_msg *m, struct err *e);

#endif
