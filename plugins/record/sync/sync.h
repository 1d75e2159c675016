/* SPDX-License-Identifier: MIT */
/* sync.h: what sync.c and sync_wait.c share. */
#ifndef FRED_RECORD_SYNC_H
#define FRED_RECORD_SYNC_H

#include "record/core/real.h"
#include "record/core/state.h"
#include "record/event/ev.h"
#include "record/event/turn.h"
#include "record/preempt/ignored.h"
#include "record/sched/gil.h"

#define CALLER() (t->caller = (uint64_t)__builtin_return_address(0))

static inline _Noreturn void held(struct thr *t, enum rlog_kind kind, const void *obj)
{
	uint64_t a = (uint64_t)(uintptr_t)obj;
	struct rlog_rec r;

	turn_diverge(t, turn_peek(t, &r) ? &r : 0, kind, &a, 1,
		     "the lock is held by another thread at this point of the replay");
}

/* Is the real acquire made before its record is taken? */
static inline int real_first(struct thr *t)
{
	if (likely(G.mode != SHIM_REPLAY)) {
		if (unlikely(G.serial))
			gil_before(t);
		return 1;
	}
	turn_await(t);
	return turn_next_is(t, RLOG_CRASH);
}

#define DESTROY(name, type)                                                                                            \
	EXPORT int name(type *obj)                                                                                     \
	{                                                                                                              \
		struct thr *t;                                                                                         \
		int ret;                                                                                               \
                                                                                                                       \
		if (!G.mt || !(t = shim_enter()))                                                                      \
			return REAL(name)(obj);                                                                        \
		CALLER();                                                                                              \
		ev(t, RLOG_OBJ_DESTROY, obj, 0, 0);                                                                    \
		ignored_remove(obj);                                                                                   \
		ret = REAL(name)(obj);                                                                                 \
		ev_done(t);                                                                                            \
		shim_leave(t);                                                                                         \
		return ret;                                                                                            \
	}

#endif
