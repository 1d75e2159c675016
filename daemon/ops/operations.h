/* SPDX-License-Identifier: MIT */
/*
 * operations.h: the long operations, by the names of their methods (wire/methods.def). Each is a function op_NAME in a
 * file of that name: those on a replay are here, the others in the folder of what they do (`ops.h` there).
 */
#ifndef FRED_OPS_OPERATIONS_H
#define FRED_OPS_OPERATIONS_H

#include "replay/operation.h"

/* Ended by a NULL method. */
extern const struct op_entry operations[];

int op_replay(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e);
int op_reverse_watch(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e);
int op_eval(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e);
int op_trim(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e);
int op_backtrace(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e);

#endif
