/* SPDX-License-Identifier: MIT */
/* state_equal.h: is a thread of one process in the same state as a thread of another process of the same replay? */
#ifndef FRED_SEGCURSOR_STATE_EQUAL_H
#define FRED_SEGCURSOR_STATE_EQUAL_H

#include "trace/walk.h"

/*
 * 1: the registers that a function preserves for its caller are equal, and so is its result; *differ: how many of the
 * others are not. 0: they differ; -1: error. After a call into the shim, the other registers depend on how it waited.
 */
int state_equal_registers(struct trace *a, struct trace *b, unsigned *differ, struct err *e);
/* The same for registers that have been read: true, with *differ set; or false. */
bool state_equal_values(const struct user_regs_struct *a, const struct user_regs_struct *b, unsigned *differ);
/*
 * *differ: how many words of memory differ, without the shim's own memory and what is below a stack pointer. Between
 * copies of one process it is 0 for the same state. Between two launches it may be more: what the shim leaves on the
 * stack depends on how it waited, and is visible in a variable that is not set yet.
 */
int state_equal_memory(struct trace *a, struct trace *b, size_t *differ, struct err *e);
/*
 * The same, and also some of the words that differ, with b's values. The chosen words will distinguish b from most
 * other states: the one nearest to a's stack pointer, which may be a local variable, the first, and the last.
 */
int state_equal_memory_tell(struct trace *a, struct trace *b, size_t *differ, struct walk_tell *tell, struct err *e);

#endif
