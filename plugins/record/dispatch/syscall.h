/* SPDX-License-Identifier: MIT */
/* syscall.h: the program's system calls: each goes to the function that records or replays it. */
#ifndef FRED_RECORD_SYSCALL_H
#define FRED_RECORD_SYSCALL_H

#include "record/core/state.h"
#include "record/sys/sys.h"

/* --- clone.c: clone, clone3, vfork, fork from the program or libc --- */
sys_call trap_clone;

/* libc's own, with a stack, while nothing is recorded */
long clone_thread(long nr, const long *a, ucontext_t *uc);

/* --- syscall.c --- */
/* One system call of the program, recorded or replayed. uc: the trap's context, NULL from a wrapper. */
long sys_event(struct thr *t, long nr, const long *a, ucontext_t *uc);

/* --- sys_calls.c --- */
sys_call call_open, record_sig, replay_sig, call_mincore, call_madvise, call_exit, record_exit_group, replay_exit_group,
	call_rlimit, call_capget, call_sigaltstack;
sys_call call_lock, call_futex, call_get_mempolicy, call_signalfd, call_namespace, call_get_robust_list,
	call_name_to_handle_at, call_vm_writev;
sys_call call_rseq;

/* --- seccomp_act.c --- */
/* Does a filter decide about this call? Then *ret is its result, 1; 0: it is allowed. */
int seccomp_check(struct thr *t, long nr, const long *a, ucontext_t *uc, long *ret);

void vdso_give(char **envp); /* after vdso_init */

#endif
