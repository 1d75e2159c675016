/* SPDX-License-Identifier: MIT */
/* ops.h: the operation of this folder, for the table in daemon/ops/operations.c. */
#ifndef FRED_MEMCHECK_OPS_H
#define FRED_MEMCHECK_OPS_H

#include "replay/operation.h"

/* params: rec, process. The memory errors of a recorded process. */
int op_check_memory(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e);

#endif
