/* SPDX-License-Identifier: MIT */
/* operations.c: see operations.h: the table. */
#include "ops/operations.h"

#include "cut/ops.h"
#include "debug/ops.h"
#include "diff/ops.h"
#include "executed/ops.h"
#include "explain/ops.h"
#include "memcheck/ops.h"
#include "racecheck/ops.h"
#include "why/ops.h"

const struct op_entry operations[] = {
	{"replay", op_replay},
	{"reverse_watch", op_reverse_watch, .repeatable = true},
	{"eval", op_eval, .repeatable = true},
	{"backtrace", op_backtrace, .repeatable = true},
	{"trim", op_trim},
	{"debug", op_debug},
	{"explain", op_cause, .repeatable = true},
	{"cut", op_cut},
	{"diff", op_diff, .repeatable = true},
	{"check_memory", op_check_memory, .repeatable = true},
	{"check_races", op_check_races, .repeatable = true},
	{"slice", op_slice, .repeatable = true},
	{"trace", op_trace, .repeatable = true},
	{"why", op_why, .repeatable = true},
	{"window", op_window, .repeatable = true},
	{NULL, NULL},
};
