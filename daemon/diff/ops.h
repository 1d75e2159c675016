/* SPDX-License-Identifier: MIT */
/* ops.h: the operation of this folder, for the table in daemon/ops/operations.c. */
#ifndef FRED_DIFF_OPS_H
#define FRED_DIFF_OPS_H

#include "replay/operation.h"

/* params: good, bad, and of which process each. Where two recordings of one program first differ. */
int op_diff(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e);

#endif
