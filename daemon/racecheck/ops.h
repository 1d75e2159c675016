/* SPDX-License-Identifier: MIT */
/* ops.h: the operation of this folder, for the table in daemon/ops/operations.c. */
#ifndef FRED_RACECHECK_OPS_H
#define FRED_RACECHECK_OPS_H

#include "replay/operation.h"

/* params: rec, process. The data races of a recorded process. */
int op_check_races(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e);

#endif
