/* SPDX-License-Identifier: MIT */
/* collect.h: records what an instrumented replay reports of a part of the timeline, as slice.h needs it. */
#ifndef FRED_EXECUTED_COLLECT_H
#define FRED_EXECUTED_COLLECT_H

#include "executed/control.h"
#include "executed/slice.h"
#include "instrument/imports.h"
#include "instrument/instrument.h"

struct collect {
	struct instrument *i;
	struct slice slice;
	struct control *control; /* NULL: control dependences are not wanted */
	struct imports imports; /* of functions that never return */
	uint64_t *pcs; /* of slice.insns */
	size_t pcs_cap;
	struct collect_last {
		uint32_t insn;
		uint64_t sp; /* the stack pointer before the instruction; 0: there was none before */
	} * last; /* by thread */
	uint64_t first_event; /* the event from which slice_done.event is counted */
};

void collect_init(struct collect *c, struct instrument *i, bool control);
void collect_fini(struct collect *c);
/* Called first for each instruction: what the previous instruction read may be known only now. */
void collect_before(struct collect *c, uint64_t sp);
/* The instruction belongs to the part. */
void collect_insn(struct collect *c, struct instrument_insn *x, uint64_t sp);
/* An access of the instruction that was added last. */
void collect_access(struct collect *c, const struct instrument_access *a);
/* Memory whose bytes no longer come from an instruction. */
void collect_outside(struct collect *c, uint64_t addr, uint64_t len);
/* The position of what was executed. */
struct timeline_point collect_point(const struct collect *c, const struct slice_done *d);

#endif
