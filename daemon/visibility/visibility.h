/* SPDX-License-Identifier: MIT */
/*
 * visibility.h: what a user sees of a program that runs under the shim. A state is *visible* when its PC is in the program's
 * code or a library's, or at the entry of one of the shim's functions, which is then one step: neither what goes on in
 * there nor in libc's functions that the shim calls is the program's. A function of the program that the shim calls (a
 * thread's, a signal handler) is visible, and so is the call of a signal handler: the signal has come, and has had no effect.
 */
#ifndef FRED_VISIBILITY_VISIBILITY_H
#define FRED_VISIBILITY_VISIBILITY_H

#include "trace/trace.h"

struct text {
	uint64_t lo, hi;
};

/* Where code is. */
struct visibility {
	struct text shim, libc, loader;
	uint64_t handlers; /* where the shim calls those of signals (visibility/signal_handlers.h); 0: not known */
};

/* Follows one thread from instruction to instruction. Zeroed at a visible state or in the shim. */
struct shim_call {
	uint64_t hidden; /* the stack pointer with which the shim called libc; 0: it has not */
};

int visibility_find(pid_t pid, struct visibility *s, struct err *e);
/* A file whose code is not simply visible. path may have more behind it. */
bool visibility_knows(const char *path);
/* The recorder's own code. */
bool visibility_is_shim(const struct visibility *s, uint64_t pc);
/* Visible wherever the thread came from: neither the shim nor what it calls. */
bool visibility_is_certain(const struct visibility *s, uint64_t pc);
/* A signal has come, and its handler is called next. */
bool visibility_is_call_of_handler(const struct visibility *s, uint64_t pc);
/* The thread's last instruction was a return to where it stands. */
bool visibility_has_returned(pid_t pid, const struct user_regs_struct *r);
/* Stands it in the shim, in front of a return to that place, with nothing more on its stack? So it does at a function's entry. */
bool visibility_is_called_from(const struct visibility *s, pid_t pid, const struct user_regs_struct *r,
			  const struct user_regs_struct *caller);
/*
 * On the back stairs: where libc looks at its return address to see which library called, the shim has it return to a `ret` of
 * the program's, and that one to the shim. Asked of what a function of libc's returns to.
 */
bool visibility_is_stair(const struct visibility *s, pid_t pid, const struct user_regs_struct *r);
bool visibility_is_ret(pid_t pid, uint64_t pc);
/* In the loader. */
bool visibility_is_loader(const struct visibility *s, uint64_t pc);
/*
 * The thread has made one instruction, from `before`: is the state visible? handler: the delivery of a signal came
 * first.
 */
bool visibility_sees(const struct visibility *s, struct shim_call *g, pid_t pid, uint64_t before,
		const struct user_regs_struct *now, bool handler);

#endif
