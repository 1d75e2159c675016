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

/* Is such an instruction at the PC, before its first element or a later one? */
bool trace_at_rep(pid_t pid, const struct user_regs_struct *r);
/*
 * Is t, after a single step, in the middle of such an instruction: some elements done, some not? Intel processors set
 * the resume flag then (SDM vol. 3, "Resume Flag"), AMD processors do not; but no other instruction's single step ends
 * where it began.
 */
bool trace_in_rep(const struct trace *t, const struct user_regs_struct *r);
/*
 * t has stopped for *s. If it stands in the middle of such an instruction, completes that; slots hit
 * meanwhile are added to s->slots. A fault in it, or the end of the thread, replaces *s. Signals that
 * arrive meanwhile stay pending. The last slot is used, and restored.
 */
int trace_finish_rep(struct trace *t, struct trace_stop *s, struct err *e);

#endif
