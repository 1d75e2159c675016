/* SPDX-License-Identifier: MIT */
/* ops.h: the operations of this folder, for the table in daemon/ops/operations.c. */
#ifndef FRED_DEBUG_OPS_H
#define FRED_DEBUG_OPS_H

#include "replay/operation.h"

/* params: rec, socket, at, process. Ends when the debugger does. */
int op_debug(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e);

#endif
