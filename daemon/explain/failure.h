/* SPDX-License-Identifier: MIT */
/*
 * failure.h: each kind of failure, and what the files for them share: the failure in words, and the place
 * where it is told.
 */
#ifndef FRED_EXPLAIN_FAILURE_H
#define FRED_EXPLAIN_FAILURE_H

#include "explain/condition.h"
#include "explain/inspect.h"

/* As the recorded event has it (siginfo_t). */
struct failure_fault {
	int sig, code;
	uint64_t addr, pc;
};

/* fault.c, aborted.c, exited.c: the program stands at its end. */
int failure_fault(struct explain *x, const struct failure_fault *f, struct err *e);
int failure_abort(struct explain *x, struct err *e);
int failure_exit(struct explain *x, struct err *e);

/* The failure in words. */
void failure_set_kind(struct explain *x, const char *kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* To the last entry of one of these functions. 0; 1: there is none, and it stands at its failure; -1. */
int failure_to_entry(struct explain *x, const char *const *functions, struct err *e);
/* From here on this is where it failed. */
int failure_is_here(struct explain *x, struct err *e);
/* A step for the failure, where it stands; p is open then, and to be closed in any case. */
int failure_tell(struct explain *x, struct inspect *p, struct err *e);
/* The innermost frame from `level` on that has source; -1: none. */
int failure_with_source(const struct inspect *p, int level);
/* 8 bytes of memory, 0 where there is none. */
uint64_t failure_word(struct explain *x, uint64_t addr);

/*
 * because.c: whether the `if` around the statement of a frame tells more. p is open at that place, and is closed. called: it stands at
 * the entry of a function that the statement has called. 0: a cause was found; 1: none; -1.
 */
int because_of_condition(struct explain *x, struct inspect *p, int level, bool called, enum condition_of of, struct err *e);
/* Back in the function to the branch in the lines of the condition. 0: there; 1: none was met; -1. What it called is skipped. */
int because_to_branch(struct explain *x, const struct condition *c, struct err *e);
/*
 * Where the value came from says nothing of why it was used there, if the chain ended at its first step: then the condition under which
 * the statement was executed is the next thing to ask about.
 */
int because_here(struct explain *x, struct err *e);

#endif
