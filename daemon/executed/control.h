/* SPDX-License-Identifier: MIT */
/*
 * control.h: dynamic control dependences: on which executed branch it depended that an instruction was executed. Found
 * while a thread executes (Xin and Zhang, "Efficient Online Detection of Dynamic Control Dependence", ISSTA 2007): a
 * branch opens a region that ends at its immediate post-dominator, in the same call of its function; an instruction
 * depends on the branch of the innermost region that is open, or, outside of all, on the call that led to its function.
 * Post-dominators are those of the control flow that the bytes of the code tell. An indirect jump leads to where it was
 * seen to lead. After a call of a function that never returns (returning.h) nothing follows. Pure.
 */
#ifndef FRED_EXECUTED_CONTROL_H
#define FRED_EXECUTED_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include "executed/returning.h"

#define CONTROL_NONE UINT32_MAX

struct control;

struct control *control_new(const struct returning_ops *ops, void *ctx);
void control_free(struct control *c);
/*
 * The thread executes the instruction at pc, with this stack pointer before it; the instruction has number `index`.
 * Returns the number of the branch or call on which it depends; CONTROL_NONE: none that was seen.
 */
uint32_t control_see(struct control *c, uint32_t thread, uint64_t pc, uint64_t sp, uint32_t index);
/* How many indirect jumps had only their seen targets; how many functions were too large to examine. */
size_t control_indirect(const struct control *c);
size_t control_large(const struct control *c);

#endif
