/* SPDX-License-Identifier: MIT */
/*
 * guard.c: C++: the initialization of a function's static variables (Itanium C++ ABI, 3.3.3: __cxa_guard_acquire). As
 * with pthread_once, the thread that initializes makes events, and one that finds it done makes none: compiled code
 * checks the guard itself first, and in a replay a thread may check it earlier or later than it did when recording. If
 * it calls this, it waits for its turn; the guard then has the recorded value.
 */
#include "record/core/state.h"
#include "record/core/tell.h"
#include "record/event/ev.h"
#include "record/event/turn.h"
#include "record/sched/wait.h"
#include "record/sync/lib.h"

static int is_done(const uint64_t *guard)
{
	return __atomic_load_n((const uint8_t *)guard, __ATOMIC_ACQUIRE);
}

/* libstdc++: another thread is initializing it */
static int is_pending(const uint64_t *guard)
{
	return __atomic_load_n((const uint8_t *)guard + 1, __ATOMIC_RELAXED) & 1;
}

LIBC(int, __cxa_guard_acquire, (uint64_t * guard))
{
	int (*acquire)(uint64_t *) = REAL_LATE(__cxa_guard_acquire);
	struct rlog_rec r;
	struct thr *t;
	int ret = 0;

	if (!G.mt || !(t = shim_enter()))
		return acquire(guard);
	t->caller = (uint64_t)__builtin_return_address(0);
	if (G.mode == SHIM_REPLAY) {
		turn_peek(t, &r);
		ret = is_done(guard) ? 0 : acquire(guard);
	} else {
		if (is_pending(guard))
			wait_is_seen(t);
		wait_begin(t); /* another thread may be initializing it */
		ret = acquire(guard);
		wait_end(t);
	}
	if (ret) {
		ev(t, RLOG_ONCE_RUN, guard, 0, 0);
		ev_done(t);
	} else if (unlikely(shim_report != 0)) {
		shim_tell(REPORT_SYNC, RLOG_ONCE, (uint64_t)guard, 0);
	}
	shim_leave(t);
	return ret;
}

/* After the variable's construction, or, if that has thrown, for another try. */
static void end(struct thr *t, uint64_t *guard, void (*real_end)(uint64_t *))
{
	ev(t, RLOG_ONCE_DONE, guard, 0, 0);
	real_end(guard);
	ev_done(t);
	shim_leave(t);
}

#define GUARD_END(name)                                                                                                \
	LIBC(void, name, (uint64_t * guard))                                                                           \
	{                                                                                                              \
		struct thr *t;                                                                                         \
                                                                                                                       \
		if (!G.mt || !(t = shim_enter())) {                                                                    \
			REAL_LATE(name)(guard);                                                                        \
			return;                                                                                        \
		}                                                                                                      \
		t->caller = (uint64_t)__builtin_return_address(0);                                                     \
		end(t, guard, REAL_LATE(name));                                                                        \
	}

GUARD_END(__cxa_guard_release)
GUARD_END(__cxa_guard_abort)
