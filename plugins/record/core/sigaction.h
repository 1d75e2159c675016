/* SPDX-License-Identifier: MIT */
/*
 * sigaction.h: for each signal, the action that the program has asked for, and the one that the kernel is given
 * instead (sigaction.c); used by sig.c.
 */
#ifndef FRED_RECORD_SIGACTION_H
#define FRED_RECORD_SIGACTION_H

#include "record/core/state.h"

/* As the kernel has it. */
struct ksigaction {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

/* the handlers of the actions that the program has asked for */
extern void (*sig_user_handlers[65])(int, siginfo_t *, void *);
/*
 * The action that the program has asked for, from one moment: other threads may change it. It does not wait, and may be
 * called in a handler of any signal.
 */
struct ksigaction sig_action_of(int sig);

/* The recorder's handlers, in folders above this one. start/connect.c fills the table before anything else. */
struct sig_handlers {
	void (*program)(int sig, siginfo_t *si, void *uc); /* of the program's signals: signal/sig.c */
	void (*trap)(int sig, siginfo_t *si, void *uc); /* of SIGSYS: start/trap.c */
	void (*preempt)(int sig, siginfo_t *si, void *uc); /* of SIG_PREEMPT: preempt/interrupt.c */
};
extern struct sig_handlers sig_handlers;

static inline int sig_is_sync(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL || sig == SIGTRAP;
}

static inline int action_has_handler(const struct ksigaction *act)
{
	return (unsigned long)act->handler > 1;
}

static inline int sig_has_handler(int sig)
{
	return (unsigned long)__atomic_load_n(&sig_user_handlers[sig], __ATOMIC_RELAXED) > 1;
}

#define SIG_SETXID 33 /* glibc's */
/*
 * Never blocked. SIGTRAP: if it were blocked, a debugger's step or breakpoint would make the kernel remove its
 * handler.
 */
#define SIG_OURS (SIG_BIT(SIGSYS) | SIG_BIT(SIG_PREEMPT) | SIG_BIT(SIGTRAP))
/* Signals that the recorder needs. When the program blocks them, they are blocked only in its view (t->hidden). */
uint64_t sig_never_blocked(void);
/* Sets the kernel's default action. */
void sig_set_default(int sig);
/* The program asks for this action: the kernel is told what it must do in this mode. */
void sig_action_set(int sig, const struct ksigaction *act);
/*
 * The handler of this action is called: SA_RESETHAND removes the action, unless a thread has set another one meanwhile.
 */
void sig_action_called(int sig, const struct ksigaction *act);
void sig_init(void);
/* inherited: the ignored and the blocked signals that the program's exec has passed on, as bits. set: sets them. */
void sig_inherited(uint64_t *ignored, uint64_t *blocked);
void sig_inherit(uint64_t ignored, uint64_t blocked);
void sig_arm_traps(void); /* (re)installs the handlers that the shim itself needs */
void sig_need_segv(struct thr *t); /* never blocked from here on; the program may believe so */
void sig_show_hidden(const struct thr *t,
		     int blocked); /* around an exec: blocks what the program has blocked, without exceptions */

extern __attribute__((visibility("hidden"))) void __restore_rt(void); /* sa_restorer: where a handler returns to */

#endif
