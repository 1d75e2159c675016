/* SPDX-License-Identifier: MIT */
/* row_lines.c: see row_lines.h. */
#include "client/row_lines.h"

#include <stdio.h>
#include <string.h>

#include "client/client.h"

static void take(struct row_lines *r, const char *line, size_t len)
{
	json_auto_t *row = json_loadb(line, len, 0, NULL);

	if (r->json) {
		fwrite(line, 1, len, stdout);
		putchar('\n');
	}
	if (row)
		r->row(r->ctx, row);
}

static void output(void *ctx, const char *data, size_t len)
{
	struct row_lines *r = ctx;
	const char *end;
	size_t done = 0;

	buf_add(&r->rest, data, len);
	while ((end = memchr(r->rest.data + done, '\n', r->rest.len - done))) {
		take(r, r->rest.data + done, (size_t)(end - r->rest.data) - done);
		done = (size_t)(end - r->rest.data) + 1;
	}
	buf_consume(&r->rest, done);
}

int row_lines_call(struct row_lines *r, const struct cli *cli, const char *method, json_t *params, json_t **result,
		   struct err *e)
{
	struct client c;
	int got = client_open(&c, cli, CLIENT_START, e);

	c.output = output;
	c.ctx = r;
	if (got)
		json_decref(params);
	else
		got = client_call(&c, method, params, result, e);
	client_close(&c);
	buf_fini(&r->rest);
	return got ? -1 : 0;
}
