/* SPDX-License-Identifier: MIT */
/*
 * leave.c: the end of a thread that has made its EXIT event. In a replay, a process's first thread stays until the
 * whole process ends: without it, ptrace, GDB and CRIU cannot access the process's memory by its PID. So the recorder
 * does what the kernel does at a thread's end, except for robust mutexes: if the thread holds one, it really ends.
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

/*
 * Does what the kernel does when an owner of robust mutexes ends (robust_list in Documentation/locking). The kernel
 * compares the owner in the mutex with the thread's number; the program has been shown another one (pid_ns.c).
 */
#define ROBUST_MOST 2048 /* ROBUST_LIST_LIMIT */

static void let_go_robust(const struct robust_list_head *head, uint64_t entry, uint32_t tid)
{
	uint32_t *word = (uint32_t *)((entry & ~1ull) + (uint64_t)head->futex_offset);
	uint32_t was = __atomic_load_n(word, __ATOMIC_RELAXED);

	if ((was & FUTEX_TID_MASK) != tid)
		return;
	__atomic_store_n(word, (was & FUTEX_WAITERS) | FUTEX_OWNER_DIED, __ATOMIC_SEQ_CST);
	raw3(SYS_futex, word, FUTEX_WAKE, 1);
}

static void end_robust(void)
{
	struct robust_list_head *head = NULL;
	uint32_t *word = NULL;
	uint64_t entry, next;
	size_t len;

	if (!G.pid_ns || raw3(SYS_get_robust_list, 0, &head, &len) || !head ||
	    raw2(SYS_prctl, 40 /* PR_GET_TID_ADDRESS */, &word) || !word)
		return;
	entry = (uint64_t)head->list.next;
	for (int i = 0; i < ROBUST_MOST && (entry & ~1ull) != (uint64_t)&head->list; i++, entry = next) {
		next = (uint64_t)((struct robust_list *)(entry & ~1ull))->next;
		let_go_robust(head, entry, *word);
	}
	if (head->list_op_pending)
		let_go_robust(head, (uint64_t)head->list_op_pending, *word);
}

static void clear_tid(void)
{
	uint32_t *word = NULL;

	raw2(SYS_prctl, 40 /* PR_GET_TID_ADDRESS */, &word);
	raw1(SYS_set_tid_address, 0);
	if (word)
		thread_clear_word(word);
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
	if (G.mode == SHIM_REPLAY)
		end_robust();
	for (;;)
		raw1(SYS_exit, status);
}
