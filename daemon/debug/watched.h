/* SPDX-License-Identifier: MIT */
/*
 * watched.h: watchpoints whose conditions are evaluated here (visibility/watch_conditions.h), and what GDB is told
 * about them. GDB prints as "Old value" the value that it has seen last. So if changes were skipped because the
 * condition was false, a stop is reported twice: first with the memory as it was at the last skipped change, from where
 * GDB continues by itself, since the condition is false; and then with the memory as it is now.
 */
#ifndef FRED_DEBUG_WATCHED_H
#define FRED_DEBUG_WATCHED_H

#include "rsp/stub.h"
#include "visibility/watch_conditions.h"

/* The program where it has stopped. */
struct watched_state {
	pid_t pid; /* its memory */
	const struct user_regs_struct *regs; /* of the thread that has stopped; NULL: not known */
};

struct watched {
	struct watch_conditions conditions;
	uint8_t (*before)[8]; /* by condition: the word's value where the program was resumed */
	bool on; /* the program stands at `stop`, and the debugger sees `shown` instead of what is in memory */
	struct rsp_stop stop;
	struct watch_reads shown;
};

void watched_fini(struct watched *w);
/*
 * monitor watch-conditions [ADDRESS:LENGTH:CODE]...: replaces all conditions; numbers and GDB's listing of the code in
 * hexadecimal.
 */
int watched_set(struct watched *w, const char *args, struct err *e);
/* The debugger resumes. true: *stop is the answer, and nothing moves. pid: the program's memory. */
bool watched_resume(struct watched *w, enum rsp_resume how, pid_t pid, struct rsp_stop *stop);
/* The program has stopped in this state. goes_on: the debugger resumes, unless this is a stop of a watchpoint. */
void watched_stop(struct watched *w, const struct watched_state *now, const struct rsp_stop *stop, bool goes_on);
/* data: the contents of memory from addr on; becomes what the debugger is to see. */
void watched_show(const struct watched *w, uint64_t addr, void *data, size_t len);
/* The debugger has shown its prompt here after all: it now sees what is in memory. */
void watched_prompt(struct watched *w);

#endif
