/* SPDX-License-Identifier: MIT */
/*
 * ending.c: recording one thread at a time: when one has ended, the next one goes on only when the kernel is done with
 * it, as in a replay (wait_dying() in turn.c). Otherwise it would depend on timing which stack libc takes for the next
 * thread that it makes for itself: it reuses a stack whose thread has ended, the one that was released last.
 */
#include "record/core/state.h"
#include "record/sched/deadlock.h"

#define LOOKS 5000u
#define PAUSE_NS 100000l /* who ends may need a lock of libc's that the next one has: not for ever */
#define SOON 20u /* looks: mostly it is gone by then */

static int ending; /* TID; 0: nobody */

void ending_begin(const struct thr *t)
{
	if (t->tid != (int)raw0(SYS_getpid)) /* that one stays, as a zombie */
		__atomic_store_n(&ending, t->tid, __ATOMIC_RELEASE);
}

void ending_wait(void)
{
	static const long pause[2] = {0, PAUSE_NS}; /* struct timespec */
	int tid = __atomic_exchange_n(&ending, 0, __ATOMIC_ACQUIRE);
	long pid = tid ? raw0(SYS_getpid) : 0;

	for (unsigned i = 0; tid && i < LOOKS && raw3(SYS_tgkill, pid, tid, 0) == 0; i++) {
		if (i < SOON)
			raw0(SYS_sched_yield);
		else
			raw2(SYS_nanosleep, pause, 0);
	}
}
