/* SPDX-License-Identifier: MIT */
/*
 * leave.c: the end of a thread that has made its EXIT event. In a replay, a process's first thread stays until the
 * whole process ends: without it, ptrace, GDB and CRIU cannot access the process's memory by its PID. What the kernel
 * does at a thread's end is done here in its place, except for robust mutexes: if the thread holds one, it really ends.
 */
#include "record/core/state.h"
#include "record/core/task.h"
#include "record/proc/thread.h"

#include <linux/futex.h>

static int holds_robust(void)
{
	struct robust_list_head *head = NULL;
	size_t len;

	if (raw3(SYS_get_robust_list, 0, &head, &len) || !head)
		return 0;
	return head->list.next != &head->list || head->list_op_pending;
}

static void clear_tid(void)
{
	uint32_t *word = NULL;

	raw2(SYS_prctl, 40 /* PR_GET_TID_ADDRESS */, &word);
	raw1(SYS_set_tid_address, 0);
	if (!word)
		return;
	__atomic_store_n(word, 0, __ATOMIC_RELEASE);
	raw3(SYS_futex, word, FUTEX_WAKE, 0x7fffffff);
}

static _Noreturn void stay(void)
{
	static const uint32_t never;
	static const uint64_t all = ~0ull;

	raw4(SYS_rt_sigprocmask, SIG_BLOCK, &all, 0, 8);
	clear_tid();
	for (;;)
		raw_futex_wait((uint32_t *)&never, 0);
}

_Noreturn void thread_leave(long status)
{
	if (G.mode == SHIM_REPLAY && raw0(SYS_gettid) == raw0(SYS_getpid) && task_has_others("/proc/self/task") &&
	    !holds_robust())
		stay();
	for (;;)
		raw1(SYS_exit, status);
}
