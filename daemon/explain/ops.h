/* SPDX-License-Identifier: MIT */
/* ops.h: the operation of this folder, for the table in daemon/ops/operations.c. */
#ifndef FRED_EXPLAIN_OPS_H
#define FRED_EXPLAIN_OPS_H

#include "reclog/rec.h"
#include "replay/operation.h"

/* params: rec, process, depth. Why the recorded program failed: a chain of positions from the failure back to its
 * cause. */
int op_explain(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e);

/*
 * For a chain in JSON: `step`, whose `at` is the position of a memory error, gets the location and the backtrace as GDB
 * has them there. block: it is the free of that block, so *giver is the step about the statement that gave it to the
 * function which freed it (flow_tell_giver); 0: it is not. *giver NULL: there is none, or it is not known.
 */
void explain_look(struct rec *rec, struct op_ctx *ctx, json_t *step, uint64_t block, json_t **giver);

#endif
