/* SPDX-License-Identifier: MIT */
/* ops.h: the operation of this folder, for the table in daemon/ops/operations.c, and what explain needs of it. */
#ifndef FRED_MEMCHECK_OPS_H
#define FRED_MEMCHECK_OPS_H

#include "reclog/rec.h"
#include "replay/operation.h"

/* params: rec, process. The memory errors of a recorded process. */
int op_check_memory(const json_t *params, struct op_ctx *ctx, json_t **result, struct err *e);
/*
 * The first memory error (memcheck_is_error) up to the end of a process, in its first `most` accesses: an element of
 * `findings` of check memory. NULL: there is none.
 */
int memcheck_first_error(struct rec *rec, uint32_t process, struct op_ctx *ctx, uint64_t most, json_t **finding,
			 struct err *e);

#endif
