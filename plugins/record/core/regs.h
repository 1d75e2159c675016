/* SPDX-License-Identifier: MIT */
/* regs.h: a thread's registers, as a PREEMPT record and translated code have them: an array of words. */
#ifndef FRED_RECORD_REGS_H
#define FRED_RECORD_REGS_H

#define POINT_GREGS 18 /* gregs[] of a ucontext: up to the flags */
#define POINT_REGS (POINT_GREGS + 32) /* and the SSE registers, in halves */
#define POINT_FLAGS 0xcd5u /* of EFLAGS: carry, parity, adjust, zero, sign, direction, overflow */

#endif
