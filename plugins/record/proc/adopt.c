/* SPDX-License-Identifier: MIT */
/*
 * adopt.c: threads, and processes that share the program's memory, that it makes by clone itself.
 *
 * Both are threads of the image here: with a number and a log. A process of that kind (CLONE_VM without CLONE_THREAD)
 * has a PID of its own when recording, which the head of its log tells; in a replay it is a thread with that as TID.
 * All in which it differs from a thread (how it ends, what its parent gets by wait, its descriptors) comes from the
 * log.
 *
 * Without CLONE_SETTLS the new thread would have its creator's thread pointer, and the recorder would take it for its
 * creator. So it gets a copy of the creator's thread-local storage, whose address depends on the thread's number alone.
 */
#include "record/core/memory.h"
#include "record/core/own_stack.h"
#include "record/core/real.h"
#include "record/core/state.h"
#include "record/proc/thread.h"
#include "record/store/log.h"

#include <dlfcn.h>
#include <linux/sched.h>
#include <string.h>

#define TLS_ROOM (1u << 20)
#define DTV_UNALLOCATED ~0ull

static uint64_t pthread_bytes = 2304; /* of libc's struct pthread, above the thread pointer */

void adopt_init(void)
{
	const uint32_t *size = REAL(dlsym)(RTLD_DEFAULT, "_thread_db_sizeof_pthread");

	if (size && *size)
		pthread_bytes = *size;
}

int adopt_is_thread_pointer(uint64_t tp)
{
	return sys_readable((const void *)tp, 24) && ((const uint64_t *)tp)[2] == tp;
}

/* The lowest address of a library's thread-local variables, which lie below the thread pointer. */
static uint64_t tls_start(uint64_t tp)
{
	const uint64_t *dtv = ((uint64_t **)tp)[1]; /* pairs: address, and what to free */
	uint64_t n = dtv[-2], lo = tp;

	for (uint64_t i = 1; i <= n; i++)
		if (dtv[2 * i] != DTV_UNALLOCATED && dtv[2 * i] < lo && tp - dtv[2 * i] < TLS_ROOM / 2)
			lo = dtv[2 * i];
	return lo;
}

/* Gives the new thread pointer, 0: there is no memory for it. */
uint64_t adopt_tls(const struct thr *c)
{
	uint64_t tp = (uint64_t)__builtin_thread_pointer(), lo = tls_start(tp), at = thread_tls_room(c) - TLS_ROOM, to;

	if (raw_failed(raw_mmap((void *)at, TLS_ROOM, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0)))
		return 0;
	to = at + TLS_ROOM / 2 + (tp & 4095);
	memcpy((void *)(to - (tp - lo)), (void *)lo, tp - lo + pthread_bytes);
	((uint64_t *)to)[0] = to; /* both are pointers to itself */
	((uint64_t *)to)[2] = to;
	return to;
}

/* The flags for a thread of the replaying process, with what the kernel writes into memory. */
uint64_t adopt_replay_flags(uint64_t flags)
{
	const uint64_t keep = CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | CLONE_SETTLS;

	return (flags & keep) | CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
}

static int comes_no_further(const struct thr *c)
{
	const uint8_t *p = c->log.rd;
	struct rlog_rec r;

	return rlog_next(shim_kinds(), &p, c->log.rd_end, &r) != RLOG_READ_OK;
}

/* Clears the word that the kernel clears when a process is killed; in a replay, nothing else does. */
static void clear_word(const struct thr *c)
{
	if (c->ctid && !c->exited && comes_no_further(c))
		*c->ctid = 0;
}

void adopt_settle(const uint32_t *word)
{
	for (uint32_t i = 2; i < G.next_thread && i < RLOG_MAX_THREADS; i++)
		if (G.thr[i].ctid == word)
			clear_word(&G.thr[i]);
}

void adopt_waited(long nr, const long *a, long ret)
{
	const siginfo_t *si = (const siginfo_t *)a[2];
	long pid = nr == SYS_wait4 ? ret : nr == SYS_waitid && ret == 0 && si ? si->si_pid : 0;

	for (uint32_t i = 2; pid > 0 && i < G.next_thread && i < RLOG_MAX_THREADS; i++)
		if (G.thr[i].own_process && G.thr[i].shown_tid == pid)
			clear_word(&G.thr[i]);
}

/*
 * The word is cleared in the thread's last turn, not by the kernel some time after that. A thread that waits for this
 * may give the stack to the next thread, so this code does not use that stack.
 */
static _Noreturn void leave(struct thr *t, long nr, long status)
{
	thread_exit_event(t);
	if (nr == SYS_exit || G.mode == SHIM_REPLAY)
		thread_leave(status);
	for (;;)
		raw1(nr, status);
}

_Noreturn void adopt_leave_on(struct thr *t, long nr, long status, uint64_t sp,
			      void (*fn)(struct thr *t, long nr, long status));
__asm__(".text\n"
	".type adopt_leave_on, @function\n"
	"adopt_leave_on:\n"
	"	mov %rcx, %rsp\n"
	"	xor %ebp, %ebp\n"
	"	call *%r8\n"
	".size adopt_leave_on, .-adopt_leave_on\n");

_Noreturn void adopt_exit(struct thr *t, long nr, long status)
{
	adopt_leave_on(t, nr, status, own_stack_steps(t), leave);
}
