/* SPDX-License-Identifier: MIT */
/*
 * segment_search.h: which instruction of a segment makes the expression bad: stage D of FReD 3.2, which it calls
 * Local-Search. On the linear timeline exactly one thread moves between two neighbouring events. The search itself is
 * localsearch/local.h; here are its evaluations and the ends of the segment.
 */
#ifndef FRED_WATCH_SEGMENT_SEARCH_H
#define FRED_WATCH_SEGMENT_SEARCH_H

#include "expr/expr.h"
#include "localsearch/local.h"
#include "replay/operation.h"
#include "search/pred.h"
#include "watch/statements.h"

struct segment_search {
	struct trace_local_result r;
	uint32_t thread; /* ordinal of the thread that moved */
	pid_t tid;
	struct expr_value before, after;
	/* Set by the caller: */
	uint64_t nth; /* which transition of the segment, from 1; 0: the last one ... */
	uint64_t lasting_ns; /* ... as far as this time shows; 0: the default (localsearch/local.h) */
	uint64_t begin_pc, begin_hits; /* the search begins here; 0: with the segment */
	uint64_t end_pc, end_hits; /* the segment ends here before its event; 0: it does not */
	struct statements *statements; /* values between two of them count; NULL: between any two instructions */
	const struct expr_value *at_begin; /* the value where the segment begins; NULL: not known */
	const struct op_ctx *op; /* the operation, for cancellation; NULL: the search cannot be cancelled */
};

/*
 * The target is at event n, where the expression may be bad already; it cannot be used afterwards. On success r.t is
 * held in the first bad state; segment_search_release releases it. TRACE_LOCAL_BAD: the expression is good nowhere in
 * the segment.
 */
int segment_search_run(struct target *t, struct gdb *g, const struct expr *x, uint64_t n, const struct pred *pred,
		       struct segment_search *out, struct err *e);
/*
 * The target is at event n, as it was for segment_search_run; it cannot be used afterwards. *passes: how often the
 * thread came from there to pc, where the transition was made. 1: that is not known.
 */
int segment_search_passes(struct target *t, uint64_t n, const struct segment_search *d, uint64_t pc, uint64_t *passes,
			  struct err *e);
/* Lets GDB have the held process: it stays stopped at this PC. Returns its PID. */
pid_t segment_search_release(struct segment_search *d, struct err *e);

#endif
