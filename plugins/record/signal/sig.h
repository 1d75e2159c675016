/* SPDX-License-Identifier: MIT */
/* sig.h: signals of the program: when their handlers run, and where. */
#ifndef FRED_RECORD_SIG_H
#define FRED_RECORD_SIG_H

#include "record/core/sigaction.h"
#include "record/core/state.h"

/* Runs the program's handler for a signal that a call raised. 0: there is no handler. */
int sig_call_sync(struct thr *t, int sig, siginfo_t *si, ucontext_t *uc);
/* Ends the process by this signal, in both modes. */
_Noreturn void sig_die(struct thr *t, int sig);
void sig_deliver_pending(struct thr *t); /* recording */
void sig_entry(int sig, siginfo_t *si, void *uc); /* the handler of the program's signals */

/* --- sig_handlers.c --- */
/*
 * A signal that is delivered now. Its action is read once, since another thread may change it at any moment. It is part
 * of the SIGNAL record: when that is replayed, the program may have set another one.
 */
struct delivery {
	siginfo_t si;
	struct ksigaction act;
	uint64_t frame; /* where its handler runs: address of its struct handler_frame */
};

/* Recording: reads the action. 0: there is no handler any more, and the default action has been taken. */
int sig_has_action(const struct thr *t, struct delivery *d);
/*
 * The frame for the handler of a signal that the recorder delivers, where `here` is a frame of the recorder; in a wait,
 * that of the wait.
 */
uint64_t sig_frame_for(const struct thr *t, const struct delivery *d, const void *here);
/* Recording: writes the SIGNAL record. SA_RESETHAND removes the action here and where a replay takes the record. */
void sig_record(struct thr *t, const struct delivery *d);
/*
 * Calls the program's handlers for an asynchronous signal, whose record has been written or read, and for those that
 * are pending besides. uc: the kernel's context, if this is called from the recorder's handler, or NULL. call: see
 * sig_own_call. The handlers may change the registers and the mask that they find.
 */
void sig_call_handlers(struct thr *t, const struct delivery *d, ucontext_t *uc, ucontext_t *call);
int sig_deliver_replay(struct thr *t); /* replay: runs the handler, if the next record is a SIGNAL; 0: it is not */
/* the same where a record begins: also if the signal came in a wait before that */
int sig_deliver_waiting(struct thr *t);

/* --- sig_in_place.c --- */
/*
 * Runs the handler of this action where the kernel would: on the program's stack, with a copy of what the kernel has
 * put on the recorder's. Changes by the handler are copied back. -1: there is no room on that stack.
 */
int sig_in_place(struct thr *t, int sig, siginfo_t *si, ucontext_t *uc, const struct ksigaction *act);

/* --- sig_calls.c: rt_sigaction, rt_sigprocmask --- */
long sig_action(const long *a);
long sig_procmask_native(const long *a, ucontext_t *uc);

/* setxid.c: 1: this was libc's signal for setuid and the like, and has been handled. */
int setxid_signal(struct thr *t, int sig, siginfo_t *si, void *uc);

/* --- sig_state.c --- */
/*
 * The trap's context, if the program made the system call by an instruction of its own, or NULL. `here` is a frame
 * inside that call.
 */
ucontext_t *sig_own_call(const struct thr *t, const void *here);
void sig_show_state(const struct thr *t, int restarts, const ucontext_t *call, greg_t *g);
void sig_take_state(struct thr *t, int restarts, ucontext_t *call, const ucontext_t *now, ucontext_t *uc);
struct thr *setxid_begin(uint64_t caller); /* around libc's function; NULL: it is a call like others */
/* ret: what libc's function returned; returns what the wrapper is to return */
int setxid_end(struct thr *t, int64_t ret);

#endif
