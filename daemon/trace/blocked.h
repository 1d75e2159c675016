/* SPDX-License-Identifier: MIT */
/*
 * blocked.h: whether a thread waits in the kernel, and what can wake it. To be called for a thread that
 * was stopped by PTRACE_INTERRUPT: the registers of one that computes, or only waits for a processor,
 * look different. The answer does not depend on any clock.
 */
#ifndef FRED_TRACE_BLOCKED_H
#define FRED_TRACE_BLOCKED_H

#include "trace/trace.h"

enum blocked {
	BLOCKED_NOT = 0, /* it runs */
	BLOCKED_FOR_A_TIME, /* in a system call that may end by itself: a sleep, a read */
	BLOCKED_UNTIL_WOKEN, /* in a futex wait without a timeout: another thread must wake it */
};

/*
 * Does a stopped thread wait in the kernel? r: its registers. *futex: the address of the word, for BLOCKED_UNTIL_WOKEN.
 */
enum blocked blocked_in(const struct user_regs_struct *r, uint64_t *futex);
/* The same for a thread that is not traced, or that another tracer lets run, at this moment. BLOCKED_NOT also when it
 * is stopped. */
enum blocked blocked_now(pid_t pid, pid_t tid, uint64_t *futex);
/*
 * The thread waits until it is woken: has the process no other thread that could do so? All others wait, too, or are
 * stopped, and none of them has run meanwhile.
 */
bool blocked_for_good(pid_t pid, pid_t tid);
/*
 * The owner of the mutex (pthread_mutex_t) that the futex word belongs to: the TID that the mutex holds, which is the
 * one that the program knows its thread by. 0: it is not a locked mutex.
 */
pid_t blocked_owner(pid_t pid, uint64_t futex);

#endif
