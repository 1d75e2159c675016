/* SPDX-License-Identifier: MIT */
/*
 * trap.c: the SIGSYS handler, how it is armed, and clone.
 *
 * Recording: Syscall User Dispatch (Documentation/admin-guide/syscall-user-dispatch.rst). It is per
 * thread and not inherited, so exec and vfork children start without it. Calls from the shim's text
 * always pass; calls from elsewhere pass while the thread's selector byte is 0.
 * Replaying: a seccomp filter, which CRIU can carry over a checkpoint; no selector, so the handler
 * itself runs the call when the thread is inside the shim (depth > 0). With REPLAY_F_DISPATCH, which an ordinary user's
 * replay has, Syscall User Dispatch does the same: its selector byte is always 1.
 */
#include "record/chaos/chaos.h"
#include "record/core/own_stack.h"
#include "record/sys/sys.h"

#include <cpuid.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <ucontext.h>

static const char always = 1;

static int dispatch(const volatile char *selector)
{
	return (int)raw6(SYS_prctl, 59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1, (long)G.text_lo,
			 (long)(G.text_hi - G.text_lo), (long)selector, 0);
}

void arm_replay_thread(void)
{
	uint64_t sigsys = SIG_BIT(SIGSYS);

	if (!(G.ctl->flags & REPLAY_F_DISPATCH))
		return;
	/* libc may have begun the thread with all signals blocked */
	raw4(SYS_rt_sigprocmask, SIG_UNBLOCK, &sigsys, 0, 8);
	if (dispatch(&always) < 0)
		shim_fail("cannot switch Syscall User Dispatch on");
}

void arm_thread(struct thr *t)
{
	int r = dispatch(&t->selector);

	if (r < 0) {
		G.mode = SHIM_OFF;
		note(RLOG_NOTE_LOG_FAILED, -r, "prctl(PR_SET_SYSCALL_USER_DISPATCH)");
	}
}

static void install_filter(void)
{
	uint32_t hi = (uint32_t)(G.text_lo >> 32), lo = (uint32_t)G.text_lo, end = (uint32_t)G.text_hi;
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, hi, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, lo, 0, 1),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, end, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_restart_syscall, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof(f) / sizeof(f[0]), f};

	raw6(SYS_prctl, 38 /* PR_SET_NO_NEW_PRIVS */, 1, 0, 0, 0, 0);
	if (raw3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		shim_fail("cannot install the seccomp filter");
}

void trap_start_replay(void)
{
	if (G.ctl->flags & REPLAY_F_DISPATCH)
		arm_replay_thread();
	else
		install_filter();
}

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
 * The kernel gives the PIDs of a killed process's threads back some time after its parent has waited for it, and
 * tells nobody: a replay that starts anew at once may find one taken.
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

static long clone_simply(const struct clone_args *c, size_t size)
{
	return clone_at(SYS_clone3, (long)c, (long)size, 0, 0, 0);
}

/* With the recorded TID (a cell has its own PID namespace), or what is that for the program. */
static long clone_in_cell(clone_call *call, struct clone_args *c)
{
	pid_t tid = G.mode == SHIM_REPLAY && self ? self->want_tid : 0;
	long ret;

	if (tid > 0 && !G.pid_ns) {
		c->set_tid = (uint64_t)&self->want_tid;
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

/* What clone3 gets for a new thread, and the registers that it starts with, below its stack pointer, which it gives. */
static uint64_t clone_state(long nr, const long *a, ucontext_t *uc, struct clone_args *c)
{
	static const int order[] = {REG_RIP, REG_RBX, REG_RBP, REG_R12, REG_R13, REG_R14, REG_R15,
				    REG_RDI, REG_RSI, REG_RDX, REG_R8, REG_R9, REG_R10};
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

static long clone_thread(long nr, const long *a, ucontext_t *uc)
{
	struct clone_args c;

	clone_state(nr, a, uc, &c);
	return clone_in_cell(clone_simply, &c);
}

/*
 * A thread that libc makes for itself (timers with SIGEV_THREAD, aio_read and so on), or the program: not through
 * pthread_create, but by the same call. Its first steps are the recorder's, below what the clone's caller has put on the
 * new stack; they run on the recorder's own.
 */
#define ADOPT_ROOM 512 /* from the caller's stack pointer down to where a signal may come before those */

long clone_adopted(const struct clone_args *c, size_t size);
void thread_adopted(struct thr *c);
__asm__(".text\n"
	".type clone_adopted, @function\n"
	"clone_adopted:\n"
	"	mov $435, %eax\n"
	"	syscall\n"
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
	".size clone_adopted, .-clone_adopted\n");

/* Those that share memory, and go on beside their creator */
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
	if (t->want_tid < 0)
		return thread_adopt_end(t, child, -1);
	child->libc_start = (c.flags & CLONE_SETTLS) != 0;
	G.own_processes |= child->own_process = !(c.flags & CLONE_THREAD);
	/* libc's waits for its threads are no events: there the kernel's clearing counts, in a replay too */
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
	c.stack = sp - ADOPT_ROOM - 4096; /* the kernel only wants its end */
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

/* What vector registers there are: 1: AVX's; 2: AVX-512's too. */
#define AVX_STATE 0x06u /* in XCR0: of SSE and AVX */
#define AVX512_STATE 0xe0u /* of the opmasks, the upper halves of zmm0 to 15, zmm16 to 31 */
#define XGETBV_IN_USE 4u /* of CPUID(13, 1): XGETBV(1), which tells what is not in its initial state */
__attribute__((used)) static uint32_t vectors;

void trap_find_vectors(void)
{
	uint32_t a, b, c, d, enabled;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_AVX))
		return;
	__asm__("xgetbv" : "=a"(enabled) : "c"(0) : "edx");
	if ((enabled & AVX_STATE) != AVX_STATE)
		return;
	vectors = 1;
	if ((enabled & AVX512_STATE) == AVX512_STATE && __get_cpuid_count(13, 1, &a, &b, &c, &d) && (a & XGETBV_IN_USE))
		vectors = 2;
}

/* For XRSTOR: an area, all of whose components are in their initial state (Intel's manual, volume 1, 13.8). */
__attribute__((used, aligned(64))) static const uint8_t initial_state[576];

/*
 * From below the return address down, without a frame of its own; no register that a caller wants kept. Those that a
 * caller wants not kept are wiped too: the next trap puts them on the stack.
 */
#define WIPE_XMM(n) "	pxor %xmm" #n ", %xmm" #n "\n"
__asm__(".text\n"
	".globl scrub_stack\n"
	".hidden scrub_stack\n"
	".type scrub_stack, @function\n"
	"scrub_stack:\n"
	"	.cfi_startproc\n" /* for who unwinds: view/outside.h */
	"	mov $3072, %edi\n"
	".globl scrub_stack_bytes\n"
	".hidden scrub_stack_bytes\n"
	".type scrub_stack_bytes, @function\n"
	"scrub_stack_bytes:\n"
	"	mov %rdi, %rcx\n"
	"	neg %rdi\n"
	"	add %rsp, %rdi\n"
	"	shr $3, %rcx\n"
	"	xor %eax, %eax\n"
	"	rep stosq\n"
	/* by SSE's instructions: VZEROALL would also say that they are not in use, which a signal's return takes back */
	WIPE_XMM(0) WIPE_XMM(1) WIPE_XMM(2) WIPE_XMM(3) WIPE_XMM(4) WIPE_XMM(5) WIPE_XMM(6) WIPE_XMM(7)
	WIPE_XMM(8) WIPE_XMM(9) WIPE_XMM(10) WIPE_XMM(11) WIPE_XMM(12) WIPE_XMM(13) WIPE_XMM(14) WIPE_XMM(15)
	"	cmpl $1, vectors(%rip)\n"
	"	jb 2f\n"
	"	vzeroupper\n"
	"	je 2f\n"
	"	mov $1, %ecx\n"
	"	xgetbv\n"
	"	and $0xe0, %eax\n" /* AVX512_STATE */
	"	jz 2f\n"
	"	xor %edx, %edx\n"
	"	xrstor initial_state(%rip)\n" /* those in use */
	"2:	xor %eax, %eax\n"
	"	xor %ecx, %ecx\n"
	"	xor %edx, %edx\n"
	"	xor %edi, %edi\n"
	"	xor %esi, %esi\n"
	"	xor %r8d, %r8d\n"
	"	xor %r9d, %r9d\n"
	"	xor %r10d, %r10d\n"
	"	xor %r11d, %r11d\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size scrub_stack, .-scrub_stack\n");

/* A call from inside the shim, or while nothing is recorded. */
static long run_native(long nr, const long *a, ucontext_t *uc)
{
	if (nr == SYS_rt_sigprocmask)
		return sig_procmask_native(a, uc);
	if (nr == SYS_clone3 && ((struct clone_args *)a[0])->stack)
		return clone_thread(nr, a, uc);
	if (nr == SYS_clone && a[1])
		return clone_thread(nr, a, uc);
	if (nr == SYS_futex)
		return turn_futex(self, a);
	if (nr == SYS_exit)
		thread_leave(a[0]);
	return raw6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

void trap_handler(int sig, siginfo_t *si, void *ucv)
{
	ucontext_t *uc = ucv;
	greg_t *g = uc->uc_mcontext.gregs;
	long a[6] = {g[REG_RDI], g[REG_RSI], g[REG_RDX], g[REG_R10], g[REG_R8], g[REG_R9]};
	long nr = si->si_syscall, ret;
	struct thr *t;

	if (si->si_code <= 0) { /* sent, as by kill() */
		sig_entry(sig, si, uc);
		return;
	}
	t = shim_enter();
	if (!t) {
		g[REG_RAX] = si->si_arch == AUDIT_ARCH_X86_64 ? run_native(nr, a, uc) : -38;
		return;
	}
	own_stack_enter(t, uc);
	t->caller = (uint64_t)g[REG_RIP];
	if (unlikely(G.chaos))
		step_cancel(uc);
	t->in_trap = 1;
	if (G.mode == SHIM_RECORD)
		traps_count(t->caller, nr);
	t->mask_set = 0;
	t->call_over = t->call_left = 0;
	ret = si->si_arch == AUDIT_ARCH_X86_64 ? sys_event(t, nr, a, uc) : sys_refuse_32bit(t, nr);
	if (!self->call_left)
		g[REG_RAX] = ret;
	self->call_over = 1;
	/* a fork child has another struct thr */
	shim_leave(self);
	self->in_trap = 0;
	if (unlikely(self->mask_set))
		raw4(SYS_rt_sigprocmask, SIG_BLOCK, 0, &uc->uc_sigmask, 8);
	if (unlikely(G.chaos) && self->made_event)
		step_begin(self, uc);
}
