/* SPDX-License-Identifier: MIT */
/*
 * visibility.h: which states of a program that runs under the shim a user is shown. A state is *visible* when its PC is
 * in the program's code or a library's, or at the entry of one of the shim's functions. Such a call is one step for the
 * user: what the shim does, and the functions of libc that it calls, are not part of the program. A function of the
 * program that the shim calls (a thread's start routine, a signal handler) is visible. The instruction that calls a
 * signal handler is visible too: the signal has been delivered there, and has had no effect yet.
 */
#ifndef FRED_VISIBILITY_VISIBILITY_H
#define FRED_VISIBILITY_VISIBILITY_H

#include "base/maps.h"
#include "trace/trace.h"

struct text {
	uint64_t lo, hi;
};

/* The code in which not all states are visible. */
struct visibility {
	struct text shim, libc, loader;
	uint64_t handlers; /* the instruction that calls signal handlers (visibility/signal_handlers.h); 0: not known */
};

/*
 * Is a thread that is followed by single steps in a function that the shim has called? All zeros at a visible state and
 * in the shim.
 */
struct shim_call {
	uint64_t hidden; /* the stack pointer with which the shim called libc; 0: it has not */
};

int visibility_find(pid_t pid, struct visibility *s, struct err *e);
/* The same, and calls `each` for each mapping. */
int visibility_find_with(pid_t pid, struct visibility *s, void (*each)(void *ctx, const struct mapping *m), void *ctx,
			 struct err *e);
/* Is it the file of the shim, libc or the loader? Other text may follow in `path`. */
bool visibility_knows(const char *path);
/* Is pc in the shim's own code? */
bool visibility_is_shim(const struct visibility *s, uint64_t pc);
/*
 * Is the state visible whatever the thread has done before? That is, is pc neither in the shim, nor in libc or the
 * loader, which the shim calls, too?
 */
bool visibility_is_certain(const struct visibility *s, uint64_t pc);
/* Is pc the call of a signal handler? */
bool visibility_is_call_of_handler(const struct visibility *s, uint64_t pc);
/* Was the thread's last instruction a return to where it stands? */
bool visibility_has_returned(pid_t pid, const struct user_regs_struct *r);
/*
 * Is r at the entry of a function of the shim that was called from `caller`? The stack pointer then points to a return
 * address, which is caller's PC.
 */
bool visibility_is_called_from(const struct visibility *s, pid_t pid, const struct user_regs_struct *r,
			       const struct user_regs_struct *caller);
/*
 * Some functions of libc (dlsym, dlopen) use their return address to find the library that called them. The shim calls
 * these with a return address that points to a `ret` instruction of the program; that one returns to the shim. Is r, to
 * which a function of libc returns, at such a `ret`?
 */
bool visibility_is_trampoline(const struct visibility *s, pid_t pid, const struct user_regs_struct *r);
bool visibility_is_ret(pid_t pid, uint64_t pc);
/* Is the program itself here? That is, the state is certain, and it is not such a `ret`. */
bool visibility_is_program(const struct visibility *s, pid_t pid, const struct user_regs_struct *r);
bool visibility_is_loader(const struct visibility *s, uint64_t pc);
/*
 * The thread has executed one instruction, the one at `before`: is its state now visible? handler: a signal was
 * delivered before that instruction. *g is kept from one instruction to the next.
 */
bool visibility_sees(const struct visibility *s, struct shim_call *g, pid_t pid, uint64_t before,
		     const struct user_regs_struct *now, bool handler);

#endif
