/* SPDX-License-Identifier: MIT */
/* ops.h: the operation of this folder, for the table in daemon/ops/operations.c. */
#ifndef FRED_CUT_OPS_H
#define FRED_CUT_OPS_H

#include "replay/operation.h"

/* params: rec, process, from, to, dir. Makes a recording of a window in the empty folder dir. */
int op_cut(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e);

#endif
