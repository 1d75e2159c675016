/* SPDX-License-Identifier: MIT */
/*
 * segcursor_native.h: where the copy of segcursor_report.c is not in translated code: in the recorder, in what the
 * recorder calls, and at instructions that are not translated.
 */
#ifndef FRED_SEGCURSOR_SEGCURSOR_NATIVE_H
#define FRED_SEGCURSOR_SEGCURSOR_NATIVE_H

#include "rlog/report.h"
#include "segcursor/segcursor_int.h"
#include "segcursor/segcursor_report.h"
#include "visibility/program_code.h"

#define ASLEEP_MAX 4 /* checks, see struct reporting */

struct reporting {
	struct segcur_report *r;
	struct segcur *in;
	uint64_t from; /* the event before the first segment */
	uint64_t at; /* the report in the copy */
	struct goal *goal; /* where an interruption ends the segment; NULL: it ends at an event */
	pid_t pid; /* of the copy */
	struct trace *copy;
	struct trace_walk walk;
	struct program_code code; /* the processor may not execute it in the copy */
	bool begun; /* the copy has come to the program's code */
	unsigned asleep; /* consecutive checks at which it waited for another thread, which the copy lacks */
	uint64_t most_ns; /* of CPU time; after that it has gone past its end, or waits in a loop for another thread */
	bool past; /* it has taken more than that, or has made more accesses than the consumer wants to be told of */
	uint64_t *v; /* entries that were taken out... */
	size_t n, room; /* ... and not told yet: words */
	bool failed; /* the consumer has, while the copy ran */
	struct err why;
	bool called; /* the walk has ended where the recorder, or what it has called, calls the program's code */
	bool faulted; /* the walk has ended in front of an instruction that faults */
	bool spread; /* the copy may run on other cores than the worker */
	bool brief; /* it took little time when it was recorded */
	uint64_t onlys, only[REPORT_ONLY_MAX]; /* what is told once more; 0: it is the first time */
};

enum reporting_end { GOES_ON = 0, AT_END = 1, NOT_FOUND = 2 };

/*
 * Runs from inside the recorder to the program's code, or to where that is called. Like the next two, returns enum
 * reporting_end, or -1.
 */
int segcur_native_come_out(struct reporting *g, struct trace *t, struct err *e);
/* Executes an instruction that is not translated, or that faults as it did in the program. */
int segcur_native_step(struct reporting *g, struct trace *t, struct err *e);
/* Goes on where the walk has ended: executes what stands there, or comes out of the recorder. */
int segcur_native_step_over(struct reporting *g, struct trace *t, struct err *e);
/* To be called before the first walk: 0 or -1. */
int segcur_native_begin(struct reporting *g, struct trace *t, struct err *e);

#endif
