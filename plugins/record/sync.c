/* SPDX-License-Identifier: MIT */
/*
 * sync.c: mutexes, conditions, rwlocks, semaphores, barriers, spin locks, once.
 *
 * Releases are logged before they take effect, acquires after (recording). On replay one thread runs at a
 * time, so the real call never waits: an acquire that would wait is a divergence.
 * While only one thread has ever existed, plain locks make no events.
 * Recorded one thread at a time (gil.c), an acquire tries first, since waiting costs a YIELD.
 * A crash inside a real acquire comes before its record: on replay the call is then made at once.
 */
#include "record/shim.h"

#include "record/cancel.h"

#include <errno.h>
#include <semaphore.h>

#define CALLER() (t->caller = (uint64_t)__builtin_return_address(0))

static _Noreturn void held(struct thr *t, enum rlog_kind kind, const void *obj)
{
	uint64_t a = (uint64_t)(uintptr_t)obj;
	struct rlog_rec r;

	turn_diverge(t, turn_peek(t, &r) ? &r : 0, kind, &a, 1,
		     "the lock is held by another thread at this point of the replay");
}

/* Replay: handlers that ran while the call waited. */
static void replay_waited(struct thr *t)
{
	while (sig_deliver_replay(t))
		;
}

/* Is the real acquire made, before its record? */
static inline int real_first(struct thr *t)
{
	return likely(G.mode == SHIM_RECORD) || unlikely(turn_next_is(t, RLOG_CRASH));
}

/* ---- mutex ---- */

static int replay_mutex(struct thr *t, pthread_mutex_t *m)
{
	struct rlog_rec r;
	int64_t ret = 0;

	replay_waited(t);
	if (turn_peek(t, &r) && r.kind == RLOG_LOCK_RET)
		ret = ev_result(t, RLOG_LOCK_RET, m, 0);
	else
		ev(t, RLOG_LOCK, m, 0, 0);
	if (ret == 0 || ret == EOWNERDEAD) {
		int real = REAL(pthread_mutex_trylock)(m);

		if (real == EBUSY)
			held(t, RLOG_LOCK, m);
	}
	ev_done(t);
	return (int)ret;
}

static void rec_mutex(struct thr *t, pthread_mutex_t *m, int ret)
{
	if (likely(ret == 0))
		ev(t, RLOG_LOCK, m, 0, 0);
	else
		ev(t, RLOG_LOCK_RET, m, (uint64_t)ret, 0);
}

EXPORT int pthread_mutex_lock(pthread_mutex_t *m)
{
	struct thr *t;
	int ret;

	if (!G.mt || !(t = shim_enter()))
		return REAL(pthread_mutex_lock)(m);
	CALLER();
	if (real_first(t)) {
		ret = REAL(pthread_mutex_trylock)(m);
		if (ret == EBUSY) {
			wait_begin(t);
			ret = REAL(pthread_mutex_lock)(m);
			wait_end(t);
		}
		rec_mutex(t, m, ret);
	} else {
		ret = replay_mutex(t, m);
	}
	shim_leave(t);
	return ret;
}

EXPORT int pthread_mutex_trylock(pthread_mutex_t *m)
{
	struct thr *t;
	int ret;

	if (!G.mt || !(t = shim_enter()))
		return REAL(pthread_mutex_trylock)(m);
	CALLER();
	if (real_first(t)) {
		ret = REAL(pthread_mutex_trylock)(m);
		rec_mutex(t, m, ret);
	} else {
		ret = replay_mutex(t, m);
	}
	shim_leave(t);
	return ret;
}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *ts)
{
	struct thr *t = shim_enter();
	int ret;

	if (!t)
		return REAL(pthread_mutex_timedlock)(m, ts);
	CALLER();
	if (real_first(t)) {
		ret = REAL(pthread_mutex_trylock)(m);
		if (ret == EBUSY) {
			wait_begin(t);
			ret = REAL(pthread_mutex_timedlock)(m, ts);
			wait_end(t);
		}
		rec_mutex(t, m, ret);
	} else {
		ret = replay_mutex(t, m);
	}
	shim_leave(t);
	return ret;
}

EXPORT int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock, const struct timespec *ts)
{
	struct thr *t = shim_enter();
	int ret;

	if (!t)
		return REAL(pthread_mutex_clocklock)(m, clock, ts);
	CALLER();
	if (real_first(t)) {
		ret = REAL(pthread_mutex_trylock)(m);
		if (ret == EBUSY) {
			wait_begin(t);
			ret = REAL(pthread_mutex_clocklock)(m, clock, ts);
			wait_end(t);
		}
		rec_mutex(t, m, ret);
	} else {
		ret = replay_mutex(t, m);
	}
	shim_leave(t);
	return ret;
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *m)
{
	struct thr *t;
	int ret;

	if (!G.mt || !(t = shim_enter()))
		return REAL(pthread_mutex_unlock)(m);
	CALLER();
	ev(t, RLOG_UNLOCK, m, 0, 0);
	ret = REAL(pthread_mutex_unlock)(m);
	ev_done(t);
	shim_leave(t);
	return ret;
}

#define DESTROY(name, type)                                                                        \
	EXPORT int name(type *obj)                                                                 \
	{                                                                                          \
		struct thr *t;                                                                     \
		int ret;                                                                           \
                                                                                                   \
		if (!G.mt || !(t = shim_enter()))                                                  \
			return REAL(name)(obj);                                                    \
		CALLER();                                                                          \
		ev(t, RLOG_OBJ_DESTROY, obj, 0, 0);                                                \
		ret = REAL(name)(obj);                                                             \
		ev_done(t);                                                                        \
		shim_leave(t);                                                                     \
		return ret;                                                                        \
	}

DESTROY(pthread_mutex_destroy, pthread_mutex_t)

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

static int cond_wait(struct thr *t, enum cond_how how, pthread_cond_t *c, pthread_mutex_t *m,
		     clockid_t clock, const struct timespec *ts)
{
	int64_t ret = 0;

	ev(t, RLOG_COND_WAIT, c, 0, 0);
	if (G.mode == SHIM_RECORD) {
		CANCELLABLE(t, RLOG_COND_WOKE, c, ret, real_cond_wait(how, c, m, clock, ts));
		ev_half(t, RLOG_COND_WOKE, &ret, 0);
		return (int)ret;
	}
	REAL(pthread_mutex_unlock)(m);
	t->at_event = 1; /* who waits here holds no lock inside libc, and would take m: do not lend to it */
	ev_done(t);
	t->at_event = 0;
	replay_cancellable(t);
	ev_half(t, RLOG_COND_WOKE, &ret, 0);
	if (REAL(pthread_mutex_trylock)(m) == EBUSY)
		held(t, RLOG_COND_WOKE, m);
	if (ret == ECANCELED)
		replay_cancelled(t);
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

EXPORT int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
				  const struct timespec *ts)
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

/* On replay nobody waits in the real condition. */
#define WAKE(name, kind)                                                                           \
	EXPORT int name(pthread_cond_t *c)                                                         \
	{                                                                                          \
		struct thr *t = shim_enter();                                                      \
		int ret = 0;                                                                       \
                                                                                                   \
		if (!t)                                                                            \
			return REAL(name)(c);                                                      \
		CALLER();                                                                          \
		ev(t, kind, c, 0, 0);                                                              \
		if (G.mode != SHIM_REPLAY)                                                         \
			ret = REAL(name)(c);                                                       \
		ev_done(t);                                                                        \
		shim_leave(t);                                                                     \
		return ret;                                                                        \
	}

WAKE(pthread_cond_signal, RLOG_COND_SIGNAL)
WAKE(pthread_cond_broadcast, RLOG_COND_BROADCAST)
DESTROY(pthread_cond_destroy, pthread_cond_t)

/* ---- rwlocks ---- */

static int rwlock_event(struct thr *t, enum rlog_kind kind, pthread_rwlock_t *l, int ret)
{
	if (G.mode == SHIM_RECORD) {
		ev(t, kind, l, (uint64_t)ret, 0);
		return ret;
	}
	replay_waited(t);
	ret = (int)ev_result(t, kind, l, 0);
	if (ret == 0 && (kind == RLOG_RDLOCK ? REAL(pthread_rwlock_tryrdlock)(l)
					     : REAL(pthread_rwlock_trywrlock)(l)) == EBUSY)
		held(t, kind, l);
	ev_done(t);
	return ret;
}

/* One thread at a time: 1 when it need not wait. */
static int rwlock_try(enum rlog_kind kind, pthread_rwlock_t *l, int *ret)
{
	if (!G.serial)
		return 0;
	*ret = kind == RLOG_RDLOCK ? REAL(pthread_rwlock_tryrdlock)(l) : REAL(pthread_rwlock_trywrlock)(l);
	return *ret != EBUSY;
}

#define RWLOCK(name, params, args, kind, ts_check)                                                 \
	EXPORT int name params                                                                     \
	{                                                                                          \
		struct thr *t;                                                                     \
		int ret = 0;                                                                       \
                                                                                                   \
		if (!G.mt || !(t = shim_enter()))                                                  \
			return REAL(name) args;                                                    \
		CALLER();                                                                          \
		if (real_first(t) && !rwlock_try(kind, l, &ret)) {                                 \
			wait_begin(t);                                                             \
			ret = REAL(name) args;                                                     \
			wait_end(t);                                                               \
		}                                                                                  \
		ret = rwlock_event(t, kind, l, ret);                                               \
		shim_leave(t);                                                                     \
		return ret;                                                                        \
	}

RWLOCK(pthread_rwlock_rdlock, (pthread_rwlock_t * l), (l), RLOG_RDLOCK, )
RWLOCK(pthread_rwlock_tryrdlock, (pthread_rwlock_t * l), (l), RLOG_RDLOCK, )
RWLOCK(pthread_rwlock_timedrdlock, (pthread_rwlock_t * l, const struct timespec *ts), (l, ts),
       RLOG_RDLOCK, )
RWLOCK(pthread_rwlock_wrlock, (pthread_rwlock_t * l), (l), RLOG_WRLOCK, )
RWLOCK(pthread_rwlock_trywrlock, (pthread_rwlock_t * l), (l), RLOG_WRLOCK, )
RWLOCK(pthread_rwlock_timedwrlock, (pthread_rwlock_t * l, const struct timespec *ts), (l, ts),
       RLOG_WRLOCK, )

EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *l)
{
	struct thr *t;
	int ret;

	if (!G.mt || !(t = shim_enter()))
		return REAL(pthread_rwlock_unlock)(l);
	CALLER();
	ev(t, RLOG_RWUNLOCK, l, 0, 0);
	ret = REAL(pthread_rwlock_unlock)(l);
	ev_done(t);
	shim_leave(t);
	return ret;
}

/* ---- semaphores: a wait may depend on a handler or another process: always an event ---- */

static int sem_event(struct thr *t, sem_t *s, int ret)
{
	int64_t r = ret == 0 ? 0 : -errno;

	if (G.mode == SHIM_RECORD) {
		ev(t, RLOG_SEM_WAIT, s, (uint64_t)r, 0);
	} else {
		replay_cancellable(t);
		r = ev_result(t, RLOG_SEM_WAIT, s, 0);
		/* keeps the count as it was; a post from outside did not happen here */
		if (r == 0)
			REAL(sem_trywait)(s);
		ev_done(t);
		if (r == -ECANCELED)
			replay_cancelled(t);
	}
	return (int)r;
}

/* One thread at a time: 1 when it need not wait. */
static int sem_try(sem_t *s)
{
	return G.serial && REAL(sem_trywait)(s) == 0;
}

#define SEM_WAIT(name, params, args)                                                               \
	EXPORT int name params                                                                     \
	{                                                                                          \
		struct thr *t = shim_enter();                                                      \
		int ret = 0;                                                                       \
                                                                                                   \
		if (!t)                                                                            \
			return REAL(name) args;                                                    \
		CALLER();                                                                          \
		if (real_first(t) && !sem_try(s))                                                  \
			CANCELLABLE(t, RLOG_SEM_WAIT, s, ret, REAL(name) args);                    \
		ret = sem_event(t, s, ret);                                                        \
		shim_leave(t);                                                                     \
		if (ret < 0) {                                                                     \
			errno = -ret;                                                              \
			return -1;                                                                 \
		}                                                                                  \
		return 0;                                                                          \
	}

SEM_WAIT(sem_wait, (sem_t * s), (s))
SEM_WAIT(sem_trywait, (sem_t * s), (s))
SEM_WAIT(sem_timedwait, (sem_t * s, const struct timespec *ts), (s, ts))
SEM_WAIT(sem_clockwait, (sem_t * s, clockid_t clock, const struct timespec *ts), (s, clock, ts))

EXPORT int sem_post(sem_t *s)
{
	struct thr *t = shim_enter();
	int ret;

	if (!t)
		return REAL(sem_post)(s);
	CALLER();
	ev(t, RLOG_SEM_POST, s, 0, 0);
	ret = REAL(sem_post)(s);
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
	if (G.mode == SHIM_RECORD) {
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

/* ---- barriers ---- */

EXPORT int pthread_barrier_wait(pthread_barrier_t *b)
{
	struct thr *t = shim_enter();
	int64_t ret = 0;

	if (!t)
		return REAL(pthread_barrier_wait)(b);
	CALLER();
	ev(t, RLOG_BARRIER, b, 0, 0);
	if (G.mode == SHIM_RECORD) {
		wait_begin_event(t);
		ret = REAL(pthread_barrier_wait)(b);
		wait_end(t);
	}
	ev_done(t);
	if (G.mode == SHIM_REPLAY)
		replay_waited(t);
	ev_half(t, RLOG_BARRIER_LEFT, &ret, 0);
	shim_leave(t);
	return (int)ret;
}

DESTROY(pthread_barrier_destroy, pthread_barrier_t)

/* ---- spin locks ---- */

static int spin_event(struct thr *t, pthread_spinlock_t *l, int ret)
{
	if (G.mode == SHIM_RECORD) {
		ev(t, RLOG_SPIN_LOCK, (void *)l, (uint64_t)ret, 0);
		return ret;
	}
	ret = (int)ev_result(t, RLOG_SPIN_LOCK, (void *)l, 0);
	if (ret == 0 && REAL(pthread_spin_trylock)(l) == EBUSY)
		held(t, RLOG_SPIN_LOCK, (void *)l);
	ev_done(t);
	return ret;
}

/* One thread at a time: nobody else would let go of it while this one spins. */
static int real_spin_lock(struct thr *t, pthread_spinlock_t *l)
{
	int ret;

	if (!G.serial)
		return REAL(pthread_spin_lock)(l);
	ret = REAL(pthread_spin_trylock)(l);
	if (ret != EBUSY)
		return ret;
	wait_begin(t);
	ret = REAL(pthread_spin_lock)(l);
	wait_end(t);
	return ret;
}

#define SPIN(name, real)                                                                           \
	EXPORT int name(pthread_spinlock_t *l)                                                     \
	{                                                                                          \
		struct thr *t;                                                                     \
		int ret = 0;                                                                       \
                                                                                                   \
		if (!G.mt || !(t = shim_enter()))                                                  \
			return REAL(name)(l);                                                      \
		CALLER();                                                                          \
		if (real_first(t))                                                                 \
			ret = real;                                                                \
		ret = spin_event(t, l, ret);                                                       \
		shim_leave(t);                                                                     \
		return ret;                                                                        \
	}

SPIN(pthread_spin_lock, real_spin_lock(t, l))
SPIN(pthread_spin_trylock, REAL(pthread_spin_trylock)(l))

EXPORT int pthread_spin_unlock(pthread_spinlock_t *l)
{
	struct thr *t;
	int ret;

	if (!G.mt || !(t = shim_enter()))
		return REAL(pthread_spin_unlock)(l);
	CALLER();
	ev(t, RLOG_SPIN_UNLOCK, (void *)l, 0, 0);
	ret = REAL(pthread_spin_unlock)(l);
	ev_done(t);
	shim_leave(t);
	return ret;
}

/* ---- once: the routine is the program's code, so it runs outside the shim ---- */

struct once_call {
	void (*fn)(void);
	pthread_once_t *once;
};

static __thread struct once_call *once_now __attribute__((tls_model("initial-exec")));

static void once_routine(void)
{
	struct once_call *c = once_now;
	struct thr *t = self;

	if (t->blocking)
		wait_end(t); /* the routine does not wait */
	ev(t, RLOG_ONCE_RUN, c->once, 0, 0);
	ev_done(t);
	shim_leave(t);
	c->fn();
	t = self;
	t->depth = 1;
	t->selector = 0;
	ev(t, RLOG_ONCE_DONE, c->once, 0, 0);
	ev_done(t);
}

/* glibc: bit 0 while a routine runs, which may be in another thread; bit 1 when it is done. */
static int once_running(const pthread_once_t *once)
{
	return __atomic_load_n(once, __ATOMIC_ACQUIRE) & 1;
}

EXPORT int pthread_once(pthread_once_t *once, void (*fn)(void))
{
	struct once_call c = {fn, once}, *outer = once_now;
	struct thr *t;
	int ret;

	if (!G.mt || !(t = shim_enter()))
		return REAL(pthread_once)(once, fn);
	CALLER();
	once_now = &c;
	if (G.mode == SHIM_RECORD && once_running(once))
		wait_begin(t);
	ret = REAL(pthread_once)(once, once_routine);
	t = self;
	if (t->blocking)
		wait_end(t);
	once_now = outer;
	ev(t, RLOG_ONCE, once, 0, 0);
	ev_done(t);
	shim_leave(t);
	return ret;
}

/*
 * ---- cancel: orders the mark that it leaves at the other thread. Whether it also sends a signal depends
 * on what that thread does right then: that is no event (sys.c), and nothing is sent on replay ----
 */

EXPORT int pthread_cancel(pthread_t th)
{
	struct thr *t = shim_enter();
	int64_t ret;

	if (!t)
		return REAL(pthread_cancel)(th);
	CALLER();
	ev(t, RLOG_CALL, 0, RLOG_CALL_CANCEL, 0);
	t->cancelling = 1;
	shim_leave_quiet(t);
	ret = REAL(pthread_cancel)(th);
	t = self;
	t->selector = 0;
	t->depth = 1;
	t->cancelling = 0;
	ev_done(t);
	ev_callret(t, &ret, 0, 0);
	shim_leave(t);
	return (int)ret;
}
