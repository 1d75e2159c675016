/* SPDX-License-Identifier: MIT */
/*
 * sync_wait.c: conditions and semaphores, in whose waits a thread may be cancelled; pthread_cancel. See
 * sync.c for the order of events and effects.
 */
#include "record/core/real.h"
#include "record/core/state.h"
#include "record/event/cs.h"
#include "record/event/ev.h"
#include "record/preempt/ignored.h"
#include "record/sched/cancel.h"
#include "record/sched/gil.h"
#include "record/sched/wait.h"
#include "record/shm/group.h"
#include "record/sync/sync.h"
#include "record/sync/sync_group.h"

#include <errno.h>
#include <semaphore.h>

/* ---- conditions: on replay only the mutex is real ---- */

enum cond_how { COND_PLAIN, COND_TIMED, COND_CLOCK };

static int real_cond_wait(enum cond_how how, pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
			  const struct timespec *ts)
{
	switch (how) {
	case COND_PLAIN:
		return REAL(pthread_cond_wait)(c, m);
	case COND_TIMED:
		return REAL(pthread_cond_timedwait)(c, m, ts);
	default:
		return REAL(pthread_cond_clockwait)(c, m, clock, ts);
	}
}

/* glibc keeps the clock of pthread_condattr_setclock() in a bit of this. */
static clockid_t cond_clock(const pthread_cond_t *c)
{
	return (c->__data.__wrefs & 2) ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

static int cond_wait(struct thr *t, enum cond_how how, pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
		     const struct timespec *ts)
{
	int64_t ret = 0;
	uint32_t seen = is_shared(c) ? group_seen(c) : 0;

	shared_before(m, sizeof(*m));
	ev(t, RLOG_COND_WAIT, c, (uint64_t)m, 0);
	if (is_shared(c)) {
		shared_cond_wait(t, c, m, seen, how == COND_CLOCK ? clock : cond_clock(c), ts, &ret);
		ev_half(t, RLOG_COND_WOKE, &ret, 0);
		return (int)ret;
	}
	if (G.mode != SHIM_REPLAY) {
		if (unlikely(!t->cs))
			cs_outside(t);
		ignored_add(c, sizeof(*c));
		/* once it is locked again, its contents show that threads have waited for it */
		ignored_add(m, sizeof(*m));
		wait_of(t, c, how == COND_PLAIN ? WAIT_COND : WAIT_OTHER);
		t->waits[1] = m;
		CANCELLABLE(t, RLOG_COND_WOKE, c, ret, real_cond_wait(how, c, m, clock, ts));
		ev_half(t, RLOG_COND_WOKE, &ret, 0);
		if (unlikely(ret == ETIMEDOUT) && !G.serial)
			gil_start(t, ts);
		return (int)ret;
	}
	REAL(pthread_mutex_unlock)(m);
	wait_is_shown(t, c, WAIT_COND, how != COND_PLAIN);
	t->waits[1] = m;
	t->at_event = 1; /* a thread that waits here holds no lock inside libc, and would take m: the turn is not to be
			    donated to it */
	ev_done(t);
	t->at_event = 0;
	REPLAY_CANCELLABLE(t, ev_half(t, RLOG_COND_WOKE, &ret, 0));
	wait_was_shown(t);
	if (REAL(pthread_mutex_trylock)(m) == EBUSY)
		held(t, RLOG_COND_WOKE, m);
	if (ret == ECANCELED)
		replay_cancelled(t);
	if (ret == ETIMEDOUT && !G.serial)
		gil_start_replay(t);
	return (int)ret;
}

EXPORT int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	struct thr *t = shim_enter();
	int ret;

	if (!t)
		return REAL(pthread_cond_wait)(c, m);
	CALLER();
	ret = cond_wait(t, COND_PLAIN, c, m, 0, 0);
	shim_leave(t);
	return ret;
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *ts)
{
	struct thr *t = shim_enter();
	int ret;

	if (!t)
		return REAL(pthread_cond_timedwait)(c, m, ts);
	CALLER();
	ret = cond_wait(t, COND_TIMED, c, m, 0, ts);
	shim_leave(t);
	return ret;
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const struct timespec *ts)
{
	struct thr *t = shim_enter();
	int ret;

	if (!t)
		return REAL(pthread_cond_clockwait)(c, m, clock, ts);
	CALLER();
	ret = cond_wait(t, COND_CLOCK, c, m, clock, ts);
	shim_leave(t);
	return ret;
}

/* In a replay no thread waits in the real condition. */
#define WAKE(name, kind)                                                                                               \
	EXPORT int name(pthread_cond_t *c)                                                                             \
	{                                                                                                              \
		struct thr *t = shim_enter();                                                                          \
		int ret = 0;                                                                                           \
                                                                                                                       \
		if (!t)                                                                                                \
			return REAL(name)(c);                                                                          \
		CALLER();                                                                                              \
		ev(t, kind, c, 0, 0);                                                                                  \
		if (is_shared(c))                                                                                      \
			group_wake(c);                                                                                 \
		else if (G.mode != SHIM_REPLAY)                                                                        \
			ret = REAL(name)(c);                                                                           \
		ev_done(t);                                                                                            \
		shim_leave(t);                                                                                         \
		return ret;                                                                                            \
	}

WAKE(pthread_cond_signal, RLOG_COND_SIGNAL)
WAKE(pthread_cond_broadcast, RLOG_COND_BROADCAST)
DESTROY(pthread_cond_destroy, pthread_cond_t)

/* ---- semaphores: a wait may depend on a handler or another process: always an event ---- */

static int sem_event(struct thr *t, sem_t *s, int limited, int ret)
{
	int64_t r = ret == 0 ? 0 : -errno;

	if (G.mode != SHIM_REPLAY) {
		ev(t, RLOG_SEM_WAIT, s, (uint64_t)r, 0);
	} else {
		wait_is_shown(t, s, WAIT_SEM, limited);
		REPLAY_CANCELLABLE(t, r = ev_result(t, RLOG_SEM_WAIT, s, 0));
		wait_was_shown(t);
		/* keeps the count as it was: a post by another process did not happen here */
		if (r == 0)
			REAL(sem_trywait)(s);
		ev_done(t);
		if (r == -ECANCELED)
			replay_cancelled(t);
	}
	return (int)r;
}

/* 1: it need not wait. In parallel the real wait is made in any case; a cancelled thread does not return from it. */
static int sem_try(struct thr *t, sem_t *s, int once)
{
	int value;

	if (G.serial)
		return REAL(sem_trywait)(s) == 0;
	if (!once && REAL(sem_getvalue)(s, &value) == 0 && value <= 0)
		wait_is_seen(t);
	return 0;
}

static int shared_sem(struct thr *t, sem_t *s, int once, clockid_t clock, const struct timespec *ts)
{
	int ret = shared_lock(t, SHARED_SEM, s, once, clock, ts);

	if (!ret)
		return 0;
	errno = ret == EBUSY ? EAGAIN : ret;
	return -1;
}

/*
 * Repeats the wait as long as only the recorder's own signal has ended it: the time limit, if there is one, is
 * absolute.
 */
#define UNLESS_OURS(t, real)                                                                                           \
	({                                                                                                             \
		int ret_;                                                                                              \
                                                                                                                       \
		do                                                                                                     \
			ret_ = (real);                                                                                 \
		while (ret_ < 0 && errno == EINTR && (t)->interrupted == INTERRUPTED_BY_US);                           \
		ret_;                                                                                                  \
	})

#define SEM_WAIT(name, params, args, once, clock, ts)                                                                  \
	EXPORT int name params                                                                                         \
	{                                                                                                              \
		struct thr *t = shim_enter();                                                                          \
		int ret = 0;                                                                                           \
                                                                                                                       \
		if (!t)                                                                                                \
			return REAL(name) args;                                                                        \
		CALLER();                                                                                              \
		if (is_shared(s))                                                                                      \
			ret = shared_sem(t, s, once, clock, ts);                                                       \
		else if (real_first(t) && !sem_try(t, s, once)) {                                                      \
			ignored_add(s, sizeof(*s));                                                                    \
			wait_of(t, s, (ts) || (once) ? WAIT_OTHER : WAIT_SEM);                                         \
			t->interrupted = 0;                                                                            \
			CANCELLABLE(t, RLOG_SEM_WAIT, s, ret, UNLESS_OURS(t, REAL(name) args));                        \
		}                                                                                                      \
		ret = sem_event(t, s, (ts) || (once), ret);                                                            \
		shim_leave(t);                                                                                         \
		if (ret < 0) {                                                                                         \
			errno = -ret;                                                                                  \
			return -1;                                                                                     \
		}                                                                                                      \
		return 0;                                                                                              \
	}

SEM_WAIT(sem_wait, (sem_t * s), (s), 0, 0, 0)
SEM_WAIT(sem_trywait, (sem_t * s), (s), 1, 0, 0)
SEM_WAIT(sem_timedwait, (sem_t * s, const struct timespec *ts), (s, ts), 0, CLOCK_REALTIME, ts)
SEM_WAIT(sem_clockwait, (sem_t * s, clockid_t clock, const struct timespec *ts), (s, clock, ts), 0, clock, ts)

EXPORT int sem_post(sem_t *s)
{
	struct thr *t = shim_enter();
	int ret;

	if (!t)
		return REAL(sem_post)(s);
	CALLER();
	shared_before(s, sizeof(*s));
	ev(t, RLOG_SEM_POST, s, 0, 0);
	ret = REAL(sem_post)(s);
	shared_released(s);
	ev_done(t);
	shim_leave(t);
	return ret;
}

EXPORT int sem_getvalue(sem_t *s, int *val)
{
	struct thr *t = shim_enter();
	uint64_t v = 0;
	int64_t ret;

	if (!t)
		return REAL(sem_getvalue)(s, val);
	CALLER();
	shared_before(s, sizeof(*s));
	if (G.mode != SHIM_REPLAY) {
		ret = REAL(sem_getvalue)(s, val);
		ev(t, RLOG_SEM_GET, s, (uint64_t)ret, (uint64_t)(int64_t)*val);
	} else {
		ret = ev_result(t, RLOG_SEM_GET, s, &v);
		*val = (int)v;
		ev_done(t);
	}
	shim_leave(t);
	return (int)ret;
}

/*
 * ---- cancel: the event orders the request that it sets in the other thread. Whether a signal is sent as well depends
 * on what that thread is doing: that is no event (sys.c), and a replay sends none ----
 */

EXPORT int pthread_cancel(pthread_t th)
{
	struct thr *t = shim_enter();
	int64_t ret;

	if (!t)
		return REAL(pthread_cancel)(th);
	CALLER();
	ev(t, RLOG_CALL, 0, RLOG_CALL_CANCEL, 0);
	t->cancel.sends = 1;
	shim_leave_quiet(t);
	ret = REAL(pthread_cancel)(th);
	t = self;
	t->selector = 0;
	t->depth = 1;
	t->cancel.sends = 0;
	ev_done(t);
	ev_callret(t, &ret, 0, 0);
	shim_leave(t);
	return (int)ret;
}
