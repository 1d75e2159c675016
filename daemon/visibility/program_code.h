/* SPDX-License-Identifier: MIT */
/*
 * program_code.h: for a copy of a replaying process whose program must run only in translated code: the processor may
 * not execute the program's code. So if the recorder, or a function of libc that it has called, calls the program (a
 * callback, a constructor), this faults at the first instruction.
 */
#ifndef FRED_VISIBILITY_PROGRAM_CODE_H
#define FRED_VISIBILITY_PROGRAM_CODE_H

#include "visibility/visibility.h"

struct program_code_range {
	struct text at;
	int prot; /* as the program has set it */
	bool changes; /* it is writable or shared, so it may change without a system call */
	bool forbidden;
};

/* Zeroed at first. */
struct program_code {
	struct program_code_range *v;
	size_t n, cap;
	bool allowed; /* the kernel has refused to forbid some of it: calls there are not noticed */
	uint64_t report; /* the address in the copy of its struct replay_report, which lists what is forbidden */
};

void program_code_fini(struct program_code *c);
/*
 * Finds the executable mappings, except those that are forbidden already, and those of the recorder, libc and the
 * loader. s: filled as by visibility_find, too.
 */
int program_code_find(struct program_code *c, pid_t pid, struct visibility *s, struct err *e);
/* Forbids the ranges that can change, or those that cannot. gadget: as for trace_syscall. */
int program_code_forbid(struct program_code *c, struct trace *t, uint64_t gadget, bool changes, struct err *e);
/* Is it program code that the processor may not execute? Also for code of a file that the copy itself has mapped. */
bool program_code_is_forbidden(const struct program_code *c, const struct trace *t, uint64_t pc);
/* Allows the instruction at pc (the pages that it is in), or forbids it again. Does nothing where pc is not forbidden.
 */
int program_code_allow(struct program_code *c, struct trace *t, uint64_t gadget, uint64_t pc, bool allow,
		       struct err *e);

#endif
