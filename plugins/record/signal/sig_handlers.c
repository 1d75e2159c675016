/* SPDX-License-Identifier: MIT */
/*
 * sig_handlers.c: calls the program's handlers of asynchronous signals, in both modes.
 *
 * As in the kernel, all pending signals that are not blocked are set up together: each gets a frame on the program's
 * stack. The first frame is as if the signal had interrupted the program; each further one is as if its signal had
 * interrupted the handler before it, at that handler's first instruction and with its mask. So the handler that was set
 * up last runs first, and runs to its end. A handler that leaves by longjmp also drops the handlers that it
 * interrupted.
 *
 * Their SIGNAL records follow each other in the log. The data of a frame stays in the recorder's memory until its
 * handler runs, because inside a wrapper the recorder's own frames may still be at its future place on the stack.
 */
#include "record/core/held.h"
#include "record/core/own_stack.h"
#include "record/core/scrub.h"
#include "record/core/sigaction.h"
#include "record/core/state.h"
#include "record/event/ev.h"
#include "record/event/sig_queue.h"
#include "record/event/turn.h"
#include "record/sched/wait.h"
#include "record/shm/group.h"
#include "record/signal/sig.h"
#include "record/signal/sig_frames.h"

#define SIG_CANCEL 32 /* glibc's */
#define FRAME_MARGIN 2048u
#define WIPE_MAX 16384u /* a frame that is further away is on another stack */
#define FRAME_DEPTH 31u /* bits of `frame` in the log: how many handlers were running */
/* ... and whether it ran in a wait, whose record is the next one of another kind */
#define FRAME_WAITS 32u

/* A signal that has been set up, and whose handler has yet to run. */
struct set_up {
	siginfo_t si;
	void (*fn)(int, siginfo_t *, void *);
	uint64_t frame; /* as in struct delivery */
	uint64_t before,
		/* before: the signal mask outside the handler, as the handler sees it; mask: while the handler runs */
		mask;
	uint64_t hidden; /* t->hidden outside of the handler */
	stack_t alt; /* the program's alternate stack at that time */
};

/* The set-up signals of a thread; the last one runs next. */
struct set_ups {
	uint64_t n;
	struct set_up of[(OWN_STACK_SETS - 8) / sizeof(struct set_up)];
};
#define SETS_MAX (sizeof(((struct set_ups *)0)->of) / sizeof(struct set_up))

/*
 * mask: the handler's, which is set once its stack is in use. Before and after, all signals are blocked: for one that
 * came while this thread is on another stack, the kernel would put the frame on top of the program's signal stack,
 * where *info and *uc are. daemon/visibility/signal_handlers.c recognises the call by the code around it. Backtraces
 * show the name of this function.
 */
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

/* See sig.h. */
uint64_t sig_frame_for(const struct thr *t, const struct delivery *d, const void *here)
{
	uint64_t sp = own_stack_program_sp(t, here);
	uint64_t end = program_stack_end(t, sp ? sp : (uint64_t)here);

	if ((d->act.flags & SA_ONSTACK) && end)
		return frame_at(end);
	return frame_at(sp ? sp - RED_ZONE : (uint64_t)here - FRAME_MARGIN);
}

/* On the same stack, as far as can be told, and below it */
#define SAME_STACK (1u << 20)

static int is_below(const void *here, uint64_t sp)
{
	return sp - (uint64_t)here < SAME_STACK;
}

/*
 * Clears the dead memory between the recorder's frames and the handler's, which differs between recording and replay: a
 * garbage collector that stops threads by a signal looks for pointers on their stacks, there as well.
 */
static __attribute__((always_inline)) inline void wipe_above(const struct handler_frame *f)
{
	uint64_t n = ((uint64_t)__builtin_frame_address(0) - (uint64_t)f) & ~7ull;

	if (n < WIPE_MAX)
		scrub_stack_bytes(n);
}

/*
 * The payload of a SIGNAL: the delivery, with the number of running handlers and FRAME_WAITS in the low bits of
 * `frame`.
 */
_Static_assert(sizeof(struct delivery) == sizeof(siginfo_t) + sizeof(struct ksigaction) + 8, "no padding");

#define CALL_ROOM 64u /* what signal_handler_called pushes below the frame */

void sig_record(struct thr *t, const struct delivery *d)
{
	uint64_t what = (uint64_t)d->si.si_signo;
	struct delivery p = *d;

	sig_action_called(d->si.si_signo, &d->act);
	p.frame |= (t->handlers & FRAME_DEPTH) | (t->unrecorded ? FRAME_WAITS : 0);
	ev_bytes(t, RLOG_SIGNAL, &what, 1, &p, sizeof(p));
	if (unlikely(G.group)) /* the stack may be shared memory; no fault can be handled while the signal is set up */
		pages_touch((char *)d->frame - CALL_ROOM, sizeof(struct handler_frame) + CALL_ROOM, 1);
}

/*
 * Is the next SIGNAL record to be handled here? Not if fewer handlers were running: it came after the last event of a
 * handler that is still running, and is handled when that has returned. And not where an event ends (waits: 0), if the
 * signal came in the wait of the next event: code of the program runs before that.
 */
static int is_for_here(const struct thr *t, int waits)
{
	const uint8_t *p = t->log.rd;
	struct rlog_rec r;
	uint64_t place;

	if (rlog_next(shim_kinds(), &p, t->log.rd_end, &r) != RLOG_READ_OK || r.payload_len != sizeof(struct delivery))
		shim_fail("the record of a signal is damaged");
	__builtin_memcpy(&place, r.payload + offsetof(struct delivery, frame), sizeof(place));
	return ((place ^ t->handlers) & FRAME_DEPTH) == 0 && (waits || !(place & FRAME_WAITS));
}

static void take_signal(struct thr *t, struct delivery *d)
{
	struct rlog_rec r;

	turn_take(t, &r, RLOG_SIGNAL);
	__builtin_memcpy(d, r.payload, sizeof(*d));
	d->frame &= ~(uint64_t)(FRAME_DEPTH | FRAME_WAITS);
	if (r.op[0] - 1 >= 64 || !action_has_handler(&d->act))
		shim_fail("the record of a signal is damaged");
	d->si.si_signo = (int)r.op[0];
	sig_action_called(d->si.si_signo, &d->act);
	turn_done(t);
}

/* There is none after SA_RESETHAND, or if the program has changed the action since the signal came. */
int sig_has_action(const struct thr *t, struct delivery *d)
{
	int sig = d->si.si_signo;

	d->act = sig_action_of(sig);
	if (!d->act.handler)
		raw3(SYS_tgkill, raw0(SYS_getpid), t->tid, sig); /* a replay may only signal its own process */
	return action_has_handler(&d->act);
}

/* The state of a thread that the first of these signals interrupts. */
struct interrupted {
	int depth, blocking, made_event, cancellable, unrecorded, call_over, in_trap;
	enum wait_kind internal;
	const void *waits[2];
	uint64_t caller;
	const uint64_t *wait_mask;
	ucontext_t *own_uc;
};

static struct interrupted interrupted_state(const struct thr *t)
{
	return (struct interrupted){
		.depth = t->depth,
		.blocking = t->blocking,
		.made_event = t->made_event,
		.cancellable = t->cancel.waits,
		.unrecorded = t->unrecorded,
		.call_over = t->trap.over,
		.in_trap = t->trap.in,
		.internal = t->internal,
		.waits = {t->waits[0], t->waits[1]},
		.caller = t->caller,
		.wait_mask = t->wait_mask,
		.own_uc = t->stack.uc,
	};
}

static void interrupted_goes_on(struct thr *t, const struct interrupted *was)
{
	t->stack.uc = was->own_uc;
	t->trap.over = was->call_over;
	t->trap.in = was->in_trap;
	t->depth = was->depth;
	t->blocking = was->blocking;
	t->unrecorded = was->unrecorded;
	t->internal = was->internal;
	t->waits[0] = was->waits[0];
	t->waits[1] = was->waits[1];
	t->cancel.waits = was->cancellable;
	t->made_event = was->made_event;
	t->caller = was->caller;
	t->wait_mask = was->wait_mask;
}

/* The frame for the next handler, once `top` has been set up. */
static uint64_t frame_on(const struct thr *t, const struct set_up *top, const struct ksigaction *act)
{
	uint64_t end = (act->flags & SA_ONSTACK) ? program_stack_end(t, top->frame) : 0;

	return frame_at(end ? end : top->frame - RED_ZONE);
}

/*
 * before: the signals that are blocked outside the handler, as it sees it; blocked: those that are blocked where it
 * begins.
 */
static void set_up(struct thr *t, struct set_up *s, const struct delivery *d, uint64_t before, uint64_t blocked)
{
	int sig = d->si.si_signo;

	s->si = d->si;
	s->fn = d->act.handler;
	s->frame = d->frame;
	s->before = before;
	s->mask = handler_mask(sig, &d->act) | blocked;
	s->hidden = t->hidden;
	t->hidden |= handler_blocks(sig, &d->act) & sig_never_blocked();
	t->handlers++;
	program_stack_save(t, &s->alt);
}

/* Queues the signals that are pending for this thread, and that the handler of s does not block. */
static void let_in(const struct set_up *s)
{
	uint64_t waiting = 0;

	if (raw2(SYS_rt_sigpending, &waiting, 8) || !(waiting & ~s->mask))
		return;
	raw4(SYS_rt_sigprocmask, SIG_SETMASK, &s->mask, 0, 8);
	raw4(SYS_rt_sigprocmask, SIG_BLOCK, &every_signal, 0, 8);
}

static int next_recorded(struct thr *t, const struct set_up *top, struct delivery *d)
{
	let_in(top);
	while (t->queue.n && sig_queue_take(t, top->mask | t->hidden, &d->si)) {
		if (!sig_has_action(t, d))
			continue;
		d->frame = frame_on(t, top, &d->act);
		sig_record(t, d);
		return 1;
	}
	return 0;
}

static int next_replayed(struct thr *t, struct delivery *d)
{
	if (!turn_next_is(t, RLOG_SIGNAL) || !is_for_here(t, 0))
		return 0;
	take_signal(t, d);
	return 1;
}

static int next(struct thr *t, const struct set_up *top, struct delivery *d)
{
	return G.mode == SHIM_REPLAY ? next_replayed(t, d) : next_recorded(t, top, d);
}

/* Sets up the next signals. If there is no room for more, they wait for an event of the handler. */
static void set_up_more(struct thr *t, struct set_ups *all)
{
	struct delivery d;

	while (all->n < SETS_MAX && next(t, &all->of[all->n - 1], &d)) {
		const struct set_up *top = &all->of[all->n - 1];

		set_up(t, &all->of[all->n], &d, top->mask, top->mask);
		all->n++;
	}
}

/* Shows a handler that was set up on top of `below` what it has interrupted: the first instruction of that handler. */
static void show_handler(const struct set_up *below, greg_t *g)
{
	struct handler_frame *f = (struct handler_frame *)below->frame;

	g[REG_RIP] = (greg_t)below->fn;
	g[REG_RSP] = (greg_t)f;
	g[REG_RDI] = below->si.si_signo;
	g[REG_RSI] = (greg_t)&f->info;
	g[REG_RDX] = (greg_t)&f->uc;
}

/*
 * Runs the handler of s. below: the handler on top of which it was set up; NULL: the program, as in `call`. Returns the
 * mask after it. outer: the mask of the recorder's handler in which this runs, or NULL.
 */
static uint64_t run_handler(struct thr *t, const struct set_up *s, const struct set_up *below, int restarts,
			    const ucontext_t *call, const struct interrupted *was, const uint64_t *outer)
{
	struct handler_frame *f = (struct handler_frame *)s->frame;
	uint64_t mask, hidden = s->hidden, *slot;
	void (*fn)(int, siginfo_t *, void *) = s->fn;
	int sig = s->si.si_signo;

	wipe_above(f);
	f->info = s->si;
	__builtin_memset(&f->uc, 0, sizeof(f->uc));
	f->uc.uc_mcontext.gregs[REG_RSP] = (greg_t)(f + 1);
	if (below)
		show_handler(below, f->uc.uc_mcontext.gregs);
	else
		sig_show_state(t, restarts, call, f->uc.uc_mcontext.gregs);
	mask = s->before | hidden;
	__builtin_memcpy(&f->uc.uc_sigmask, &mask, 8);
	mask = s->mask;
	f->uc.uc_stack.ss_sp = s->alt.ss_sp;
	f->uc.uc_stack.ss_flags = s->alt.ss_flags;
	f->uc.uc_stack.ss_size = s->alt.ss_size;
	t->trap.in = 0;
	t->wait_mask = 0;
	own_stack_leave(t, __builtin_frame_address(0));
	/* a cancellation unwinds to the wait's own handler (cancel.h) before the program goes on */
	if (!was->cancellable || sig != SIG_CANCEL) {
		t->cancel.waits = 0;
		t->depth = 0;
		t->selector = 1;
	}
	slot = own_stack_slot(t, (uint64_t)f);
	signal_handler_called(sig, &f->info, &f->uc, f, fn, &mask, slot);
	own_stack_slot_done(slot);
	__builtin_memcpy(&mask, &f->uc.uc_sigmask, 8); /* the handler may have changed it */
	hidden = mask & sig_never_blocked();
	mask &= ~sig_never_blocked();
	if (sig == SIG_CANCEL && self->cancel.late) {
		self->cancel.late = 0;
		raw4(SYS_rt_sigprocmask, SIG_SETMASK, outer ? outer : &mask, 0, 8);
		pthread_testcancel();
	}
	t = self;
	own_stack_back(t, __builtin_frame_address(0));
	program_stack_restore(t, &f->uc.uc_stack, (uint64_t)f);
	t->selector = 0;
	interrupted_goes_on(t, was);
	t->internal = 0;
	t->blocking = t->unrecorded = 0;
	t->handlers--;
	t->hidden = hidden;
	held_release(t);
	return mask;
}

/* Forgets those of the set-up signals that a longjmp has left: the program is further up their stack. */
static void forget_left(struct set_ups *all, uint64_t sp)
{
	while (all->n) {
		const struct set_up *s = &all->of[all->n - 1];
		int on_alt = sp - (uint64_t)s->alt.ss_sp < s->alt.ss_size;

		if (sp < s->frame || sp - s->frame >= SAME_STACK || on_alt)
			break;
		all->n--;
	}
	if (all->n == SETS_MAX)
		__builtin_memmove(all->of, all->of + 1, --all->n * sizeof(all->of[0]));
}

void sig_call_handlers(struct thr *t, const struct delivery *d, ucontext_t *uc, ucontext_t *call)
{
	const struct interrupted interrupted = interrupted_state(t);
	int restarts = (d->act.flags & SA_RESTART) != 0;
	struct set_ups *all = own_stack_sets(t);
	uint64_t old, was, hidden = t->hidden, frame = d->frame, bottom;

	if (is_below(__builtin_frame_address(0), frame + sizeof(struct handler_frame) + 512))
		shim_fail("a signal handler's stack is not where it was when recording");
	t->internal = 0;
	t->blocking = t->unrecorded = 0; /* signals from here on wait for the handlers' events */
	raw4(SYS_rt_sigprocmask, SIG_BLOCK, &every_signal, &was, 8);
	old = was;
	if (uc)
		__builtin_memcpy(&old, &uc->uc_sigmask, 8);
	if (t->wait_mask)
		t->hidden |= *t->wait_mask & sig_never_blocked();
	forget_left(all, frame);
	bottom = all->n++;
	set_up(t, &all->of[bottom], d, old, (t->wait_mask ? *t->wait_mask : old) & ~sig_never_blocked());
	all->of[bottom].hidden = hidden;
	for (uint64_t i = bottom;; i--) {
		set_up_more(t, all);
		i = all->n - 1;
		old = run_handler(t, &all->of[i], i > bottom ? &all->of[i - 1] : NULL, restarts, call, &interrupted,
				  uc ? &was : NULL);
		t = self;
		all = own_stack_sets(t); /* the handler may have made a fork */
		all->n = i;
		if (i == bottom)
			break;
		all->of[i - 1].mask = old;
	}
	interrupted_goes_on(t, &interrupted);
	sig_take_state(t, restarts, call, &((struct handler_frame *)frame)->uc, uc);
	if (uc)
		__builtin_memcpy(&uc->uc_sigmask, &old, 8);
	raw4(SYS_rt_sigprocmask, SIG_SETMASK, uc ? &was : &old, 0, 8);
	t->trap.mask_set = 1;
}

static int deliver_replay(struct thr *t, int waits)
{
	struct delivery d;

	/*
	 * does not use turn_peek: a thread that runs in a donated turn is not at its next event yet; and a YIELD record
	 * belongs to the next call, before which code of the program may run
	 */
	if (!turn_next_is(t, RLOG_SIGNAL) || !is_for_here(t, waits))
		return 0;
	take_signal(t, &d);
	sig_call_handlers(t, &d, 0, sig_own_call(t, __builtin_frame_address(0)));
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
