/* SPDX-License-Identifier: MIT */
/*
 * worker.c: the worker process, up to the point where the operation takes over. It is a fork of the
 * daemon in a new cell, so it must first give up what is the daemon's: descriptors and the log.
 */
#define LOG_DOMAIN "worker"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "replay/operation.h"
#include "replay/whole.h"
#include "rpc/rpc.h"

struct worker_arg {
	const struct operation *op;
	int fd;
};

/* Leaves 0, 1 and 2 (the daemon's: /dev/null and the log) and the pipe, which becomes 3. */
static int keep_only(int fd)
{
	if (fd != 3 && dup2(fd, 3) < 0)
		return -1;
	if (fcntl(3, F_SETFD, FD_CLOEXEC) || close_range(4, ~0u, 0))
		return -1;
	return 3;
}

/* Runs the operation, again with another schedule variant if the first one diverged. */
static int run_operation(const struct op_entry *o, const struct operation *op, struct op_ctx *ctx, json_t **result,
			 struct err *e)
{
	int r = o->fn(op->params, ctx, result, e);
	static const struct err none;

	if (!o->repeatable || !ctx->diverged || ctx->all_tried)
		return r;
	if (ctx->has_output) {
		op_note(ctx, NAV_TRY_VARIANTS);
		return r;
	}
	if (!whole_has_other_variant(ctx, r ? e : &none))
		return r;
	if (!r)
		json_decref(*result);
	*result = NULL;
	memset(e, 0, sizeof(*e));
	return o->fn(op->params, ctx, result, e);
}

static int run(const struct operation *op, struct op_ctx *ctx, json_t **result, struct err *e)
{
	for (const struct op_entry *o = op->server->config.ops; o->method; o++)
		if (!strcmp(o->method, op->method->name))
			return run_operation(o, op, ctx, result, e);
	return err_set(e, ERR_USAGE, "%s: this version of fredd has no such operation", op->method->name);
}

static int worker_main(void *arg)
{
	const struct worker_arg *w = arg;
	const struct operation *op = w->op;
	struct op_ctx ctx = {.id = op->id};
	json_t *result = NULL;
	struct err e = {0};
	char name[24];

	signal(SIGPIPE, SIG_IGN);
	log_open(NULL, &e);
	ctx.fd = keep_only(w->fd);
	if (ctx.fd < 0)
		return 1;
	if (op->server->config.log_path && log_open(op->server->config.log_path, &e))
		log_warn("%s", e.text);
	snprintf(name, sizeof(name), "op%llu", (unsigned long long)op->id);
	log_session(name);
	if (run(op, &ctx, &result, &e))
		op_finish(&ctx, NULL, &e);
	else
		op_finish(&ctx, result, NULL);
	return 0;
}

int worker_start(const struct operation *op, struct cell *cell, int *fd, struct err *e)
{
	struct worker_arg w = {.op = op};
	int p[2], r;

	if (pipe2(p, O_CLOEXEC))
		return err_errno(e, ERR_HOST, "pipe");
	w.fd = p[1];
	fcntl(p[0], F_SETFL, O_NONBLOCK);
	r = op->server->config.start_cell(worker_main, &w, cell, e);
	close(p[1]);
	if (r) {
		close(p[0]);
		return r;
	}
	*fd = p[0];
	return 0;
}
