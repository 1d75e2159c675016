/* SPDX-License-Identifier: MIT */
/* session.c: the table of operations. Each is a function in a file of its own, op_NAME.c. */
#include <string.h>

#include "session/ops_list.h"

static const struct session_op ops[] = {
	{"replay", op_replay},
	{"reverse_watch", op_reverse_watch},
	{"eval", op_eval},
	{"backtrace", op_backtrace},
	{"trim", op_trim},
	{NULL, NULL},
};

int session_op_run(const char *method, const json_t *params, struct op_ctx *ctx, json_t **result,
		   struct err *e)
{
	for (const struct session_op *op = ops; op->method; op++)
		if (!strcmp(op->method, method))
			return op->fn(params, ctx, result, e);
	return err_set(e, ERR_USAGE, "%s: this version of fredd has no such operation", method);
}
