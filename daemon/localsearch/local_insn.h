/* SPDX-License-Identifier: MIT */
/* local_insn.h: which instruction made the change that the local search has found. */
#ifndef FRED_LOCALSEARCH_LOCAL_INSN_H
#define FRED_LOCALSEARCH_LOCAL_INSN_H

#include "localsearch/local.h"

/*
 * Fills pc_after, pc_insn and pc_inside of r from its registers. A data watchpoint traps after the
 * instruction: its own address is known for certain only when it was stepped over, for a `rep`
 * string instruction in progress (the PC stays on it) and for a `call` (it wrote the return
 * address). words: what was watched.
 */
void local_insn_describe(struct trace_local_result *r, const struct trace_words *words);

#endif
