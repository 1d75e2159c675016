/* SPDX-License-Identifier: MIT */
/*
 * operation.h: how a long operation runs. It is a worker process, PID 1 of its own cell, with nothing open but
 * a pipe to the daemon; what it writes there are JSON lines:
 *
 *     {"progress": 0.25, "text": "..."}         any number of them
 *     {"output": 1, "base64": "..."}            what the program wrote to 1 or 2
 *     {"note": "..."}                           what the user should know before it ends
 *     {"result": {...}} or {"error": {"kind": "usage", "text": "..."}}      last, exactly one
 *
 * An operation is cancelled by SIGKILL, with its cell; it keeps nothing that would need cleaning up
 * outside of the cell.
 */
#ifndef FRED_REPLAY_OPERATION_H
#define FRED_REPLAY_OPERATION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct op_ctx {
	int fd; /* where the lines go; close-on-exec. -1: nowhere */
	uint64_t id; /* the daemon's number of this operation */
	uint64_t last_progress_ns; /* CLOCK_MONOTONIC */
	int last_permille;
	bool has_output; /* of op_output */
	bool all_tried; /* all schedule variants were tried before the operation began: none replays to the end */
	/* For operations in another one: where progress goes, and whether the user wants to cancel. May be NULL. */
	void (*show)(void *arg, double fraction, const char *text);
	bool (*cancelled)(void *arg);
	void *arg;
	/* The image whose replay diverged by the first schedule variant (navigate.h), 0: none; its recording, owned. */
	uint32_t diverged;
	char *diverged_in;
};

/* One long method: params have passed wire_params_check. 0 and *result (a new object), or -1. */
typedef int (*op_fn)(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e);

struct op_entry {
	const char *method; /* as in wire/methods.def */
	op_fn fn;
	bool repeatable; /* may be made again, with another schedule variant, when the replay diverged */
};

/*
 * Reports progress: fraction in [0, 1], or negative when unknown. Cheap: calls that would not change what the user sees
 * (under 50 ms or 0.1 % since the last one) are dropped, unless the text is not NULL and starts a new phase (fraction 0
 * or 1).
 */
void op_progress(struct op_ctx *ctx, double fraction, const char *text);
/* Does the user want to cancel the current operation? Then it ends with ERR_CANCELLED. ctx may be NULL. */
bool op_cancelled(const struct op_ctx *ctx);
/* Reports what the program wrote to fd 1 or 2, any bytes. */
void op_output(struct op_ctx *ctx, int fd, const void *data, size_t len);
/* Tells the user something now, and not only with the result: one line, without a newline. ctx may be NULL. */
void op_note(struct op_ctx *ctx, const char *text);
/* Writes the last line: the result (stolen) of a successful operation, or e. For the worker's main. */
void op_finish(struct op_ctx *ctx, json_t *result, const struct err *e);

#endif
