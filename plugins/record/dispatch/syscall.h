/* SPDX-License-Identifier: MIT */
/* syscall.h: the program's system calls: each goes to the function that records or replays it. */
#ifndef FRED_RECORD_SYSCALL_H
#define FRED_RECORD_SYSCALL_H

#include "record/core/state.h"

/* --- clone.c: clone, clone3, vfork, fork from the program or libc --- */
long trap_clone(struct thr *t, long nr, const long *a, ucontext_t *uc);

/* libc's own, with a stack, while nothing is recorded */
long clone_thread(long nr, const long *a, ucontext_t *uc);

/* --- syscall.c --- */
/* One system call of the program, recorded or replayed. uc: the trap's context, NULL from a wrapper. */
long sys_event(struct thr *t, long nr, const long *a, ucontext_t *uc);
/* The calls that the table gives to a function. */
long sys_special(struct thr *t, long nr, const long *a, ucontext_t *uc);
/* Does a filter decide about this call? Then *ret is its result, 1; 0: it is allowed. */
int seccomp_check(struct thr *t, long nr, const long *a, ucontext_t *uc, long *ret);

void vdso_give(char **envp); /* behind vdso_init */

#endif
