/* SPDX-License-Identifier: MIT */
/* clone.c: clone, clone3, fork and vfork of the program or libc: a thread, a process, or one that shares its memory. */
#include "record/core/memory.h"
#include "record/core/own_stack.h"
#include "record/core/state.h"
#include "record/dispatch/syscall.h"
#include "record/proc/process.h"
#include "record/proc/thread.h"
#include "record/store/log.h"

#include <linux/sched.h>
#include <sched.h>
#include <ucontext.h>

/*
 * clone with a new stack, from inside the handler: the child starts with the registers that the
 * trapped call had. They lie right below its new stack pointer, where nothing stays behind: when recording, libc's own
 * call makes the thread.
 */
long clone_at(long nr, long a0, long a1, long a2, long a3, long a4);
__asm__(".text\n"
	".type clone_at, @function\n"
	"clone_at:\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	mov %rdx, %rsi\n"
	"	mov %rcx, %rdx\n"
	"	mov %r8, %r10\n"
	"	mov %r9, %r8\n"
	"	syscall\n"
	"	test %rax, %rax\n"
	"	jz 1f\n"
	"	ret\n"
	"1:\n"
	"clone_goes_on:\n"
	"	pxor %xmm0, %xmm0\n"
	"	mov -256(%rsp), %r11\n"
	"	mov -248(%rsp), %rbx\n"
	"	mov -240(%rsp), %rbp\n"
	"	mov -232(%rsp), %r12\n"
	"	mov -224(%rsp), %r13\n"
	"	mov -216(%rsp), %r14\n"
	"	mov -208(%rsp), %r15\n"
	"	mov -200(%rsp), %rdi\n"
	"	mov -192(%rsp), %rsi\n"
	"	mov -184(%rsp), %rdx\n"
	"	mov -176(%rsp), %r8\n"
	"	mov -168(%rsp), %r9\n"
	"	mov -160(%rsp), %r10\n"
	"	movups %xmm0, -256(%rsp)\n"
	"	movups %xmm0, -240(%rsp)\n"
	"	movups %xmm0, -224(%rsp)\n"
	"	movups %xmm0, -208(%rsp)\n"
	"	movups %xmm0, -192(%rsp)\n"
	"	movups %xmm0, -176(%rsp)\n"
	"	movq %xmm0, -160(%rsp)\n"
	"	xor %eax, %eax\n"
	"	jmp *%r11\n"
	".size clone_at, .-clone_at\n");

/*
 * The kernel frees the PIDs of a killed process's threads some time after the parent has waited for the process,
 * without a notification. A replay that starts again at once may find one still in use, and tries again.
 */
typedef long clone_call(const struct clone_args *c, size_t size);

static long clone_again(clone_call *call, const struct clone_args *c)
{
	long pause[2] = {0, 1000000}, ret = call(c, sizeof(*c));

	for (int i = 0; i < 3000 && ret == -17 /* EEXIST */ && c->set_tid_size; i++) {
		raw2(SYS_nanosleep, pause, 0);
		ret = call(c, sizeof(*c));
	}
	return ret;
}

/*
 * clone, where a container's filter answers ENOSYS to clone3. It cannot choose a TID, and has a single argument for
 * both the address of the PID's descriptor and that of the parent's copy of the TID.
 */
typedef long old_clone_call(long flags, long stack, long parent, long child, long tls);

static long clone_old(old_clone_call *call, const struct clone_args *c)
{
	int pidfd = (c->flags & CLONE_PIDFD) != 0;

	if (c->set_tid_size || (pidfd && (c->flags & CLONE_PARENT_SETTID)))
		return -38;
	return call((long)(c->flags | c->exit_signal), (long)(c->stack + c->stack_size),
		    (long)(pidfd ? c->pidfd : c->parent_tid), (long)c->child_tid, (long)c->tls);
}

static long clone_at_old(long flags, long stack, long parent, long child, long tls)
{
	return clone_at(SYS_clone, flags, stack, parent, child, tls);
}

static long clone_simply(const struct clone_args *c, size_t size)
{
	long ret = clone_at(SYS_clone3, (long)c, (long)size, 0, 0, 0);

	return ret == -38 /* ENOSYS */ ? clone_old(clone_at_old, c) : ret;
}

/*
 * Calls with the recorded TID in a replay (a cell has a PID namespace of its own), or with another one, which the
 * program is shown as the recorded one.
 */
static long clone_in_cell(clone_call *call, struct clone_args *c)
{
	pid_t tid = G.mode == SHIM_REPLAY && self ? self->born.want_tid : 0;
	long ret;

	if (tid > 0 && !G.pid_ns) {
		c->set_tid = (uint64_t)&self->born.want_tid;
		c->set_tid_size = 1;
	}
	ret = clone_again(call, c);
	if (ret <= 0 || tid <= 0)
		return ret;
	if (c->flags & CLONE_PARENT_SETTID)
		pid_ns_show((int *)c->parent_tid, tid);
	if (c->flags & CLONE_CHILD_SETTID)
		pid_ns_show((int *)c->child_tid, tid);
	return tid;
}

/*
 * Stores what clone3 gets for a new thread, and the registers with which the thread starts, below its stack pointer,
 * which is returned.
 */
static uint64_t clone_state(long nr, const long *a, ucontext_t *uc, struct clone_args *c)
{
	static const int order[] = {REG_RIP, REG_RBX, REG_RBP, REG_R12, REG_R13, REG_R14, REG_R15,
				    REG_RDI, REG_RSI, REG_RDX, REG_R8,	REG_R9,	 REG_R10};
	greg_t *g = uc->uc_mcontext.gregs;
	uint64_t sp, n, *save;

	__builtin_memset(c, 0, sizeof(*c));
	if (nr == SYS_clone3) {
		n = (uint64_t)a[1] < sizeof(*c) ? (uint64_t)a[1] : sizeof(*c);
		__builtin_memcpy(c, (void *)a[0], n);
		sp = c->stack + c->stack_size;
	} else {
		c->flags = (uint64_t)a[0] & ~0xffull;
		c->exit_signal = (uint64_t)a[0] & 0xff;
		c->parent_tid = (uint64_t)a[2];
		c->child_tid = (uint64_t)a[3];
		c->tls = (uint64_t)a[4];
		c->stack = (uint64_t)a[1] - 4096;
		c->stack_size = 4096;
		sp = (uint64_t)a[1];
	}
	save = (uint64_t *)(sp - 256);
	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		save[i] = (uint64_t)g[order[i]];
	return sp;
}

long clone_thread(long nr, const long *a, ucontext_t *uc)
{
	struct clone_args c;

	clone_state(nr, a, uc, &c);
	return clone_in_cell(clone_simply, &c);
}

/*
 * A thread that libc makes for itself (timers with SIGEV_THREAD, aio_read and so on), or that the program makes by
 * clone, not by pthread_create. It first runs code of the recorder, on the recorder's own stack, so that what the
 * caller of clone has put on the new stack stays as it is.
 */
/* bytes from the caller's stack pointer down to where a signal may come before those registers are loaded */
#define ADOPT_ROOM 512

long clone_adopted_new(const struct clone_args *c, size_t size);
long clone_adopted_old(long flags, long stack, long parent, long child, long tls);
void thread_adopted(struct thr *c);
__asm__(".text\n"
	".type clone_adopted_old, @function\n"
	"clone_adopted_old:\n"
	"	mov %rcx, %r10\n"
	"	mov $56, %eax\n"
	"	jmp 2f\n"
	".size clone_adopted_old, .-clone_adopted_old\n"
	".type clone_adopted_new, @function\n"
	"clone_adopted_new:\n"
	"	mov $435, %eax\n"
	"2:	syscall\n"
	"	test %rax, %rax\n"
	"	jz 1f\n"
	"	ret\n"
	"1:	xor %ebp, %ebp\n"
	"	mov 512-264(%rsp), %rdi\n"
	"	mov %rsp, %rbx\n"
	"	mov 512-272(%rsp), %rsp\n"
	"	call thread_adopted\n"
	"	lea 512(%rbx), %rsp\n"
	"	jmp clone_goes_on\n"
	".size clone_adopted_new, .-clone_adopted_new\n");

static long clone_adopted(const struct clone_args *c, size_t size)
{
	long ret = clone_adopted_new(c, size);

	return ret == -38 /* ENOSYS */ ? clone_old(clone_adopted_old, c) : ret;
}

/* Is it a thread or a process that shares memory with its creator, which does not wait for it? */
static int is_adoptable(uint64_t flags)
{
	return (flags & (CLONE_VM | CLONE_VFORK)) == CLONE_VM;
}

static long adopt_thread(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	struct clone_args c;
	struct thr *child;
	uint64_t sp = clone_state(nr, a, uc, &c);

	child = thread_adopt_begin(t);
	if (!child)
		return -11; /* EAGAIN */
	if (t->born.want_tid < 0)
		return thread_adopt_end(t, child, -1);
	child->libc_start = (c.flags & CLONE_SETTLS) != 0;
	G.own_processes |= child->own_process = !(c.flags & CLONE_THREAD);
	/* libc's waits for its own threads make no events: the kernel clears their word, in a replay too */
	child->ctid = !child->libc_start && (c.flags & CLONE_CHILD_CLEARTID) ? (uint32_t *)c.child_tid : 0;
	if (!(c.flags & CLONE_SETTLS)) {
		c.flags |= CLONE_SETTLS;
		c.tls = adopt_tls(child);
		if (!c.tls)
			return thread_adopt_end(t, child, -11 /* EAGAIN */);
	}
	if (child->own_process && G.mode == SHIM_REPLAY) {
		c.flags = adopt_replay_flags(c.flags);
		c.exit_signal = 0;
	}
	((uint64_t *)(sp - 264))[0] = (uint64_t)child;
	((uint64_t *)(sp - 272))[0] = own_stack_steps(child);
	c.stack = sp - ADOPT_ROOM - 4096; /* the kernel uses its end only */
	c.stack_size = 4096;
	return thread_adopt_end(t, child, clone_in_cell(clone_adopted, &c));
}

long trap_clone(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	uint64_t flags, sp = 0;
	struct clone_args c = {0};

	if (nr == SYS_clone3) {
		uint64_t n = (uint64_t)a[1] < sizeof(c) ? (uint64_t)a[1] : sizeof(c);

		if ((uint64_t)a[1] < CLONE_ARGS_SIZE_VER0 || (uint64_t)a[1] > 4096)
			return (uint64_t)a[1] > 4096 ? -7 /* E2BIG */ : -22 /* EINVAL */;
		if (!sys_readable((const void *)a[0], n))
			return -14; /* EFAULT */
		__builtin_memcpy(&c, (void *)a[0], n);
		if (c.stack)
			sp = c.stack + c.stack_size;
	} else if (nr == SYS_clone) {
		c.flags = (uint64_t)a[0] & ~0xffull;
		c.exit_signal = (uint64_t)a[0] & 0xff;
		if (c.flags & CLONE_PIDFD)
			c.pidfd = (uint64_t)a[2];
		else
			c.parent_tid = (uint64_t)a[2];
		if (c.flags & CLONE_PARENT)
			c.exit_signal = 0;
		c.child_tid = (uint64_t)a[3];
		c.tls = (uint64_t)a[4];
		sp = (uint64_t)a[1];
	} else {
		c.flags = nr == SYS_vfork ? CLONE_VFORK | CLONE_VM : 0;
		c.exit_signal = SIGCHLD;
	}
	flags = c.flags;
	if ((flags & (CLONE_THREAD | CLONE_VM)) == CLONE_THREAD)
		return -22; /* EINVAL, as the kernel has it */
	if (uc && sp && is_adoptable(flags) && !(flags & CLONE_NEWPID) &&
	    (!(flags & CLONE_SETTLS) || adopt_is_thread_pointer(c.tls)))
		return adopt_thread(t, nr, a, uc);
	if (is_adoptable(flags) || (flags & CLONE_THREAD)) {
		char who[232];

		describe_caller(t->caller, who, sizeof(who));
		if (G.mode == SHIM_RECORD)
			note(RLOG_NOTE_REFUSED_SYSCALL, nr, who);
		return -38;
	}
	c.stack = c.stack_size = 0;
	return proc_fork(t, &c, sp, uc);
}
