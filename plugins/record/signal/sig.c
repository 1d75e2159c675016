/* SPDX-License-Identifier: MIT */
/*
 * sig.c: signals. The kernel only ever sees the shim's handlers.
 *
 * An asynchronous signal runs the program's handler at an event of its thread: at once when the thread
 * is in a blocking call (between the two halves of that event), else when its next event is over. Its
 * SIGNAL record says where. Synchronous ones (a fault) run where they happen, in both modes.
 */
#include "record/signal/sig.h"
#include "record/chaos/interrupts.h"
#include "record/core/held.h"
#include "record/core/own_stack.h"
#include "record/core/scrub.h"
#include "record/core/sigaction.h"
#include "record/core/state.h"
#include "record/event/ev.h"
#include "record/event/hooks.h"
#include "record/event/sig_queue.h"
#include "record/event/turn.h"
#include "record/input/input.h"
#include "record/preempt/interrupt.h"
#include "record/proc/thread.h"
#include "record/sched/gil.h"
#include "record/sched/wait.h"
#include "record/shm/group.h"
#include "record/store/log.h"
#include "record/sync/heap_detect.h"

#define SIG_CANCEL 32 /* glibc's */

/*
 * What a handler gets, and where its stack begins. In a trap, and where a computation was interrupted, that is right
 * below what the program has there. In a wrapper it is well below the recorder's frames, which differ between recording
 * and replay.
 */
struct handler_frame {
	siginfo_t info;
	ucontext_t uc;
};
#define FRAME_MARGIN 2048u
#define WIPE_MAX 16384u /* the frame is on another stack, if it is farther away */
#define FRAME_DEPTH 31u /* bits of its address that say in the log how many handlers were running */
#define FRAME_WAITS 32u /* ... and whether it ran in a wait, and the next record of another kind is that wait's */

/*
 * mask: the handler's, from when its stack is in use. All signals that come are blocked before and after: of one that
 * comes while this thread is on another stack, the kernel would put the frame on top of the program's signal stack,
 * where *info and *uc are. daemon/visibility/signal_handlers.c recognises the call by the code around it. The name is
 * what a backtrace shows. slot: own_stack.h. Of the recorder's registers the handler sees no other either: what it
 * saves of them on its stack is to be the same in a replay.
 */
#define SAVE(reg, at) "	push %" #reg "\n	.cfi_adjust_cfa_offset 8\n	.cfi_offset " #reg ", -" #at "\n"
#define SAVE_ALL SAVE(rbp, 16) SAVE(rbx, 24) SAVE(r12, 32) SAVE(r13, 40) SAVE(r14, 48) SAVE(r15, 56)
#define CFA_BY_SLOT                                                                                                    \
	"	.cfi_escape 0x0f, 5, 0x76, 0, 0x06, 0x23, 56\n" /* def_cfa_expression: breg6 0, deref, plus_uconst 56  \
								 */
#define WIPE_SAVED                                                                                                     \
	"	xor %ebx, %ebx\n	xor %r12d, %r12d\n	xor %r13d, %r13d\n	xor %r14d, %r14d\n	xor "                              \
	"%r15d, %r15d\n"
#define RESTORE_ALL                                                                                                    \
	"	mov (%rbp), %rsp\n	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop "                                         \
	"%rbx\n	pop %rbp\n"
void signal_handler_called(int sig, void *info, void *uc, void *sp, void (*fn)(int, siginfo_t *, void *),
			   const uint64_t *mask, uint64_t *slot);
__attribute__((used)) static const uint64_t every_signal = ~SIG_BIT(SIGTRAP); /* sigaction.h, SIG_OURS */
#define SET_MASK "	mov $8, %r10d\n	mov $14, %eax\n	syscall\n" /* rt_sigprocmask(edi, rsi, rdx, 8) */
__asm__(".text\n.type signal_handler_called, @function\n"
	"signal_handler_called:\n"
	"	.cfi_startproc\n	.cfi_signal_frame\n"
	"	mov 8(%rsp), %rax\n" SAVE_ALL "	mov %rsp, (%rax)\n"
	"	mov %rax, %rbp\n" CFA_BY_SLOT WIPE_SAVED "	mov %rcx, %rsp\n"
	"	push %rdi\n	push %rsi\n	push %rdx\n	push %rcx\n"
	"	mov $2, %edi\n	mov %r9, %rsi\n	xor %edx, %edx\n" /* SIG_SETMASK */
	SET_MASK "	pop %rcx\n	pop %rdx\n	pop %rsi\n	pop %rdi\n"
	"	xor %eax, %eax\n	xor %r9d, %r9d\n	xor %r10d, %r10d\n	xor %r11d, %r11d\n"
	"	mov %rcx, %rsp\n"
	"	call *%r8\n"
	"	xor %edi, %edi\n	lea every_signal(%rip), %rsi\n	xor %edx, %edx\n" /* SIG_BLOCK */
	SET_MASK RESTORE_ALL "	.cfi_def_cfa rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size signal_handler_called, .-signal_handler_called\n");

static uint64_t frame_at(uint64_t sp)
{
	return (sp - sizeof(struct handler_frame)) & ~63ull;
}

/* Where the handler of a signal runs that the recorder delivers, of which `here` is a frame; in a wait, that of the
 * wait. */
static uint64_t frame_for(const struct thr *t, int sig, const void *here)
{
	uint64_t sp = own_stack_program_sp(t, here);
	uint64_t end = program_stack_end(t, sp ? sp : (uint64_t)here);

	if ((sig_user[sig].flags & SA_ONSTACK) && end)
		return frame_at(end);
	return frame_at(sp ? sp - RED_ZONE : (uint64_t)here - FRAME_MARGIN);
}

/* What is blocked while the handler of a signal runs, as the program sees it, and as it is. */
static uint64_t blocks(int sig)
{
	return sig_user[sig].mask | ((sig_user[sig].flags & SA_NODEFER) ? 0 : SIG_BIT(sig));
}

static uint64_t handler_mask(int sig)
{
	return blocks(sig) & ~sig_never_blocked();
}

/* On the same stack, as far as can be told, and below it */
#define SAME_STACK (1u << 20)

static int is_below(const void *here, uint64_t sp)
{
	return sp - (uint64_t)here < SAME_STACK;
}

/*
 * What is dead between the shim's frames and the handler's differs between recording and replay. A collector of garbage
 * that stops threads by a signal, and takes for a pointer what it finds on their stacks, looks there too.
 */
static __attribute__((always_inline)) inline void wipe_above(const struct handler_frame *f)
{
	uint64_t n = ((uint64_t)__builtin_frame_address(0) - (uint64_t)f) & ~7ull;

	if (n < WIPE_MAX)
		scrub_stack_bytes(n);
}

/*
 * Calls the program's handler for an asynchronous signal. uc: the kernel's, in whose frame this is, or NULL. call: see
 * sig_own_call. The handler may change the registers and the mask that it finds.
 */
static void call_handler(struct thr *t, int sig, const siginfo_t *si, uint64_t sp, ucontext_t *uc, ucontext_t *call)
{
	struct handler_frame *f = (struct handler_frame *)sp;
	struct ksigaction *u = &sig_user[sig];
	void (*fn)(int, siginfo_t *, void *) = u->handler;
	int depth = t->depth, blocking = t->blocking, made_event = t->made_event;
	int cancellable = t->cancel.waits, unrecorded = t->unrecorded;
	enum wait_kind internal = t->internal;
	const void *waits[2] = {t->waits[0], t->waits[1]};
	uint64_t mask = handler_mask(sig), old = 0, was, hidden = t->hidden, *slot;
	uint64_t caller = t->caller;
	const uint64_t *wait_mask = t->wait_mask;
	ucontext_t *own_uc = t->stack.uc;
	int call_over = t->trap.over, in_trap = t->trap.in, restarts = (u->flags & SA_RESTART) != 0;

	if (is_below(__builtin_frame_address(0), sp + sizeof(*f) + 256))
		shim_fail("a signal handler's stack is not where it was when recording");
	if (u->flags & SA_RESETHAND) {
		u->handler = (void *)0;
		sig_apply(sig);
	}
	t->internal = 0;
	t->blocking = t->unrecorded = 0; /* what comes from here on waits for the handler's events */
	raw4(SYS_rt_sigprocmask, SIG_BLOCK, &every_signal, &was, 8);
	old = was;
	if (uc)
		__builtin_memcpy(&old, &uc->uc_sigmask, 8);
	mask |= (wait_mask ? *wait_mask : old) & ~sig_never_blocked();
	t->hidden |= (blocks(sig) | (wait_mask ? *wait_mask : 0)) & sig_never_blocked();
	t->wait_mask = 0;
	t->handlers++;
	wipe_above(f);
	f->info = *si;
	__builtin_memset(&f->uc, 0, sizeof(f->uc));
	f->uc.uc_mcontext.gregs[REG_RSP] = (greg_t)(f + 1);
	sig_show_state(t, restarts, call, f->uc.uc_mcontext.gregs);
	t->trap.in = 0;
	__builtin_memcpy(&f->uc.uc_sigmask, &old, 8);
	program_stack_save(t, &f->uc.uc_stack);
	own_stack_leave(t, __builtin_frame_address(0));
	/* a cancellation unwinds to the wait's own handler (cancel.h) before the program goes on */
	if (!cancellable || sig != SIG_CANCEL) {
		t->cancel.waits = 0;
		t->depth = 0;
		t->selector = 1;
	}
	slot = own_stack_slot(t, sp);
	signal_handler_called(sig, &f->info, &f->uc, f, fn, &mask, slot);
	own_stack_slot_done(slot);
	__builtin_memcpy(&old, &f->uc.uc_sigmask, 8);
	old &= ~sig_never_blocked();
	if (sig == SIG_CANCEL && self->cancel.late) {
		self->cancel.late = 0;
		raw4(SYS_rt_sigprocmask, SIG_SETMASK, uc ? &was : &old, 0, 8);
		pthread_testcancel();
	}
	t = self;
	own_stack_back(t, __builtin_frame_address(0));
	program_stack_restore(t, &f->uc.uc_stack, (uint64_t)f);
	t->stack.uc = own_uc;
	t->trap.over = call_over;
	t->trap.in = in_trap;
	t->handlers--;
	t->selector = 0;
	t->depth = depth;
	t->blocking = blocking;
	t->unrecorded = unrecorded;
	t->internal = internal;
	t->waits[0] = waits[0];
	t->waits[1] = waits[1];
	t->cancel.waits = cancellable;
	t->made_event = made_event;
	t->caller = caller;
	t->wait_mask = wait_mask;
	t->hidden = hidden;
	held_release(t);
	sig_take_state(t, restarts, call, &f->uc, uc);
	if (uc)
		__builtin_memcpy(&uc->uc_sigmask, &old, 8);
	raw4(SYS_rt_sigprocmask, SIG_SETMASK, uc ? &was : &old, 0, 8);
	t->trap.mask_set = 1;
}

/* Payload: siginfo_t, address of the handler's stack and in its low bits how many run already, and FRAME_WAITS. */
static void rec_signal(struct thr *t, int sig, const siginfo_t *si, uint64_t sp)
{
	uint64_t what = (uint64_t)sig;
	struct {
		siginfo_t si;
		uint64_t place;
	} p = {*si, sp | (t->handlers & FRAME_DEPTH) | (t->unrecorded ? FRAME_WAITS : 0)};

	_Static_assert(sizeof(p) == sizeof(*si) + 8, "no padding");
	ev_bytes(t, RLOG_SIGNAL, &what, 1, &p, sizeof(p));
}

/*
 * The mask has changed since the signal came (its handler runs, say): the kernel keeps it until the program lets it in,
 * waits for it or asks for it. 0: it has taken it.
 */
static long give_back(const struct thr *t, const siginfo_t *si)
{
	return raw4(SYS_rt_tgsigqueueinfo, raw0(SYS_getpid), t->tid, si->si_signo, si);
}

void sig_deliver_pending(struct thr *t)
{
	if (t->preempt.armed && !t->preempt.due)
		interrupt_disarm(t);
	while (t->pending) {
		siginfo_t si;
		uint64_t all = ~SIG_OURS, old;

		raw4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &old, 8);
		sig_queue_take(t, &si);
		raw4(SYS_rt_sigprocmask, SIG_SETMASK, &old, 0, 8);
		if (!sig_has_handler(si.si_signo)) {
			if (!sig_user[si.si_signo].handler) /* SA_RESETHAND: what the kernel does */
				raw2(SYS_tkill, t->tid, si.si_signo);
			continue;
		}
		if ((old & SIG_BIT(si.si_signo)) && !give_back(t, &si))
			continue;
		uint64_t sp = frame_for(t, si.si_signo, __builtin_frame_address(0));

		rec_signal(t, si.si_signo, &si, sp);
		call_handler(t, si.si_signo, &si, sp, 0, sig_own_call(t, __builtin_frame_address(0)));
		t = self;
	}
}

/*
 * Is the SIGNAL that comes next one for here? Not if fewer handlers ran then: it came after the last event of one that
 * is still running, and is handled when that has returned. And not where an event ends (waits: 0), if it came in the
 * wait of the next: code of the program runs before that.
 */
static int is_for_here(const struct thr *t, int waits)
{
	const uint8_t *p = t->log.rd;
	struct rlog_rec r;
	siginfo_t si;
	uint64_t place;

	if (rlog_next(shim_kinds(), &p, t->log.rd_end, &r) != RLOG_READ_OK ||
	    r.payload_len != sizeof(si) + sizeof(place))
		shim_fail("the record of a signal is damaged");
	__builtin_memcpy(&place, r.payload + sizeof(si), sizeof(place));
	return ((place ^ t->handlers) & FRAME_DEPTH) == 0 && (waits || !(place & FRAME_WAITS));
}

static int deliver_replay(struct thr *t, int waits)
{
	struct rlog_rec r;
	siginfo_t si;
	uint64_t sp;

	/* first without turn_peek: a thread that runs in a donated turn is not at its next event yet */
	if (t->log.rd >= t->log.rd_end || (*t->log.rd != RLOG_SIGNAL && *t->log.rd != RLOG_YIELD))
		return 0;
	/* looks only: a yield ahead belongs to the next call, and code of the program may run before that */
	if (!turn_next_is(t, RLOG_SIGNAL) || !is_for_here(t, waits))
		return 0;
	turn_take(t, &r, RLOG_SIGNAL);
	__builtin_memcpy(&si, r.payload, sizeof(si));
	__builtin_memcpy(&sp, r.payload + sizeof(si), 8);
	turn_done(t);
	if (!sig_has_handler((int)r.op[0]))
		turn_diverge(t, &r, RLOG_SIGNAL, 0, 0, "a signal for which there is no handler");
	call_handler(t, (int)r.op[0], &si, sp & ~(uint64_t)(FRAME_DEPTH | FRAME_WAITS), 0,
		     sig_own_call(t, __builtin_frame_address(0)));
	return 1;
}

int sig_deliver_replay(struct thr *t)
{
	return deliver_replay(t, 0);
}

int sig_deliver_waiting(struct thr *t)
{
	return deliver_replay(t, 1);
}

/* The default action of a signal that was sent, as kill -SEGV does: the log ends where it came. */
static void die_of(int sig)
{
	detect_look_at_all();
	written_look();
	sig_set_default(sig);
	raw3(SYS_tgkill, raw0(SYS_getpid), raw0(SYS_gettid), sig);
}

/* The thread died of what it did itself: the last thing on its timeline. */
static void crash(struct thr *t, int sig, siginfo_t *si, ucontext_t *uc)
{
	uint64_t op[4] = {(uint64_t)sig, (uint64_t)(uint32_t)si->si_code, (uint64_t)si->si_addr,
			  (uint64_t)uc->uc_mcontext.gregs[REG_RIP]};
	struct rlog_rec r;

	if (t && t->own_process && G.mode != SHIM_OFF) { /* the end of this one only */
		t->selector = 0;
		if (G.mode == SHIM_REPLAY)
			adopt_exit(t, SYS_exit, 0);
		thread_exit_event(t);
	} else if (t && G.mode == SHIM_RECORD) {
		t->depth++;
		detect_look_at_all();
		written_look();
		ev_bytes(t, RLOG_CRASH, op, 4, 0, 0);
		group_leave();
	} else if (t && G.mode == SHIM_REPLAY) {
		t->selector = 0;
		t->caller = op[3];
		t->depth++;
		if (t->undone) /* the crash is inside the event's real call */
			turn_done(t);
		if (!turn_peek(t, &r) || r.kind != RLOG_CRASH)
			turn_diverge(t, turn_peek(t, &r) ? &r : 0, RLOG_CRASH, op, 4,
				     "a crash that did not happen when recording");
		turn_take(t, &r, RLOG_CRASH);
		if (r.op[3] != op[3] || r.op[0] != op[0])
			turn_diverge(t, &r, RLOG_CRASH, op, 4, "a crash at another place");
		turn_done(t);
		turn_end(t, REPLAY_ENDED);
	}
	sig_set_default(sig); /* it does it again */
	if (sig == SIGTRAP ||
	    sig != si->si_signo) /* but an int3 is after it by now; or this is of the handler's stack */
		raw3(SYS_tgkill, raw0(SYS_getpid), raw0(SYS_gettid), sig);
}

_Noreturn void sig_die(struct thr *t, int sig)
{
	ucontext_t uc = {0};
	siginfo_t si = {.si_signo = sig, .si_code = SI_USER};

	uc.uc_mcontext.gregs[REG_RIP] = (greg_t)t->caller;
	crash(t, sig, &si, &uc);
	for (;;)
		raw3(SYS_tgkill, raw0(SYS_getpid), raw0(SYS_gettid), sig);
}

/* ---- a handler of what the thread did itself: in place ---- */

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
/* The kernel says: it lets the program's stack grow, too. */
static int is_writable(uint64_t lo, uint64_t hi)
{
	for (uint64_t at = lo; at < hi; at = (at & ~4095ull) + 4096)
		if (raw4(SYS_rt_sigprocmask, SIG_BLOCK, 0, at, 8))
			return 0;
	return 1;
}

static void copy_context(ucontext_t *to, const ucontext_t *from, void *fp, uint64_t n)
{
	__builtin_memcpy(fp, from->uc_mcontext.fpregs, n);
	__builtin_memcpy(to->uc_mcontext.gregs, from->uc_mcontext.gregs, sizeof(to->uc_mcontext.gregs));
	__builtin_memcpy(&to->uc_sigmask, &from->uc_sigmask, 8);
}

/*
 * Runs fn where the kernel would: on the program's stack, with a copy of what the kernel has put on the recorder's, and
 * what it changes there is changed. -1: there is no room on that stack.
 */
static int signal_handler_in_place(struct thr *t, int sig, siginfo_t *si, ucontext_t *uc,
				   void (*fn)(int, siginfo_t *, void *))
{
	uint64_t sp = (uint64_t)uc->uc_mcontext.gregs[REG_RSP], n = fp_state_bytes(uc->uc_mcontext.fpregs), end, fp;
	uint64_t hidden = t->hidden, mask = ~sig_never_blocked(), *slot;
	ucontext_t *own_uc = t->stack.uc;
	struct handler_frame *f;

	own_stack_enter(t, uc);
	end = (sig_user[sig].flags & SA_ONSTACK) ? program_stack_end(t, sp) : 0;
	end = end ? end : sp - RED_ZONE;
	fp = (end - n) & ~63ull;
	f = (struct handler_frame *)frame_at(fp);
	if (!is_writable((uint64_t)f - 8, end))
		return -1;
	f->info = *si;
	__builtin_memset(&f->uc, 0, sizeof(f->uc));
	__builtin_memcpy(&f->uc, uc, KERNEL_UC);
	copy_context(&f->uc, uc, (void *)fp, n);
	f->uc.uc_mcontext.fpregs = n ? (void *)fp : 0;
	program_stack_save(t, &f->uc.uc_stack);
	t->hidden |= blocks(sig) & sig_never_blocked();
	own_stack_leave(t, __builtin_frame_address(0));
	slot = own_stack_slot(t, (uint64_t)f);
	signal_handler_runs(sig, &f->info, &f->uc, f, fn, slot);
	own_stack_slot_done(slot);
	t = self;
	own_stack_back(t, __builtin_frame_address(0));
	program_stack_restore(t, &f->uc.uc_stack, (uint64_t)f);
	t->stack.uc = own_uc;
	t->hidden = hidden;
	held_release(t);
	if (n)
		__builtin_memcpy(uc->uc_mcontext.fpregs, (void *)fp, n);
	copy_context(uc, &f->uc, uc->uc_mcontext.fpregs, 0);
	*(uint64_t *)&uc->uc_sigmask &= mask;
	return 0;
}

int sig_call_sync(struct thr *t, int sig, siginfo_t *si, ucontext_t *uc)
{
	void (*fn)(int, siginfo_t *, void *) = sig_user[sig].handler;
	int failed;

	if (!sig_has_handler(sig) || (t->hidden & SIG_BIT(sig)))
		return 0;
	if (sig_user[sig].flags & SA_RESETHAND)
		sig_user[sig].handler = (void *)0;
	t->depth = 0;
	t->selector = 1;
	failed = signal_handler_in_place(t, sig, si, uc, fn);
	t = self;
	t->selector = 0;
	t->depth = 1;
	return !failed;
}

static void queue(struct thr *t, int sig, const siginfo_t *si)
{
	uint64_t all = ~SIG_OURS, old;

	if (likely(sig != SIG_PREEMPT)) { /* whose handler is the recorder's, and does not block the others */
		sig_queue_put(t, si);
		return;
	}
	raw4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &old, 8);
	sig_queue_put(t, si);
	raw4(SYS_rt_sigprocmask, SIG_SETMASK, &old, 0, 8);
}

void sig_entry(int sig, siginfo_t *si, void *ucv)
{
	struct thr *t = self;

	if (sig == SIGTRAP && (G.mode == SHIM_REPLAY ? seek_trap(si, ucv) : step_trap(si, ucv) || hot_trap(si, ucv)))
		return;
	if (sig == SIGSEGV && si->si_code == SEGV_ACCERR &&
	    pages_fault(t, (uint64_t)si->si_addr, ((ucontext_t *)ucv)->uc_mcontext.gregs[REG_ERR] & 2))
		return;
	if (sig == SIGSEGV && si->si_code == SI_KERNEL && tsc_fault(ucv))
		return;
	if (sig == SIGBUS && si->si_code == BUS_ADRERR && pages_past_end(t, (uint64_t)si->si_addr, ucv))
		return;
	if (sig_is_sync(sig) && si->si_code > 0) {
		struct ksigaction *u = &sig_user[sig];
		void (*fn)(int, siginfo_t *, void *) = u->handler;

		if (!sig_has_handler(sig) || (t && (t->depth || (t->hidden & SIG_BIT(sig))))) {
			crash(t, sig, si, ucv);
			return;
		}
		if (u->flags & SA_RESETHAND)
			u->handler = (void *)0;
		if (!t)
			fn(sig, si, ucv);
		else if (signal_handler_in_place(t, sig, si, ucv, fn))
			crash(t, SIGSEGV, si, ucv);
		return;
	}
	if (held_keep(t, si))
		return;
	if (!sig_has_handler(sig)) {
		if ((sig_is_sync(sig) || sig == SIGSYS) && !sig_user[sig].handler)
			die_of(sig);
		return;
	}
	if (!t || G.mode == SHIM_OFF) {
		uint64_t mask = handler_mask(sig) | *(uint64_t *)&((ucontext_t *)ucv)->uc_sigmask;

		raw4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
		sig_user[sig].handler(sig, si, ucv);
		return;
	}
	if (G.mode != SHIM_RECORD || setxid_signal(t, sig, si, ucv))
		return;
	if (t->blocking) {
		const ucontext_t *uc = ucv;
		const void *wait = (void *)uc->uc_mcontext.gregs[REG_RSP];
		uint64_t sp = frame_for(t, sig, wait);
		ucontext_t *call = sig_own_call(t, wait);

		own_stack_enter(t, ucv);
		t->blocking = 0; /* SIG_PREEMPT's handler blocks no signals, and nothing blocks that */
		if (G.serial)
			gil_unblock(t);
		rec_signal(t, sig, si, sp);
		call_handler(t, sig, si, sp, ucv, call);
		t = self;
		if (G.serial) {
			t->clean = 0;
			gil_block(t);
		} else {
			wait_lets_signals_in(t); /* those that came while it ran: the call may wait for long */
		}
		self->interrupted |= INTERRUPTED_BY_HANDLER;
		return;
	}
	queue(t, sig, si);
	interrupt_late(t);
}
