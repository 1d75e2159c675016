/* SPDX-License-Identifier: MIT */
/* sig_in_place.c: runs the program's handler of a fault where the fault happened. */
#include "record/core/held.h"
#include "record/core/own_stack.h"
#include "record/core/sigaction.h"
#include "record/core/state.h"
#include "record/preempt/interrupt.h"
#include "record/shm/group.h"
#include "record/signal/sig.h"
#include "record/signal/sig_frames.h"

void signal_handler_runs(int sig, void *info, void *uc, void *sp, void (*fn)(int, siginfo_t *, void *), uint64_t *slot);
__asm__(".text\n.type signal_handler_runs, @function\n"
	"signal_handler_runs:\n"
	"	.cfi_startproc\n	.cfi_signal_frame\n" SAVE_ALL "	mov %rsp, (%r9)\n"
	"	mov %r9, %rbp\n" CFA_BY_SLOT WIPE_SAVED "	mov %rcx, %rsp\n"
	"	xor %eax, %eax\n	xor %r9d, %r9d\n	xor %r10d, %r10d\n	xor %r11d, %r11d\n"
	"	call *%r8\n" RESTORE_ALL "	.cfi_def_cfa rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size signal_handler_runs, .-signal_handler_runs\n");

#define KERNEL_UC (offsetof(ucontext_t, uc_sigmask) + 8)
/* Asks the kernel, which may also let the program's stack grow. */
static int writes_at(uint64_t at)
{
	return raw4(SYS_rt_sigprocmask, SIG_BLOCK, 0, at, 8) == 0;
}

/* Is the memory writable? The stack may be shared memory that this process has not accessed yet. */
static int is_writable(struct thr *t, uint64_t lo, uint64_t hi)
{
	for (uint64_t at = lo; at < hi; at = (at & ~4095ull) + 4096)
		if (!writes_at(at) && !(pages_fault(t, at, 1) && writes_at(at)))
			return 0;
	return 1;
}

static void copy_context(ucontext_t *to, const ucontext_t *from, void *fp, uint64_t n)
{
	__builtin_memcpy(fp, from->uc_mcontext.fpregs, n);
	__builtin_memcpy(to->uc_mcontext.gregs, from->uc_mcontext.gregs, sizeof(to->uc_mcontext.gregs));
	__builtin_memcpy(&to->uc_sigmask, &from->uc_sigmask, 8);
}

int sig_in_place(struct thr *t, int sig, siginfo_t *si, ucontext_t *uc, const struct ksigaction *act)
{
	uint64_t sp = (uint64_t)uc->uc_mcontext.gregs[REG_RSP], n = fp_state_bytes(uc->uc_mcontext.fpregs), end, fp;
	uint64_t *slot, *mask, segv = SIG_BIT(SIGSEGV);
	ucontext_t *own_uc = t->stack.uc;
	struct handler_frame *f;

	own_stack_enter(t, uc);
	end = (act->flags & SA_ONSTACK) ? program_stack_end(t, sp) : 0;
	end = end ? end : sp - RED_ZONE;
	fp = (end - n) & ~63ull;
	f = (struct handler_frame *)frame_at(fp);
	if (!is_writable(t, (uint64_t)f - 8, end))
		return -1;
	f->info = *si;
	__builtin_memset(&f->uc, 0, sizeof(f->uc));
	__builtin_memcpy(&f->uc, uc, KERNEL_UC);
	copy_context(&f->uc, uc, (void *)fp, n);
	mask = (uint64_t *)&f->uc.uc_sigmask;
	*mask |= t->hidden;
	f->uc.uc_mcontext.fpregs = n ? (void *)fp : 0;
	program_stack_save(t, &f->uc.uc_stack);
	t->hidden |= handler_blocks(sig, act) & sig_never_blocked();
	if (unlikely(G.group)) /* the handler may access shared memory, too */
		raw4(SYS_rt_sigprocmask, SIG_UNBLOCK, &segv, 0, 8);
	own_stack_leave(t, __builtin_frame_address(0));
	slot = own_stack_slot(t, (uint64_t)f);
	signal_handler_runs(sig, &f->info, &f->uc, f, act->handler, slot);
	own_stack_slot_done(slot);
	t = self;
	own_stack_back(t, __builtin_frame_address(0));
	program_stack_restore(t, &f->uc.uc_stack, (uint64_t)f);
	t->stack.uc = own_uc;
	t->hidden = *mask & sig_never_blocked(); /* the handler may have changed it */
	held_release(t);
	if (unlikely(t->pending))
		interrupt_late(t);
	if (n)
		__builtin_memcpy(uc->uc_mcontext.fpregs, (void *)fp, n);
	copy_context(uc, &f->uc, uc->uc_mcontext.fpregs, 0);
	*(uint64_t *)&uc->uc_sigmask &= ~sig_never_blocked();
	return 0;
}
