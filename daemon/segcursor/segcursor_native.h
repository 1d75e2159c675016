/* SPDX-License-Identifier: MIT */
/*
 * segcursor_native.h: moves the copy of segcursor_report.c where it is not in translated code: in the recorder, in what
 * the recorder calls, and at instructions that are not translated.
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
	uint64_t from; /* the event before the first of the segments */
	uint64_t at; /* the report in the copy */
	struct goal *goal; /* the interruption that ends the segment; NULL: it ends at an event */
	pid_t pid; /* of the copy */
	struct trace *copy;
	struct trace_walk walk;
	struct program_code code; /* the processor may not execute it in the copy */
	bool begun; /* the copy has reached the program's code */
	unsigned asleep; /* consecutive checks at which it waited for another thread, which the copy lacks */
	/* a limit of CPU time: a copy that needs more has gone past its end, or waits in a loop for another thread */
	uint64_t most_ns;
	bool past; /* it has used more than that, or has made more accesses than the consumer wants */
	uint64_t *v; /* entries that were taken out... */
	size_t n, room; /* ... and not passed on yet: words */
	bool failed; /* the consumer has failed while the copy ran */
	struct err why;
	/* the walk has ended where the recorder, or a function that it has called, calls the program's code */
	bool called;
	bool faulted; /* the walk has ended before an instruction that faults */
	bool spread; /* the copy may run on other cores than the worker */
	bool brief; /* it took little time in the recording */
	/* the instructions whose accesses are reported once more; 0: this is the first time */
	uint64_t onlys, only[REPORT_ONLY_MAX];
};

enum reporting_end { GOES_ON = 0, AT_END = 1, NOT_FOUND = 2 };

/*
 * Runs from inside the recorder to the program's code, or to where that is called. Like the next two, returns enum
 * reporting_end, or -1.
 */
int segcur_native_come_out(struct reporting *g, struct trace *t, struct err *e);
/* Executes an instruction that is not translated, or that faults as it did in the program. */
int segcur_native_step(struct reporting *g, struct trace *t, struct err *e);
/* Continues where the walk has ended: executes the instruction there, or runs out of the recorder. */
int segcur_native_step_over(struct reporting *g, struct trace *t, struct err *e);
/* To be called before the first walk: 0 or -1. */
int segcur_native_begin(struct reporting *g, struct trace *t, struct err *e);

#endif
