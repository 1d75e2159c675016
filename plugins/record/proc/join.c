/* SPDX-License-Identifier: MIT */
/*
 * join.c: join and detach.
 *
 * libc frees blocks of the thread that is joined, which with an allocator of the program's is the program's code. So
 * where one thread runs at a time, the thread that joins first waits for the other one's EXIT, without the turn, and
 * then joins it, with the turn.
 */
#include "record/core/own_stack.h"
#include "record/core/real.h"
#include "record/core/state.h"
#include "record/event/ev.h"
#include "record/event/turn.h"
#include "record/proc/thread.h"
#include "record/sched/cancel.h"
#include "record/sched/wait.h"

static void free_stack(uint64_t stack, uint64_t len)
{
	if (stack)
		raw2(SYS_munmap, stack, len);
}

enum join_how { JOIN_WAIT, JOIN_TRY, JOIN_TIMED };

static int real_join(enum join_how how, pthread_t th, void **val, const struct timespec *ts)
{
	switch (how) {
	case JOIN_WAIT:
		return REAL(pthread_join)(th, val);
	case JOIN_TRY:
		return REAL(pthread_tryjoin_np)(th, val);
	default:
		return REAL(pthread_timedjoin_np)(th, val, ts);
	}
}

/* As pthread_join would, but the thread is not joined. */
static int await_exit(struct thr *c, const struct timespec *ts)
{
	int r;

	do
		r = ts ? REAL(sem_timedwait)(&c->ended, ts) : REAL(sem_wait)(&c->ended);
	while (r && errno == EINTR);
	return r ? errno : 0;
}

/* Recording: waits for the thread's end, gives up the turn meanwhile. */
static int64_t join_later(enum join_how how, pthread_t th, void **val, const struct timespec *ts, struct thr *c)
{
	struct thr *t = self;
	int waits = G.serial && thread_frees_in_order() && c && c != t && !c->born.detached;
	int64_t ret;

	if (waits && c->internal == WAIT_JOIN && c->waits[0] == t)
		return EDEADLK; /* libc does not know that it waits */
	wait_of(t, c, how == JOIN_WAIT ? WAIT_JOIN : WAIT_OTHER);
	if (how != JOIN_TRY) /* even if the thread has not ended: what t wrote before this may be what it waited for */
		wait_is_seen(t);
	CANCELLABLE(t, RLOG_JOIN, (void *)th, ret, waits ? await_exit(c, ts) : real_join(how, th, val, ts));
	if (!waits || ret)
		return ret;
	while ((ret = REAL(pthread_tryjoin_np)(th, val)) == EBUSY)
		raw0(SYS_sched_yield); /* after EXIT, it needs no turn to end */
	return ret;
}

static void free_thread(struct thr *c)
{
	if (!c)
		return;
	free_stack((uint64_t)c->born.stack, c->born.stack_len);
	own_stack_free(c);
}

static int join(enum join_how how, pthread_t th, void **val, const struct timespec *ts)
{
	struct thr *t = self, *c = thread_find(th);
	int64_t ret;

	if (G.mode != SHIM_REPLAY) {
		ret = G.serial ? REAL(pthread_tryjoin_np)(th, val) : EBUSY;
		if (ret == EBUSY && !(G.serial && how == JOIN_TRY))
			ret = join_later(how, th, val, ts, c);
		ev(t, RLOG_JOIN, (void *)th, (uint64_t)ret, 0);
		if (ret == 0)
			free_thread(c);
	} else {
		wait_is_shown(t, c, WAIT_JOIN, how != JOIN_WAIT);
		REPLAY_CANCELLABLE(t, ret = ev_result(t, RLOG_JOIN, (void *)th, 0));
		wait_was_shown(t);
		if (ret == 0) {
			REAL(pthread_join)(th, val);
			free_thread(c); /* with the turn */
		}
		ev_done(t);
		if (ret == ECANCELED)
			replay_cancelled(t);
	}
	return (int)ret;
}

#define JOIN_BODY(which, how, name, args, ts)                                                                          \
	struct thr *t;                                                                                                 \
	int ret;                                                                                                       \
                                                                                                                       \
	INTERPOSED_FIRST(which, name, args);                                                                           \
	t = shim_enter();                                                                                              \
	if (!t)                                                                                                        \
		return REAL(name) args;                                                                                \
	t->caller = (uint64_t)__builtin_return_address(0);                                                             \
	ret = join(how, th, val, ts);                                                                                  \
	shim_leave(t);                                                                                                 \
	return ret

EXPORT int pthread_join(pthread_t th, void **val)
{
	JOIN_BODY(INTERPOSED_JOIN, JOIN_WAIT, pthread_join, (th, val), 0);
}

EXPORT int pthread_tryjoin_np(pthread_t th, void **val)
{
	JOIN_BODY(INTERPOSED_TRYJOIN, JOIN_TRY, pthread_tryjoin_np, (th, val), 0);
}

EXPORT int pthread_timedjoin_np(pthread_t th, void **val, const struct timespec *ts)
{
	JOIN_BODY(INTERPOSED_TIMEDJOIN, JOIN_TIMED, pthread_timedjoin_np, (th, val, ts), ts);
}

EXPORT int pthread_detach(pthread_t th)
{
	struct thr *t, *c;
	int ret;

	INTERPOSED_FIRST(INTERPOSED_DETACH, pthread_detach, (th));
	t = shim_enter();
	if (!t)
		return REAL(pthread_detach)(th);
	ev(t, RLOG_DETACH, (void *)th, 0, 0);
	if ((c = thread_find(th)) != NULL)
		c->born.detached = 1;
	ret = REAL(pthread_detach)(th);
	ev_done(t);
	shim_leave(t);
	return ret;
}
