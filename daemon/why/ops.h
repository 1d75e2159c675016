/* SPDX-License-Identifier: MIT */
/* ops.h: the operation of this folder, for the table in daemon/ops/operations.c. */
#ifndef FRED_WHY_OPS_H
#define FRED_WHY_OPS_H

#include "replay/operation.h"

/* params: rec, process, expr, at, depth. Where the value of an expression came from. */
int op_why(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e);

#endif
