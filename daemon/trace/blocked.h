/* SPDX-License-Identifier: MIT */
/*
 * blocked.h: does a thread wait in the kernel, and can anybody wake it? To be asked where it has been interrupted (PTRACE_INTERRUPT):
 * a thread that computes, or that has waited for a processor only, stands elsewhere. No clock has a part in it.
 */
#ifndef FRED_TRACE_BLOCKED_H
#define FRED_TRACE_BLOCKED_H

#include "trace/trace.h"

enum blocked {
	BLOCKED_NOT = 0, /* it runs */
	BLOCKED_FOR_A_TIME, /* a call of the kernel that may end by itself: a sleep, an input */
	BLOCKED_UNTIL_WOKEN, /* a futex without a time limit: another thread must wake it */
};

/* r: of the held thread, as ptrace has them at that stop. *futex: the address of the word, for BLOCKED_UNTIL_WOKEN. */
enum blocked blocked_in(const struct user_regs_struct *r, uint64_t *futex);
/* The same of a thread that nobody holds, or that another tracer lets run: at this moment. BLOCKED_NOT also when it is stopped. */
enum blocked blocked_now(pid_t pid, pid_t tid, uint64_t *futex);
/*
 * Who has the mutex (pthread_mutex_t) whose word that is: the TID that it names, in the process's own PID namespace. 0: it is
 * no locked mutex.
 */
pid_t blocked_owner(pid_t pid, uint64_t futex);

#endif
