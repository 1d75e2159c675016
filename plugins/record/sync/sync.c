/* SPDX-License-Identifier: MIT */
/*
 * sync.c: mutexes, rwlocks, barriers, spin locks, once. Conditions and semaphores are in sync_wait.c.
 *
 * When recording, releases are logged before they take effect, acquires after. In a replay, one thread runs at a time,
 * so the real call never waits: an acquire that would wait is a divergence. As long as there has been one thread only,
 * plain locks make no events. When recording, an acquire first tries, since a wait costs a YIELD record, which gives up
 * the turn (gil.c), and shows where the thread is. If the program crashes inside a real acquire, that comes before its
 * record: a replay then makes the call at once.
 */
#include "record/sync/sync.h"
#include "record/core/real.h"
#include "record/core/state.h"
#include "record/event/cs.h"
#include "record/event/ev.h"
#include "record/event/quick.h"
#include "record/event/turn.h"
#include "record/preempt/ignored.h"
#include "record/sched/wait.h"
#include "record/sync/sync_group.h"

#include <errno.h>
#include <linux/futex.h>

/* ---- mutex ---- */

/*
 * If the owner of a mutex with priority inheritance has ended, the kernel takes the mutex for the waiting thread, and
 * writes its own number of that thread into it. If that is not the recorded number, libc takes the mutex for another
 * thread's.
 */
#define BY_INHERITANCE 0x20 /* in a mutex's kind, of glibc */
static void show_owner(const struct thr *t, pthread_mutex_t *m)
{
	unsigned *word = (unsigned *)&m->__data.__lock, was = *word;
	unsigned shown = (unsigned)(t->ordinal == 1 ? G.shown_pid : t->shown_tid);

	if (G.pid_ns && (m->__data.__kind & BY_INHERITANCE) && (was & FUTEX_TID_MASK) == (unsigned)t->tid)
		*word = (was & ~(unsigned)FUTEX_TID_MASK) | shown;
}

/* limited: as for WAIT_LIMITED. */
static int replay_mutex(struct thr *t, pthread_mutex_t *m, int limited)
{
	struct rlog_rec r;
	int64_t ret = 0;

	wait_is_shown(t, m, WAIT_MUTEX, limited);
	if (turn_peek(t, &r) && r.kind == RLOG_LOCK_RET)
		ret = ev_result(t, RLOG_LOCK_RET, m, 0);
	else
		ev(t, RLOG_LOCK, m, 0, 0);
	wait_was_shown(t);
	if (ret == 0 || ret == EOWNERDEAD) {
		int real = REAL(pthread_mutex_trylock)(m);

		if (real == EBUSY)
			held(t, RLOG_LOCK, m);
		show_owner(t, m);
	}
	ev_done(t);
	return (int)ret;
}

static void rec_mutex(struct thr *t, pthread_mutex_t *m, int ret)
{
	if (ret == 0 || ret == EOWNERDEAD)
		cs_locked(t);
	if (likely(ret == 0))
		ev(t, RLOG_LOCK, m, 0, 0);
	else
		ev(t, RLOG_LOCK_RET, m, (uint64_t)ret, 0);
}

static int try_for_a_while(const struct thr *t, pthread_mutex_t *m)
{
	int ret = EBUSY;

	/* no YIELD while other threads wait for this one to go on */
	for (unsigned i = 0; ret == EBUSY && i < SPIN_LOOKS && !G.serial && !t->cs; i++) {
		spin_pause(i);
		if (!__atomic_load_n(&m->__data.__lock, __ATOMIC_RELAXED))
			ret = REAL(pthread_mutex_trylock)(m);
	}
	return ret;
}

static int lock_wait(struct thr *t, pthread_mutex_t *m)
{
	int ret = try_for_a_while(t, m);

	if (ret == EBUSY) {
		ignored_add(m, sizeof(*m));
		wait_of(t, m, WAIT_MUTEX);
		wait_is_seen(t);
		wait_begin(t);
		ret = REAL(pthread_mutex_lock)(m);
		wait_end(t);
	}
	return ret;
}

/*
 * The code that makes events is in separate functions, so that a program of one thread pays no more than a jump. They
 * are called, not jumped to, so that the library's function is on the stack.
 */
static inline int called(int ret)
{
	__asm__ volatile("" : "+r"(ret));
	return ret;
}

static __attribute__((noinline)) int mutex_lock(pthread_mutex_t *m, uint64_t caller)
{
	struct thr *t = shim_enter();
	int ret;

	if (!t)
		return REAL(pthread_mutex_lock)(m);
	t->caller = caller;
	if (is_shared(m)) {
		ret = shared_lock(t, SHARED_MUTEX, m, 0, 0, 0);
		rec_mutex(t, m, ret);
	} else if (real_first(t)) {
		ret = REAL(pthread_mutex_trylock)(m);
		if (unlikely(ret == EBUSY))
			ret = lock_wait(t, m);
		if (likely(ret == 0) && quick(t)) {
			cs_locked(t);
			quick_lock(t, m);
			quick_leave(t);
			return 0;
		}
		rec_mutex(t, m, ret);
	} else {
		ret = replay_mutex(t, m, 0);
	}
	shim_leave(t);
	return ret;
}

/*
 * The process has one thread, which holds the mutex already: it waits for itself, for ever or until a signal handler
 * unlocks the mutex. (With a mutex of another kind, libc returns an error, or locks it once more.)
 */
#define NOT_NORMAL                                                                                                     \
	0xf3 /* in a mutex's kind, of glibc: recursive, error-checking, adaptive, robust, by priority, shared */
static __attribute__((noinline)) int mutex_lock_again(pthread_mutex_t *m, uint64_t caller)
{
	struct thr *t = (m->__data.__kind & NOT_NORMAL) ? 0 : shim_enter();
	int ret;

	if (!t)
		return REAL(pthread_mutex_lock)(m);
	t->caller = caller;
	if (real_first(t)) {
		ignored_add(m, sizeof(*m));
		wait_of(t, m, WAIT_MUTEX);
		wait_is_seen(t);
		wait_begin(t);
		ret = REAL(pthread_mutex_lock)(m);
		wait_end(t);
		ev(t, RLOG_LOCK, m, 0, 0); /* the only possible result: the mutex is unlocked without an event */
	} else {
		ret = replay_mutex(t, m, 0);
	}
	shim_leave(t);
	return ret;
}

EXPORT int pthread_mutex_lock(pthread_mutex_t *m)
{
	if (unlikely(!G.mt && m->__data.__lock))
		return called(mutex_lock_again(m, (uint64_t)__builtin_return_address(0)));
	return !G.mt ? REAL(pthread_mutex_lock)(m) : called(mutex_lock(m, (uint64_t)__builtin_return_address(0)));
}

EXPORT int pthread_mutex_trylock(pthread_mutex_t *m)
{
	struct thr *t;
	int ret;

	if (!G.mt || !(t = shim_enter()))
		return REAL(pthread_mutex_trylock)(m);
	CALLER();
	if (real_first(t)) {
		ret = is_shared(m) ? shared_lock(t, SHARED_MUTEX, m, 1, 0, 0) : REAL(pthread_mutex_trylock)(m);
		rec_mutex(t, m, ret);
	} else {
		ret = replay_mutex(t, m, 1);
	}
	shim_leave(t);
	return ret;
}

/* clock: NULL for pthread_mutex_timedlock */
static int lock_timed(struct thr *t, pthread_mutex_t *m, const clockid_t *clock, const struct timespec *ts)
{
	int ret;

	if (!real_first(t))
		return replay_mutex(t, m, 1);
	if (is_shared(m))
		ret = shared_lock(t, SHARED_MUTEX, m, 0, clock ? *clock : CLOCK_REALTIME, ts);
	else
		ret = REAL(pthread_mutex_trylock)(m);
	if (ret == EBUSY) {
		ignored_add(m, sizeof(*m));
		wait_of(t, m, WAIT_OTHER);
		wait_is_seen(t);
		wait_begin(t);
		ret = clock ? REAL(pthread_mutex_clocklock)(m, *clock, ts) : REAL(pthread_mutex_timedlock)(m, ts);
		wait_end(t);
	}
	rec_mutex(t, m, ret);
	return ret;
}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *ts)
{
	struct thr *t = shim_enter();
	int ret;

	if (!t)
		return REAL(pthread_mutex_timedlock)(m, ts);
	CALLER();
	ret = lock_timed(t, m, NULL, ts);
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
	ret = lock_timed(t, m, &clock, ts);
	shim_leave(t);
	return ret;
}

/* Gives up the turn first: a thread that waits for the mutex should find both free. */
static inline int real_unlock(struct thr *t, pthread_mutex_t *m)
{
	uint32_t held = t->mutexes;
	int ret;

	if (G.mode == SHIM_REPLAY)
		return REAL(pthread_mutex_unlock)(m);
	cs_unlocked(t);
	ret = REAL(pthread_mutex_unlock)(m);
	if (unlikely(ret)) { /* the thread does not hold it */
		t->mutexes = held;
		if (!t->cs && !G.serial)
			cs_resume(t);
	}
	return ret;
}

static __attribute__((noinline)) int mutex_unlock(pthread_mutex_t *m, uint64_t caller)
{
	struct thr *t = shim_enter();
	int ret;

	if (!t)
		return REAL(pthread_mutex_unlock)(m);
	t->caller = caller;
	if (quick(t)) {
		quick_unlock(t, m);
		ret = real_unlock(t, m);
		quick_leave(t);
		return ret;
	}
	shared_before(m, sizeof(*m));
	ev(t, RLOG_UNLOCK, m, 0, 0);
	ret = real_unlock(t, m);
	shared_released(m);
	ev_done(t);
	shim_leave(t);
	return ret;
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *m)
{
	return !G.mt ? REAL(pthread_mutex_unlock)(m) : called(mutex_unlock(m, (uint64_t)__builtin_return_address(0)));
}

DESTROY(pthread_mutex_destroy, pthread_mutex_t)

/* ---- rwlocks ---- */

static int rwlock_event(struct thr *t, enum rlog_kind kind, pthread_rwlock_t *l, int limited, int ret)
{
	if (G.mode != SHIM_REPLAY) {
		ev(t, kind, l, (uint64_t)ret, 0);
		return ret;
	}
	wait_is_shown(t, l, WAIT_RWLOCK, limited);
	ret = (int)ev_result(t, kind, l, 0);
	wait_was_shown(t);
	if (ret == 0 &&
	    (kind == RLOG_RDLOCK ? REAL(pthread_rwlock_tryrdlock)(l) : REAL(pthread_rwlock_trywrlock)(l)) == EBUSY)
		held(t, kind, l);
	ev_done(t);
	return ret;
}

/* 1: it need not wait; *ret is the result. */
static int rwlock_try(struct thr *t, enum rlog_kind kind, pthread_rwlock_t *l, int *ret, int once,
		      const struct timespec *ts)
{
	if (is_shared(l)) {
		*ret = shared_lock(t, kind == RLOG_RDLOCK ? SHARED_RDLOCK : SHARED_WRLOCK, l, once, CLOCK_REALTIME, ts);
		return 1;
	}
	*ret = kind == RLOG_RDLOCK ? REAL(pthread_rwlock_tryrdlock)(l) : REAL(pthread_rwlock_trywrlock)(l);
	return *ret != EBUSY || (once && !G.serial);
}

#define RWLOCK(name, params, args, kind, once, ts)                                                                     \
	EXPORT int name params                                                                                         \
	{                                                                                                              \
		struct thr *t;                                                                                         \
		int ret = 0;                                                                                           \
                                                                                                                       \
		if (!G.mt || !(t = shim_enter()))                                                                      \
			return REAL(name) args;                                                                        \
		CALLER();                                                                                              \
		if (real_first(t) && !rwlock_try(t, kind, l, &ret, once, ts)) {                                        \
			ignored_add(l, sizeof(*l));                                                                    \
			wait_of(t, l, (ts) ? WAIT_OTHER : WAIT_RWLOCK);                                                \
			wait_is_seen(t);                                                                               \
			wait_begin(t);                                                                                 \
			ret = REAL(name) args;                                                                         \
			wait_end(t);                                                                                   \
		}                                                                                                      \
		ret = rwlock_event(t, kind, l, (ts) || (once), ret);                                                   \
		shim_leave(t);                                                                                         \
		return ret;                                                                                            \
	}

RWLOCK(pthread_rwlock_rdlock, (pthread_rwlock_t * l), (l), RLOG_RDLOCK, 0, 0)
RWLOCK(pthread_rwlock_tryrdlock, (pthread_rwlock_t * l), (l), RLOG_RDLOCK, 1, 0)
RWLOCK(pthread_rwlock_timedrdlock, (pthread_rwlock_t * l, const struct timespec *ts), (l, ts), RLOG_RDLOCK, 0, ts)
RWLOCK(pthread_rwlock_wrlock, (pthread_rwlock_t * l), (l), RLOG_WRLOCK, 0, 0)
RWLOCK(pthread_rwlock_trywrlock, (pthread_rwlock_t * l), (l), RLOG_WRLOCK, 1, 0)
RWLOCK(pthread_rwlock_timedwrlock, (pthread_rwlock_t * l, const struct timespec *ts), (l, ts), RLOG_WRLOCK, 0, ts)

EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *l)
{
	struct thr *t;
	int ret;

	if (!G.mt || !(t = shim_enter()))
		return REAL(pthread_rwlock_unlock)(l);
	CALLER();
	shared_before(l, sizeof(*l));
	ev(t, RLOG_RWUNLOCK, l, 0, 0);
	ret = REAL(pthread_rwlock_unlock)(l);
	shared_released(l);
	ev_done(t);
	shim_leave(t);
	return ret;
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
	if (G.mode != SHIM_REPLAY) {
		ignored_add(b, sizeof(*b));
		wait_of(t, b, WAIT_BARRIER);
		wait_begin_event(t);
		ret = REAL(pthread_barrier_wait)(b);
		wait_end(t);
	}
	wait_is_shown(t, b, WAIT_BARRIER, 0);
	ev_done(t);
	ev_half(t, RLOG_BARRIER_LEFT, &ret, 0);
	wait_was_shown(t);
	shim_leave(t);
	return (int)ret;
}

DESTROY(pthread_barrier_destroy, pthread_barrier_t)

/* ---- spin locks ---- */

static int spin_event(struct thr *t, pthread_spinlock_t *l, int ret)
{
	if (G.mode != SHIM_REPLAY) {
		ev(t, RLOG_SPIN_LOCK, (void *)l, (uint64_t)ret, 0);
		return ret;
	}
	ret = (int)ev_result(t, RLOG_SPIN_LOCK, (void *)l, 0);
	if (ret == 0 && REAL(pthread_spin_trylock)(l) == EBUSY)
		held(t, RLOG_SPIN_LOCK, (void *)l);
	ev_done(t);
	return ret;
}

#define SPIN_TRIES 2000u

/* With one thread at a time, no other thread could unlock it while this one spins. */
static int real_spin_lock(struct thr *t, pthread_spinlock_t *l)
{
	int ret = REAL(pthread_spin_trylock)(l);

	for (unsigned i = 0; ret == EBUSY && i < SPIN_TRIES && !G.serial; i++) {
		__builtin_ia32_pause();
		if (!__atomic_load_n(l, __ATOMIC_RELAXED))
			continue;
		ret = REAL(pthread_spin_trylock)(l);
	}
	if (ret != EBUSY)
		return ret;
	wait_is_seen(t);
	wait_begin(t);
	ret = REAL(pthread_spin_lock)(l);
	wait_end(t);
	return ret;
}

#define SPIN(name, real)                                                                                               \
	EXPORT int name(pthread_spinlock_t *l)                                                                         \
	{                                                                                                              \
		struct thr *t;                                                                                         \
		int ret = 0;                                                                                           \
                                                                                                                       \
		if (!G.mt || !(t = shim_enter()))                                                                      \
			return REAL(name)(l);                                                                          \
		CALLER();                                                                                              \
		if (real_first(t))                                                                                     \
			ret = real;                                                                                    \
		ret = spin_event(t, l, ret);                                                                           \
		shim_leave(t);                                                                                         \
		return ret;                                                                                            \
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

/* ---- once: the routine is the program's code, so it runs outside the recorder ---- */

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
	struct rlog_rec r;
	struct thr *t;
	int ret;

	if (!G.mt || !(t = shim_enter()))
		return REAL(pthread_once)(once, fn);
	CALLER();
	once_now = &c;
	if (G.mode == SHIM_REPLAY) {
		turn_peek(t, &r); /* waits for the turn after a wait; by then the routine has run, if another thread ran
				     it */
	} else if (G.mode == SHIM_RECORD && once_running(once)) {
		wait_is_seen(t);
		wait_begin(t);
	}
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
