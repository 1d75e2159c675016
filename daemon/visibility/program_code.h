/* SPDX-License-Identifier: MIT */
/*
 * program_code.h: in a copy of a replaying process whose program is to run in translated code only: the processor may
 * not execute the code of the program's files. So what the recorder, or a function of libc that it has called, calls
 * there (a callback, a constructor) faults at its first instruction.
 */
#ifndef FRED_VISIBILITY_PROGRAM_CODE_H
#define FRED_VISIBILITY_PROGRAM_CODE_H

#include "trace/trace.h"

/* Of all files but the recorder, libc and the loader. gadget: as for trace_syscall. */
int program_code_forbid(struct trace *t, uint64_t gadget, struct err *e);
/* The instruction at pc, alone; or no longer. Nothing happens where the code of no such file is. */
int program_code_allow(struct trace *t, uint64_t gadget, uint64_t pc, bool allow, struct err *e);
/* Does it stand where it may not execute the code, of whatever file? */
bool program_code_is_forbidden(const struct trace *t, uint64_t pc);

#endif
