/* SPDX-License-Identifier: MIT */
/* operations.c: see operations.h: the table. */
#include "ops/operations.h"

#include <string.h>

#include "debug/ops.h"
#include "explain/ops.h"

static const struct {
	const char *method;
	op_fn fn;
} operations[] = {
	{"replay", op_replay},
	{"reverse_watch", op_reverse_watch},
	{"eval", op_eval},
	{"backtrace", op_backtrace},
	{"trim", op_trim},
	{"debug", op_debug},
	{"explain", op_explain},
	{"diff", op_diff},
};

int operations_run(const char *method, const json_t *params, struct op_ctx *ctx, json_t **result,
		   struct err *e)
{
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		if (!strcmp(operations[i].method, method))
			return operations[i].fn(params, ctx, result, e);
	return err_set(e, ERR_USAGE, "%s: this version of fredd has no such operation", method);
}
