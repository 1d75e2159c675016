/* SPDX-License-Identifier: MIT */
/* sigaction.h: what the program has asked for each signal, and what the kernel is told instead (sigaction.c), for sig.c. */
#ifndef FRED_RECORD_SIGACTION_H
#define FRED_RECORD_SIGACTION_H

#include "record/shm/group.h"
#include "record/event/turn.h"

/* As the kernel has it. */
struct ksigaction {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

extern struct ksigaction sig_user[65]; /* what the program asked for */

static inline int sig_is_sync(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL || sig == SIGTRAP;
}

static inline int sig_has_handler(int sig)
{
	return (unsigned long)sig_user[sig].handler > 1;
}

#define SIG_SETXID 33 /* glibc's */
/* Never blocked. SIGTRAP: where it is, a debugger's step or breakpoint would make the kernel take its handler away. */
#define SIG_OURS (SIG_BIT(SIGSYS) | SIG_BIT(SIG_PREEMPT) | SIG_BIT(SIGTRAP))
/* What the recorder needs, and the program may only believe to be blocked (t->hidden). */
uint64_t sig_never_blocked(void);
/* The kernel is to do what it does by default. */
void sig_set_default(int sig);
/* Tells the kernel what it must do for this signal in this mode. */
void sig_apply(int sig);
/* setxid.c: 1: this was libc's signal for that, and has been handled. */
int setxid_signal(struct thr *t, int sig, siginfo_t *si, void *uc);

/* --- sig_state.c --- */
/* The trap's context of the system call of which `here` is a frame, made by an instruction of the program's; or NULL. */
ucontext_t *sig_own_call(const struct thr *t, const void *here);
void sig_show_state(const struct thr *t, int restarts, const ucontext_t *call, greg_t *g);
void sig_take_state(struct thr *t, int restarts, ucontext_t *call, const ucontext_t *now, ucontext_t *uc);

#endif
