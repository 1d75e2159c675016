/* SPDX-License-Identifier: MIT */
/*
 * sight.h: what a user sees of a program that runs under the shim. A state is *visible* when its PC is in the program's
 * code or a library's, or at the entry of one of the shim's functions, which is then one step: neither what goes on in
 * there nor in libc's functions that the shim calls is the program's. A function of the program that the shim calls (a
 * thread's, a signal handler) is visible.
 */
#ifndef FRED_VIEW_SIGHT_H
#define FRED_VIEW_SIGHT_H

#include "trace/trace.h"

struct text {
	uint64_t lo, hi;
};

/* Where code is. */
struct sight {
	struct text shim, libc, loader;
};

/* Follows one thread from instruction to instruction. Zeroed at a visible state or in the shim. */
struct gaze {
	uint64_t hidden; /* the stack pointer with which the shim called libc; 0: it has not */
};

int sight_find(pid_t pid, struct sight *s, struct err *e);
/* A file whose code is not simply visible. path may have more behind it. */
bool sight_knows(const char *path);
/* Visible wherever the thread came from: neither the shim nor what it calls. */
bool sight_is_certain(const struct sight *s, uint64_t pc);
/*
 * The thread has made one instruction, from `before`: is the state visible? handler: the delivery of a signal came
 * first.
 */
bool sight_sees(const struct sight *s, struct gaze *g, pid_t pid, uint64_t before,
		const struct user_regs_struct *now, bool handler);

#endif
