/* SPDX-License-Identifier: MIT */
/*
 * memory_cause.h: a memory error (daemon/memcheck) before a failure is the failure's cause: what the program does after
 * a write beside a block, or after a use of a freed one, does not follow from its statements.
 */
#ifndef FRED_EXECUTED_MEMORY_CAUSE_H
#define FRED_EXECUTED_MEMORY_CAUSE_H

#include "reclog/rec.h"
#include "replay/operation.h"

/*
 * result: of explain. Looks for the first memory error of the process, and if there is one, makes the chain end there;
 * not where the chain ends at such an error already, nor where nothing failed or threads wait for each other.
 */
void memory_cause_add(struct rec *rec, struct op_ctx *ctx, json_t *result);

#endif
