/* SPDX-License-Identifier: MIT */
/*
 * rep.h: repeated string instructions (rep movs, rep stos ...). The processor can stop in the
 * middle of one, with its address as the PC: for a debug register, for a single step, for a signal.
 * A debugger's user sees it as one instruction, as breakpoints and the recorder's translated code
 * do: it is met once, however many elements it has.
 */
#ifndef FRED_TRACE_REP_H
#define FRED_TRACE_REP_H

#include "trace/trace.h"

/* Is one at the PC, in front of its first element or of a later one? */
bool trace_at_rep(pid_t pid, const struct user_regs_struct *r);
/*
 * Is t, which has made a single step, in the middle of one: some elements are done, and some are not? Intel's processors set the
 * resume flag then (SDM vol. 3, "Resume Flag"), AMD's do not; but there is nowhere else that a step leads back to where it began.
 */
bool trace_in_rep(const struct trace *t, const struct user_regs_struct *r);
/*
 * t has stopped for *s. If that is in the middle of one, it is done to its end, and what is hit by
 * that is added to s->slots. A fault or the thread's end in it becomes *s. Signals that are sent
 * meanwhile wait. The last slot is used for that, and is as before then.
 */
int trace_finish_rep(struct trace *t, struct trace_stop *s, struct err *e);

#endif
