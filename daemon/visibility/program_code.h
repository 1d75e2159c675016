/* SPDX-License-Identifier: MIT */
/*
 * program_code.h: in a copy of a replaying process whose program is to run in translated code only: the processor may
 * not execute the program's code. So what the recorder, or a function of libc that it has called, calls there (a
 * callback, a constructor) faults at its first instruction.
 */
#ifndef FRED_VISIBILITY_PROGRAM_CODE_H
#define FRED_VISIBILITY_PROGRAM_CODE_H

#include "visibility/visibility.h"

struct program_code_range {
	struct text at;
	int prot; /* the program's own */
	bool changes; /* it may change without a system call: it is writable, or shared */
	bool forbidden;
};

/* Zeroed at first. */
struct program_code {
	struct program_code_range *v;
	size_t n, cap;
	bool allowed; /* the kernel has refused to forbid some: what is called there is not seen */
	uint64_t report; /* in the copy: its struct replay_report, which lists what is forbidden */
};

void program_code_fini(struct program_code *c);
/*
 * Finds all but what is forbidden already: mappings that can be executed, but for the recorder's, libc's and the
 * loader's. s: filled as by visibility_find, too.
 */
int program_code_find(struct program_code *c, pid_t pid, struct visibility *s, struct err *e);
/* Forbids what changes, or what does not. gadget: as for trace_syscall. */
int program_code_forbid(struct program_code *c, struct trace *t, uint64_t gadget, bool changes, struct err *e);
/* Is it code of the program's which the processor may not execute? That of a file, too, which the copy has mapped. */
bool program_code_is_forbidden(const struct program_code *c, const struct trace *t, uint64_t pc);
/* Allows the instruction at pc (the pages that it is in), or forbids it again. Does nothing where pc is not forbidden.
 */
int program_code_allow(struct program_code *c, struct trace *t, uint64_t gadget, uint64_t pc, bool allow,
		       struct err *e);

#endif
