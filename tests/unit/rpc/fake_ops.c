// SPDX-License-Identifier: MIT
/*
 * fake_ops.c: stands in for daemon/ops/operations.c. The recording's name says what the operation does, good or
 * bad.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

static void output(struct op_ctx *ctx)
{
	unsigned char all[256];

	for (int i = 0; i < 256; i++)
		all[i] = (unsigned char)i;
	op_output(ctx, 1, all, sizeof(all));
	op_output(ctx, 2, "err", 3);
}

/* Never ends by itself: writes as much as it can. */
static void flood(struct op_ctx *ctx)
{
	static char block[40000];

	for (;;)
		op_output(ctx, 1, block, sizeof(block));
}

static void hang(struct op_ctx *ctx)
{
	op_progress(ctx, 0, "hanging");
	for (;;)
		pause();
}

static void raw(struct op_ctx *ctx, const char *line)
{
	if (write(ctx->fd, line, strlen(line)) < 0)
		_exit(1);
}

/* More than a pipe holds, then the end at once: the daemon must read it all. */
static json_t *big_result(void)
{
	json_t *list = json_array();

	for (int i = 0; i < 200000; i++)
		json_array_append_new(list, json_integer(i));
	return list;
}

static int replay(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e)
{
	const char *what = json_string_value(json_object_get(params, "rec"));

	op_progress(ctx, 0, "start");
	if (!strcmp(what, "usage"))
		return err_set(e, ERR_USAGE, "replay: no");
	if (!strcmp(what, "budget"))
		return err_set(e, ERR_BUDGET, "budget used up");
	if (!strcmp(what, "crash")) {
		signal(SIGSEGV, SIG_DFL); /* cmocka has a handler */
		raise(SIGSEGV);
	}
	if (!strcmp(what, "exit"))
		_exit(3);
	if (!strcmp(what, "hang"))
		hang(ctx);
	if (!strcmp(what, "flood"))
		flood(ctx);
	if (!strcmp(what, "output"))
		output(ctx);
	if (!strcmp(what, "garbage"))
		raw(ctx, "this is no JSON\n");
	if (!strcmp(what, "half")) {
		raw(ctx, "{\"result\":");
		_exit(0);
	}
	*result = !strcmp(what, "big") ? big_result() : json_pack("{s:s}", "did", what);
	return 0;
}

const struct op_entry fake_ops[] = {{"replay", replay}, {NULL, NULL}};
