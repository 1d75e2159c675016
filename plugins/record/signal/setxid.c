/* SPDX-License-Identifier: MIT */
/*
 * setxid.c: a program with several threads changes its user or groups.
 *
 * In the kernel, each thread has its own. libc changes those of all threads: it sends each thread a signal, whose
 * handler makes the call there, and waits. The order in which the threads do this depends on timing, and has no
 * meaning. So all of it is one event, in which the handlers of the other threads run at once and are not recorded; a
 * replay only takes the result.
 */
#include "record/core/sigaction.h"
#include "record/core/state.h"
#include "record/event/ev.h"
#include "record/signal/sig.h"

#include <errno.h>

/* Threads that wait in here, for setxid_signal. */
static uint32_t waiting;

/* libc set its handler in its own pthread_create, whose calls are not the program's; neither are the handler's. */
static void take_over(void)
{
	struct ksigaction k = {0};

	if (sig_has_handler(SIG_SETXID) || raw4(SYS_rt_sigaction, SIG_SETXID, 0, &k, 8) ||
	    (unsigned long)k.handler <= 1)
		return;
	sig_action_set(SIG_SETXID, &k);
}

struct thr *setxid_begin(uint64_t caller)
{
	/* with one thread it is a system call like others */
	struct thr *t = G.mt ? shim_enter() : 0;

	if (!t)
		return 0;
	t->caller = caller;
	ev(t, RLOG_CALL, 0, RLOG_CALL_SETXID, 0);
	ev_done(t);
	if (G.mode != SHIM_REPLAY)
		take_over();
	__atomic_add_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
	return t;
}

/* ret: what libc's function has returned. */
int setxid_end(struct thr *t, int64_t ret)
{
	__atomic_sub_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
	if (ret)
		ret = -errno;
	ev_callret(t, &ret, 0, 0);
	shim_leave(t);
	if (ret)
		errno = (int)-ret;
	return ret ? -1 : 0;
}

int setxid_signal(struct thr *t, int sig, siginfo_t *si, void *uc)
{
	int depth = t->depth;
	char selector = t->selector;
	struct ksigaction act = sig_action_of(SIG_SETXID);

	if (sig != SIG_SETXID || si->si_code != SI_TKILL || !action_has_handler(&act) ||
	    !__atomic_load_n(&waiting, __ATOMIC_SEQ_CST))
		return 0;
	t->depth = 1;
	t->selector = 0;
	act.handler(sig, si, uc);
	t->depth = depth;
	t->selector = selector;
	return 1;
}
