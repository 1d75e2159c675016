/* SPDX-License-Identifier: MIT */
/* ops.h: the operations of this folder, for the table in daemon/ops/operations.c. */
#ifndef FRED_EXECUTED_OPS_H
#define FRED_EXECUTED_OPS_H

#include "replay/operation.h"

/* params: rec, process, depth. As op_explain, with the statements that may be wrong. */
int op_cause(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e);
/* params: rec, process, from, to, what, limit. What was executed: rows of JSON as output, and how many there are. */
int op_trace(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e);
/* params: rec, process, from, to, insn, control. The dynamic slice of the statement at `to`. */
int op_slice(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e);
/* params: good, bad, and of which process each. What the bad run executed after it first differed from the good one. */
int op_window(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e);

#endif
