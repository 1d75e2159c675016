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
#include "record/preempt/seek.h"
#include "record/proc/thread.h"
#include "record/sched/gil.h"
#include "record/sched/wait.h"
#include "record/shm/group.h"
#include "record/signal/sig_frames.h"
#include "record/store/log.h"
#include "record/sync/heap_detect.h"

void sig_deliver_pending(struct thr *t)
{
	if (t->preempt.armed && !t->preempt.due)
		interrupt_disarm(t);
	while (t->pending) {
		struct delivery d;
		uint64_t all = SIG_QUEUE_BLOCKS, old;
		int taken;

		raw4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &old, 8);
		taken = sig_queue_take(t, old | t->hidden, &d.si);
		if (!taken)
			sig_queue_keep(t);
		raw4(SYS_rt_sigprocmask, SIG_SETMASK, &old, 0, 8);
		if (!taken || !sig_has_action(t, &d))
			continue;
		d.frame = sig_frame_for(t, &d, __builtin_frame_address(0));
		sig_record(t, &d);
		sig_call_handlers(t, &d, 0, sig_own_call(t, __builtin_frame_address(0)));
		t = self;
	}
}

/* The default action of a signal that was sent, such as by kill -SEGV: the log ends where the signal came. */
static void die_of(int sig)
{
	detect_look_at_all();
	written_look();
	sig_set_default(sig);
	raw3(SYS_tgkill, raw0(SYS_getpid), raw0(SYS_gettid), sig);
}

/* The thread is killed by a fault of its own: this is the last event on its timeline. */
static void crash(struct thr *t, int sig, siginfo_t *si, ucontext_t *uc)
{
	uint64_t op[4] = {(uint64_t)sig, (uint64_t)(uint32_t)si->si_code, (uint64_t)si->si_addr,
			  (uint64_t)uc->uc_mcontext.gregs[REG_RIP]};
	struct rlog_rec r;

	if (t && t->own_process && G.mode != SHIM_OFF) { /* only this process ends */
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
	sig_set_default(sig); /* the instruction faults again */
	if (sig == SIGTRAP ||
	    sig != si->si_signo) /* but the PC is after an int3 already; or the fault is one of the handler's stack */
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

/*
 * Runs the handler of a fault. If there is no room for its frame, the kernel sends SIGSEGV instead, whose handler may
 * have a stack of its own. -1: SIGSEGV ends the program.
 */
static int handle_fault(struct thr *t, int sig, siginfo_t *si, ucontext_t *uc, const struct ksigaction *act)
{
	struct ksigaction segv;
	siginfo_t forced = {.si_signo = SIGSEGV, .si_code = SI_KERNEL};

	if (!sig_in_place(t, sig, si, uc, act))
		return 0;
	segv = sig_action_of(SIGSEGV);
	if (sig == SIGSEGV || !action_has_handler(&segv) || (t->hidden & SIG_BIT(SIGSEGV)))
		return -1;
	sig_action_called(SIGSEGV, &segv);
	return sig_in_place(t, SIGSEGV, &forced, uc, &segv);
}

int sig_call_sync(struct thr *t, int sig, siginfo_t *si, ucontext_t *uc)
{
	const struct ksigaction act = sig_action_of(sig);
	int failed;

	if (!action_has_handler(&act) || (t->hidden & SIG_BIT(sig)))
		return 0;
	sig_action_called(sig, &act);
	t->depth = 0;
	t->selector = 1;
	failed = handle_fault(t, sig, si, uc, &act);
	t = self;
	t->selector = 0;
	t->depth = 1;
	return !failed;
}

static void queue(struct thr *t, int sig, const siginfo_t *si)
{
	uint64_t all = SIG_QUEUE_BLOCKS, old;

	if (likely(sig != SIG_PREEMPT)) { /* its handler is the recorder's, and does not block the others */
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
	struct delivery d;

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
		const struct ksigaction asked = sig_action_of(sig);
		struct ksigaction act = asked;
		uint64_t fault = seek_fault(t, ucv, &act.handler);

		if (!action_has_handler(&asked) || (t && (t->depth || (t->hidden & SIG_BIT(sig))))) {
			crash(t, sig, si, ucv);
			return;
		}
		sig_action_called(sig, &asked);
		if (!t)
			act.handler(sig, si, ucv);
		else if (handle_fault(t, sig, si, ucv, &act))
			crash(t, SIGSEGV, si, ucv);
		else
			seek_fault_done(self, ucv, fault);
		return;
	}
	if (held_keep(t, si))
		return;
	d.act = sig_action_of(sig);
	if (!action_has_handler(&d.act)) {
		if ((sig_is_sync(sig) || sig == SIGSYS) && !d.act.handler)
			die_of(sig);
		return;
	}
	if (!t || G.mode == SHIM_OFF) {
		uint64_t mask = handler_mask(sig, &d.act) | *(uint64_t *)&((ucontext_t *)ucv)->uc_sigmask;

		raw4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
		d.act.handler(sig, si, ucv);
		return;
	}
	if (G.mode != SHIM_RECORD || setxid_signal(t, sig, si, ucv))
		return;
	if (t->blocking) {
		const ucontext_t *uc = ucv;
		const void *wait = (void *)uc->uc_mcontext.gregs[REG_RSP];
		ucontext_t *call = sig_own_call(t, wait);

		d.si = *si;
		d.frame = sig_frame_for(t, &d, wait);
		own_stack_enter(t, ucv);
		t->blocking = 0; /* SIG_PREEMPT's handler blocks no signals, and nothing blocks that */
		if (G.serial)
			gil_unblock(t);
		sig_record(t, &d);
		sig_call_handlers(t, &d, ucv, call);
		t = self;
		if (G.serial) {
			t->clean = 0;
			gil_block(t);
		} else {
			/* signals that came while the handler ran: the call may wait for long */
			wait_lets_signals_in(t);
		}
		self->interrupted |= INTERRUPTED_BY_HANDLER;
		return;
	}
	queue(t, sig, si);
	interrupt_late(t);
}
