/* SPDX-License-Identifier: MIT */
/* wire.c: messages of the protocol: a header with Content-Length, an empty line, JSON. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fdio.h"
#include "base/jsonx.h"
#include "dap/dap.h"

#define LENGTH "Content-Length:"
#define MESSAGE_MAX (64u << 20)

const char *dap_str(const json_t *o, const char *key, const char *instead)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : instead;
}

int dap_int(const json_t *o, const char *key, int instead)
{
	const json_t *v = json_object_get(o, key);

	return json_is_integer(v) ? (int)json_integer_value(v) : instead;
}

json_t *dap_text(const char *s)
{
	return json_text(s ? s : "", s ? strlen(s) : 0);
}

/* How long the header and the body of the first message are. 0: not there yet, -1: no header. */
static int first_message(const struct buf *in, size_t *head, size_t *body)
{
	const char *end = in->len ? memmem(in->data, in->len, "\r\n\r\n", 4) : NULL, *length;

	if (!end)
		return in->len > 4096 ? -1 : 0;
	*head = (size_t)(end - in->data) + 4;
	length = memmem(in->data, *head, LENGTH, strlen(LENGTH));
	if (!length)
		return -1;
	*body = strtoul(length + strlen(LENGTH), NULL, 10);
	return *body > MESSAGE_MAX ? -1 : in->len >= *head + *body;
}

static int fill(struct dap *d)
{
	ssize_t n;

	do
		n = read(0, buf_reserve(&d->in, 65536), 65536);
	while (n < 0 && errno == EINTR);
	buf_added(&d->in, n > 0 ? (size_t)n : 0);
	return n > 0 ? 0 : -1;
}

int dap_receive(struct dap *d, json_t **msg)
{
	size_t head, body;
	struct err e;
	int r = first_message(&d->in, &head, &body);

	if (!r) {
		if (fill(d))
			return -1;
		r = first_message(&d->in, &head, &body);
	}
	if (r <= 0)
		return r;
	*msg = json_parse(d->in.data + head, body, &e);
	buf_consume(&d->in, head + body);
	return *msg ? 1 : -1;
}

static void send_message(struct dap *d, json_t *msg)
{
	cleanup_buf struct buf text = {0}, out = {0};

	json_object_set_new(msg, "seq", json_integer(++d->seq));
	json_add_to(&text, msg);
	json_decref(msg);
	buf_addf(&out, LENGTH " %zu\r\n\r\n", text.len);
	buf_add(&out, text.data, text.len);
	if (write_full(1, out.data, out.len))
		d->done = true;
}

void dap_event(struct dap *d, const char *event, json_t *body)
{
	json_t *msg = json_pack("{s:s, s:s}", "type", "event", "event", event);

	if (body)
		json_object_set_new(msg, "body", body);
	send_message(d, msg);
}

static json_t *response(const json_t *request, bool success)
{
	return json_pack("{s:s, s:i, s:b, s:s}", "type", "response", "request_seq", dap_int(request, "seq", 0),
			 "success", success, "command", dap_str(request, "command", ""));
}

void dap_respond(struct dap *d, const json_t *request, json_t *body)
{
	json_t *msg = response(request, true);

	if (body)
		json_object_set_new(msg, "body", body);
	send_message(d, msg);
}

void dap_refuse(struct dap *d, const json_t *request, const char *why)
{
	json_t *msg = response(request, false);

	json_object_set_new(msg, "message", json_text(why, strlen(why)));
	send_message(d, msg);
}

void dap_output(struct dap *d, const char *category, const char *text, size_t len)
{
	dap_event(d, "output", json_pack("{s:s, s:o}", "category", category, "output", json_text(text, len)));
}
