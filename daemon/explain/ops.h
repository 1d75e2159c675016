/* SPDX-License-Identifier: MIT */
/* ops.h: the operation of this folder, for the table in daemon/ops/operations.c. */
#ifndef FRED_EXPLAIN_OPS_H
#define FRED_EXPLAIN_OPS_H

#include "replay/operation.h"

/* params: rec, process, depth. Why the recorded program failed: a chain of positions from the failure back to its
 * cause. */
int op_explain(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e);

#endif
