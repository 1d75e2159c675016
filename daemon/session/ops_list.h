/* SPDX-License-Identifier: MIT */
/* ops_list.h: the operations, for the table in session.c. Each has the shape op_fn of session/op.h. */
#ifndef FRED_SESSION_OPS_LIST_H
#define FRED_SESSION_OPS_LIST_H

#include "session/op.h"

int op_replay(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e);
int op_reverse_watch(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e);
int op_eval(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e);
int op_trim(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e);
int op_backtrace(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e);

#endif
