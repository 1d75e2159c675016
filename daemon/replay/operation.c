/* SPDX-License-Identifier: MIT */
/*
 * operation.c: the lines that a worker writes for the daemon. The worker may be PID 1, which SIGPIPE does not end, so
 * when nobody reads the pipe any more, the worker exits by itself.
 */
#include "replay/operation.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/jsonx.h"
#include "target/target.h"
#include "wire/base64.h"

#define MIN_INTERVAL_NS 50000000ull
#define OUTPUT_CHUNK ((size_t)48 << 10)

static void write_line(struct op_ctx *ctx, json_t *line)
{
	json_auto_t *owned = line;
	struct err e;

	if (json_dump_line(ctx->fd, owned, &e))
		_exit(1); /* the daemon is gone */
}

static int worth_sending(struct op_ctx *ctx, int permille, const char *text, uint64_t now)
{
	if (text && (permille <= 0 || permille >= 1000))
		return 1;
	if (permille >= 0 && permille == ctx->last_permille)
		return 0;
	return now - ctx->last_progress_ns >= MIN_INTERVAL_NS;
}

void op_progress(struct op_ctx *ctx, double fraction, const char *text)
{
	int permille = fraction < 0 ? -1 : (int)(fraction * 1000);
	uint64_t now = clock_ns();

	if (!worth_sending(ctx, permille, text, now))
		return;
	ctx->last_progress_ns = now;
	ctx->last_permille = permille;
	if (ctx->show)
		ctx->show(ctx->arg, fraction, text);
	if (ctx->fd < 0)
		return;
	write_line(ctx,
		   json_pack("{s:f, s:o*}", "progress", fraction, "text", text ? json_text(text, strlen(text)) : NULL));
}

bool op_cancelled(const struct op_ctx *ctx)
{
	return ctx && ctx->cancelled && ctx->cancelled(ctx->arg);
}

void op_output(struct op_ctx *ctx, int fd, const void *data, size_t len)
{
	const char *p = data;

	ctx->has_output = true;
	while (len) {
		size_t n = len < OUTPUT_CHUNK ? len : OUTPUT_CHUNK;
		cleanup_buf struct buf b = {0};

		base64_encode(&b, p, n);
		write_line(ctx, json_pack("{s:i, s:s}", "output", fd, "base64", buf_str(&b)));
		p += n;
		len -= n;
	}
}

void op_note(struct op_ctx *ctx, const char *text)
{
	if (ctx && ctx->fd >= 0)
		write_line(ctx, json_pack("{s:o}", "note", json_text(text, strlen(text))));
}

/* Explains ERR_KILLED. A process that was killed may have no name here: a copy. */
static void explain_killed(struct err *e)
{
	if (e->kind == ERR_KILLED && e->reason != TARGET_KILLED_TOLD)
		err_wrap(e, "a process of the replay was killed (SIGKILL): " TARGET_KILLED_BY);
}

void op_finish(struct op_ctx *ctx, json_t *result, const struct err *e)
{
	struct err killed;

	if (result) {
		write_line(ctx, json_pack("{s:o}", "result", result));
		return;
	}
	killed = *e;
	explain_killed(&killed);
	write_line(ctx, json_pack("{s:{s:s, s:o}}", "error", "kind", err_kind_name(killed.kind), "text",
				  json_text(killed.text, strlen(killed.text))));
}
