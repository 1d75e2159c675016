/* SPDX-License-Identifier: MIT */
/* operations.c: see operations.h: the table. */
#include "ops/operations.h"

#include "debug/ops.h"
#include "executed/ops.h"
#include "explain/ops.h"
#include "memcheck/ops.h"
#include "racecheck/ops.h"
#include "why/ops.h"

const struct op_entry operations[] = {
	{"replay", op_replay},
	{"reverse_watch", op_reverse_watch},
	{"eval", op_eval},
	{"backtrace", op_backtrace},
	{"trim", op_trim},
	{"debug", op_debug},
	{"explain", op_explain},
	{"diff", op_diff},
	{"check_memory", op_check_memory},
	{"check_races", op_check_races},
	{"slice", op_slice},
	{"trace", op_trace},
	{"why", op_why},
	{NULL, NULL},
};
