/* SPDX-License-Identifier: MIT */
/* collect.h: what an instrumented replay tells of a part of the timeline, as slice.h wants it. */
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
		uint64_t sp; /* before it; 0: there was none */
	} * last; /* by thread */
	uint64_t first_event; /* that slice_done.event counts from */
};

void collect_init(struct collect *c, struct instrument *i, bool control);
void collect_fini(struct collect *c);
/* For each instruction, before anything else: what the one before it has read may only be known now. */
void collect_before(struct collect *c, uint64_t sp);
/* It belongs to the part. */
void collect_insn(struct collect *c, struct instrument_insn *x, uint64_t sp);
/* An access of the instruction that was added last. */
void collect_access(struct collect *c, const struct instrument_access *a);
/* Memory whose bytes no longer come from an instruction. */
void collect_outside(struct collect *c, uint64_t addr, uint64_t len);
/* The position of what was executed. */
struct timeline_point collect_point(const struct collect *c, const struct slice_done *d);

#endif
