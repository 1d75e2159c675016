/* SPDX-License-Identifier: MIT */
/*
 * suspect.h: which executed statements may be what is wrong, when a check of the program has failed: the statements of
 * the dynamic slice of the check, with what tells them apart. The earlier executions of the same check, which it has
 * passed, have slices of their own: a statement that is in many of those is less suspicious (dicing: Agrawal, Horgan,
 * London and Wong, ISSRE 1995; the measure is Ochiai's: Abreu, Zoeteweij and van Gemund, TAICPART 2007). So is one that
 * is executed often. A value that comes to an instruction from one that never gave it one before is suspicious
 * (definition-use invariants: Shi and others, OOPSLA 2010). Pure.
 */
#ifndef FRED_EXECUTED_SUSPECT_H
#define FRED_EXECUTED_SUSPECT_H

#include "executed/slice.h"

/* Of an instruction of the slice. */
struct suspect_insn {
	uint64_t executed; /* times in all */
	uint32_t last; /* the index in slice.done of its last execution that is in the slice; 0: none */
	uint32_t decisions; /* the least number of decisions (branches and calls) between it and the check ... */
	uint32_t distance; /* ... and, with that many, the least number of values */
	uint32_t in; /* executions in the slice */
	bool fresh; /* in the slice, it got a value from an instruction that had not given it one before */
	bool counts; /* it adds to its own former result */
	bool decides; /* other instructions were executed because of it */
	uint32_t passed; /* how many slices of passed checks it is in */
};

struct suspects {
	struct suspect_insn *v; /* by number of the instruction */
	size_t n;
	unsigned passed; /* earlier executions of the check */
};

#define SUSPECT_PASSED 64u /* earlier executions that are examined: the last ones */

/*
 * check: the index in s->done of the instruction that the failed check has led to, such as a call of abort. s->control
 * is needed. false: nothing is known about it.
 */
bool suspects_find(const struct slice *s, size_t check, struct suspects *out);
void suspects_fini(struct suspects *s);

#endif
