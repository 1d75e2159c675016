/* SPDX-License-Identifier: MIT */
/*
 * segment_search.h: the last stage of a search in a replaying process: which instruction, between two neighbouring
 * events (FReD 3.2 D; on the linear timeline exactly one thread moves there).
 */
#ifndef FRED_WATCH_SEGMENT_SEARCH_H
#define FRED_WATCH_SEGMENT_SEARCH_H

#include "search/pred.h"
#include "expr/expr.h"
#include "replay/operation.h"
#include "watch/statements.h"
#include "trace/local.h"

struct segment_search {
	struct trace_local_result r;
	uint32_t thread; /* ordinal of the thread that moved */
	pid_t tid;
	struct expr_value before, after;
	/* What is wanted, set by the caller: */
	uint64_t nth; /* this transition in the segment, from 1; 0: the last one ... */
	uint64_t lasting_ns; /* ... as far as this time shows; 0: the default (trace/local.h) */
	uint64_t begin_pc, begin_hits; /* the search begins here; 0: with the segment */
	uint64_t end_pc, end_hits; /* the segment ends here before its event; 0: it does not */
	struct statements *statements; /* what counts is the state between two of them; NULL: between two instructions */
	const struct op_ctx *op; /* who may cancel it; NULL: nobody */
};

/*
 * The target stands at event n, which may be bad, too; it is used up. On success r.t is held in the first
 * bad state: segment_search_release. TRACE_LOCAL_BAD: nothing in the segment made it good.
 */
int segment_search_run(struct target *t, struct gdb *g, const struct expr *x, uint64_t n, const struct pred *pred,
		struct segment_search *out, struct err *e);
/*
 * The target stands at event n, as it did for segment_search_run; it is used up. Which time it was at pc, where the transition was
 * made, counted from there. 1: that is not known.
 */
int segment_search_passes(struct target *t, uint64_t n, const struct segment_search *d, uint64_t pc, uint64_t *passes, struct err *e);
/* Lets GDB have the held process: it stays stopped at this PC. Returns its PID. */
pid_t segment_search_release(struct segment_search *d, struct err *e);

#endif
