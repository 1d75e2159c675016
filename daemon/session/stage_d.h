/* SPDX-License-Identifier: MIT */
/*
 * stage_d.h: the last stage of a search in a replaying process: which instruction, between two neighbouring
 * events (FReD 3.2 D; on the linear timeline exactly one thread moves there).
 */
#ifndef FRED_SESSION_STAGE_D_H
#define FRED_SESSION_STAGE_D_H

#include "session/expr.h"
#include "session/op.h"
#include "trace/local.h"

struct stage_d {
	struct trace_local_result r;
	uint32_t thread; /* ordinal of the thread that moved */
	pid_t tid;
	struct expr_value before, after;
	bool first; /* wanted is the first transition, not the one that lasts */
	const struct op_ctx *op; /* who may cancel it; NULL: nobody */
};

/*
 * The target stands at event n, where the expression is good; it is used up. is_bad says what a value
 * means. On success r.t is held in the first bad state: stage_d_release.
 */
int stage_d_run(struct target *t, struct gdb *g, const struct expr *x, uint64_t n,
		bool (*is_bad)(const void *pred, enum search_value v), const void *pred, struct stage_d *out,
		struct err *e);
/* Lets GDB have the held process: it stays stopped at this PC. Returns its PID. */
pid_t stage_d_release(struct stage_d *d, struct err *e);

#endif
