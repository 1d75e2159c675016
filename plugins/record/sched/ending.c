/* SPDX-License-Identifier: MIT */
/*
 * ending.c: recording one thread at a time: when a thread has ended, the next one goes on only when the kernel is done
 * with it, as in a replay (wait_dying() in turn.c). Otherwise timing would decide which stack libc takes for the next
 * thread that it creates: libc reuses the stack of an ended thread that was released last.
 */
#include "record/core/state.h"
#include "record/sched/deadlock.h"

#define LOOKS 5000u
/* the ending thread may need a lock of libc's that the next thread has, so the wait is limited */
#define PAUSE_NS 100000l
#define SOON 20u /* checks without a pause: mostly the thread is gone by then */

static int ending; /* TID; 0: no thread ends */

void ending_begin(const struct thr *t)
{
	if (t->tid != (int)raw0(SYS_getpid)) /* the first thread remains as a zombie */
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
