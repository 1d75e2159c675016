/* SPDX-License-Identifier: MIT */
/* sys_calls.c: system calls that need more than their row in syscalls.def can say. */
#include "record/core/memory.h"
#include "record/core/own_stack.h"
#include "record/core/state.h"
#include "record/dispatch/syscall.h"
#include "record/event/donate.h"
#include "record/event/turn.h"
#include "record/input/input.h"
#include "record/proc/process.h"
#include "record/proc/thread.h"
#include "record/sched/gil.h"
#include "record/sched/own_locks.h"
#include "record/shm/group.h"
#include "record/signal/sig.h"
#include "record/store/keeper.h"
#include "record/store/log.h"
#include "record/sync/heap_detect.h"
#include "record/sys/sys.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/resource.h>

/*
 * sigaltstack: made in both modes. The kernel has the recorder's stack; its answer tells only whether *old can be
 * written.
 */
long call_sigaltstack(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	const stack_t *set = (const stack_t *)a[0];
	stack_t *old = (stack_t *)a[1];
	uint64_t sp = uc ? (uint64_t)uc->uc_mcontext.gregs[REG_RSP] : (uint64_t)__builtin_frame_address(0);

	if ((set && !sys_readable(set, sizeof(*set))) || (old && raw2(SYS_sigaltstack, 0, old)))
		return -14; /* EFAULT */
	return program_stack_set(t, set, old, sp);
}

long record_exit_group(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	uint64_t op[10];

	if (t->own_process)
		adopt_exit(t, nr, a[0]);
	detect_look_at_all();
	written_look();
	log_mark(t);
	sys_rec(t, op, sys_pack(op, nr, a, 1, 0));
	vfork_child_leaves();
	group_leave();
	for (;;)
		raw1(nr, a[0]);
}

long replay_exit_group(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	uint64_t op[10];

	if (t->own_process)
		adopt_exit(t, nr, a[0]);
	sys_replay(t, op, sys_pack(op, nr, a, 1, 0));
	turn_done(t);
	turn_end(t, REPLAY_ENDED);
}

/* mincore: a byte for each page. */
long call_mincore(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	struct sys_info s = {CLASS_REC, 2, {{0}}, {{IO_ARGMUL, 2, 3, 1}}};
	long b[6] = {a[0], a[1], a[2], (a[1] + 4095) / 4096};

	return sys_do(t, &s, SYS_mincore, b);
}

/* get_mempolicy: Linux writes a mask of args[2] - 1 bits. */
long call_get_mempolicy(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	struct sys_info s = {CLASS_REC, 5, {{0}}, {{IO_FIXED, 0, 0, 4}, {IO_ARGMUL, 1, 5, 1}}};
	long b[6] = {a[0], a[1], a[2], a[3], a[4], (long)(((unsigned long)a[2] + 62) / 64 * 8)};

	return sys_do(t, &s, SYS_get_mempolicy, b);
}

long call_signalfd(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	struct sys_info s = {CLASS_REC, nr == SYS_signalfd ? 3 : 4, {{0}}, {{0}}};

	if (sys_readable((const void *)a[1], 8))
		G.signalfd |= *(const uint64_t *)a[1];
	return sys_do(t, &s, nr, a);
}

/*
 * sigaction and sigprocmask change only this process's own state: run in both modes. They are events
 * because signals are delivered at the end of events.
 */
static long set_sig(long nr, const long *a, ucontext_t *uc)
{
	return nr == SYS_rt_sigaction ? sig_action(a) : sig_procmask_native(a, uc);
}

long record_sig(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	uint64_t op[10];
	long ret;

	sys_rec(t, op, sys_pack(op, nr, a, 4, 0));
	ret = set_sig(nr, a, uc);
	sys_rec_ret(t, ret, 0, 0);
	return ret;
}

long replay_sig(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	uint64_t op[10];
	long ret;

	sys_replay(t, op, sys_pack(op, nr, a, 4, 0));
	ret = set_sig(nr, a, uc);
	if (sys_replay_end(t, a) != ret)
		shim_fail("sigaction or sigprocmask gave another result");
	return ret;
}

static int futex_waits(int op)
{
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAKE:
	case FUTEX_WAKE_OP:
	case FUTEX_WAKE_BITSET:
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
	case FUTEX_UNLOCK_PI:
	case FUTEX_TRYLOCK_PI:
		return 0;
	}
	return 1;
}

/*
 * The program's own futexes, and locks inside libc. Recorded one thread at a time, they are calls like any other, since
 * each finds the same words again in a replay; in parallel, their order is not known.
 */
long call_futex(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	/* what a wake-up changes and which threads it wakes is one step: no thread runs in between */
	struct sys_info s = {futex_waits((int)a[1]) ? CLASS_REC : CLASS_QUICK, 6, {{0}}, {{0}}};
	int waits = ((int)a[1] & 127) == FUTEX_WAIT || ((int)a[1] & 127) == FUTEX_WAIT_BITSET;
	long b[6] = {a[0], a[1], a[2], a[3], a[4], a[5]}, ret;

	if (!G.serial)
		own_locks_futex(t);
	if (!G.serial)
		return turn_futex(t, a);
	switch ((int)a[1] & 127) {
	case FUTEX_WAKE:
		b[3] = b[4] = b[5] = 0; /* not arguments: the registers have arbitrary values */
		break;
	case FUTEX_WAIT:
		b[4] = b[5] = 0;
		break;
	case FUTEX_WAIT_BITSET:
		b[4] = 0;
		break;
	case FUTEX_WAKE_OP:
		s.out[0] = (struct io){IO_FIXED, 4, 0, 4};
		break;
	case FUTEX_LOCK_PI:
	case FUTEX_UNLOCK_PI:
	case FUTEX_TRYLOCK_PI:
		s.out[0] = (struct io){IO_FIXED, 0, 0, 4};
		break;
	}
	if (G.group && G.mode == SHIM_RECORD)
		pages_touch((void *)a[0], 4, s.out[0].how == IO_FIXED && s.out[0].arg == 0);
	/* a thread past its EXIT, or inside the recorder, may really wait */
	if (G.mode == SHIM_REPLAY && !waits)
		raw3(SYS_futex, a[0], FUTEX_WAKE | ((int)a[1] & FUTEX_PRIVATE_FLAG), 0x7fffffff);
	ret = sys_do(t, &s, SYS_futex, b);
	if (G.mode == SHIM_REPLAY && waits && (ret == 0 || ret == -11 /* EAGAIN */))
		adopt_settle((const uint32_t *)a[0]);
	return ret;
}

/* struct file_handle: size, type, the handle; the size also when there is not enough room. */
static void walk_handle(struct outs *o, const long *a, long ret, void *arg)
{
	uint32_t *handle = (uint32_t *)a[2];

	(void)arg;
	if (ret != 0 && ret != -75 /* EOVERFLOW */)
		return;
	outs_add(o, handle, 4);
	outs_add(o, handle + 1, 4);
	if (ret == 0)
		outs_add(o, handle + 2, handle[0]);
	outs_add(o, (void *)a[3], a[4] & 1 /* AT_HANDLE_MNT_ID_UNIQUE */ ? 8 : 4);
}

static void walk_nothing(struct outs *o, const long *a, long ret, void *arg)
{
	(void)o, (void)a, (void)ret, (void)arg;
}

/*
 * A write into this process's own memory is also made when replaying. No log tells what it does to another process's
 * memory.
 */
long call_vm_writev(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	uint32_t crc = 0;
	long ret;

	if ((int)a[0] != G.shown_pid)
		return sys_refuse(t, SYS_process_vm_writev);
	if (sys_readable((const void *)a[1], 16))
		crc = sys_check_iov(0, (const struct iovec *)a[1], (unsigned long)a[2]);
	ret = sys_do_walk(t, SYS_process_vm_writev, a, 6, crc, walk_nothing, 0);
	if (G.mode == SHIM_REPLAY && ret > 0)
		raw6(SYS_process_vm_writev, raw0(SYS_getpid), a[1], a[2], a[3], a[4], a[5]);
	return ret;
}

/* A robust list of this thread is in its own memory; another thread's address comes from the log. */
long call_get_robust_list(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	struct sys_info s = {CLASS_REC, 3, {{0}}, {{IO_FIXED, 1, 0, 8}, {IO_FIXED, 2, 0, 8}}};

	if (a[0] == 0)
		return raw3(SYS_get_robust_list, 0, a[1], a[2]);
	return sys_do(t, &s, SYS_get_robust_list, a);
}

/*
 * Refused, since it restarts code at places that the log does not contain; but not noted, since libc does without it.
 * However, a libc that has registered its first thread ends the process when it cannot register all.
 */
long call_rseq(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	if (!t->libc_start)
		return -38;
	t->libc_start = 0;
	return raw4(SYS_rseq, a[0], a[1], a[2], a[3]);
}

long call_namespace(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	struct sys_info s = {CLASS_REC, nr == SYS_setns ? 2 : 1, {{0}}, {{0}}};
	uint64_t kinds = (uint64_t)(nr == SYS_setns ? a[1] : a[0]);
	int net = (kinds & CLONE_NEWNET) || (nr == SYS_setns && !kinds) ? keep_connect() : -1;
	long ret = sys_do(t, &s, nr, a);

	keep_follow(net, ret == 0);
	if (ret == 0 && G.mode == SHIM_RECORD)
		pid_ns_moved();
	return ret;
}

/* The mode is an argument only if a file may be created: else the register has an arbitrary value. */
long call_open(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	int path = nr == SYS_openat;
	struct sys_info s = {CLASS_REC, (uint8_t)(3 + path), {{IO_STR, (uint8_t)path}}, {{0}}};
	long b[6] = {a[0], a[1], a[2], a[3]}, ret;

	if (!(a[1 + path] & O_CREAT) && (a[1 + path] & O_TMPFILE) != O_TMPFILE)
		b[2 + path] = 0;
	ret = sys_do(t, &s, nr, b);
	mem_file_opened((const char *)a[path], a[1 + path], ret);
	vdso_auxv_opened((const char *)a[path], ret);
	refs_opened(ret);
	return ret;
}

/* Version 1 of capabilities is half as long as those that came later. */
long call_capget(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	struct sys_info s = {CLASS_REC, 2, {{0}}, {{IO_FIXED_ERR, 0, 0, 8}, {IO_FIXED, 1, 0, 24}}};

	if (sys_readable((const void *)a[0], 4) && *(const uint32_t *)a[0] == 0x19980330)
		s.out[1].n = 12;
	return sys_do(t, &s, SYS_capget, a);
}

/* Later calls on memory depend on it: also made when replaying, where it may fail for lack of rights. */
long call_lock(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	static const uint8_t nargs[] = {2, 2, 1, 0};
	struct sys_info s = {CLASS_REC, nr == SYS_mlock2 ? 3 : nargs[nr - SYS_mlock], {{0}}, {{0}}};
	long ret = sys_do(t, &s, nr, a);

	if (G.mode == SHIM_REPLAY && ret == 0)
		raw3(nr, a[0], a[1], a[2]);
	return ret;
}

/* How far the stack may grow decides where a program ends that recurses too deep: also made when replaying. */
long call_rlimit(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	static const struct sys_info set = {CLASS_REC, 2, {{IO_FIXED, 1, 0, 16}}, {{0}}},
				     both = {CLASS_QUICK, 4, {{IO_FIXED, 2, 0, 16}}, {{IO_FIXED, 3, 0, 16}}};
	static const struct sys_info get = {CLASS_QUICK, 2, {{0}}, {{IO_FIXED, 1, 0, 16}}};
	const struct sys_info *s = nr == SYS_getrlimit ? &get : nr == SYS_setrlimit ? &set : &both;
	int at = nr == SYS_prlimit64;
	long ret = limits_are_ours(nr, a) ? limits_call(t, s, nr, a) : sys_do(t, s, nr, a);

	if (nr != SYS_getrlimit && G.mode == SHIM_REPLAY && ret == 0 && a[at] == RLIMIT_STACK && a[at + 1] &&
	    (!at || a[0] == 0 || (int)a[0] == G.shown_pid))
		raw4(SYS_prlimit64, 0, RLIMIT_STACK, a[at + 1], 0);
	return ret;
}

long call_name_to_handle_at(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	return sys_do_walk(t, nr, a, 5, 0, walk_handle, 0);
}

long call_madvise(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	/* in shared memory nothing is dropped; on replay it is private */
	if (pages_range((void *)a[0], (uint64_t)a[1]) && (a[2] == MADV_DONTNEED || a[2] == MADV_FREE))
		return 0;
	/* MADV_FREE drops pages when the kernel likes; MADV_DONTNEED always does */
	if (a[2] == MADV_FREE)
		return raw3(SYS_madvise, a[0], a[1], MADV_DONTNEED);
	return sys_advise(a);
}

long call_exit(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	if (t->ctid || t->own_process)
		adopt_exit(t, SYS_exit, a[0]);
	if (G.mode == SHIM_RECORD && threads_alone(t)) /* glibc's clone() ends a process so, too */
		vfork_child_leaves();
	thread_exit_event(t);
	thread_leave(a[0]);
}
