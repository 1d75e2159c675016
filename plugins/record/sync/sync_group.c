/* SPDX-License-Identifier: MIT */
/*
 * sync_group.c: locks and semaphores in memory that processes share, recorded.
 *
 * A wait in libc would change such an object while the process does not have the group's turn. So no thread waits in
 * the real object: the thread tries it while it has the turn, and between the tries the process waits on the word that
 * the group's page has for the object.
 */
#include "record/sync/sync_group.h"
#include "record/core/real.h"
#include "record/core/state.h"
#include "record/sched/wait.h"
#include "record/shm/group.h"

#include <errno.h>
#include <semaphore.h>
#include <time.h>

#define ROBUST 16 /* glibc: in __kind */

static int is_over(clockid_t clock, const struct timespec *ts)
{
	struct timespec now;

	if (!ts)
		return 0;
	raw2(SYS_clock_gettime, clock, &now);
	return now.tv_sec > ts->tv_sec || (now.tv_sec == ts->tv_sec && now.tv_nsec >= ts->tv_nsec);
}

static int try_sem(void *s)
{
	int saved = errno, ret = REAL(sem_trywait)(s) ? errno : 0;

	errno = saved;
	return ret == EAGAIN ? EBUSY : ret;
}

/* The kernel marks a robust mutex when its owner dies; no process of the group did this. */
static int try_mutex(void *p)
{
	pthread_mutex_t *m = p;

	if (m->__data.__kind & ROBUST) {
		pages_pin(m);
		pages_kernel_word(self, (uint32_t *)&m->__data.__lock);
	}
	return REAL(pthread_mutex_trylock)(m);
}

static int try_rdlock(void *l)
{
	return REAL(pthread_rwlock_tryrdlock)(l);
}

static int try_wrlock(void *l)
{
	return REAL(pthread_rwlock_trywrlock)(l);
}

static const struct {
	uint32_t size;
	int (*try)(void *obj);
} kinds[] = {
	[SHARED_SEM] = {sizeof(sem_t), try_sem},
	[SHARED_MUTEX] = {sizeof(pthread_mutex_t), try_mutex},
	[SHARED_RDLOCK] = {sizeof(pthread_rwlock_t), try_rdlock},
	[SHARED_WRLOCK] = {sizeof(pthread_rwlock_t), try_wrlock},
};

int shared_lock(struct thr *t, enum shared_kind kind, void *obj, int once, clockid_t clock, const struct timespec *ts)
{
	for (;;) {
		uint32_t seen = group_seen(obj);
		long woke;
		int ret;

		pages_touch(obj, kinds[kind].size, 1);
		ret = kinds[kind].try(obj);
		if (ret != EBUSY || once)
			return ret;
		if (is_over(clock, ts))
			return ETIMEDOUT;
		t->interrupted = 0;
		wait_begin(t);
		woke = group_wait(obj, seen);
		wait_end(t);
		if (woke == -EINTR && kind == SHARED_SEM && t->interrupted != INTERRUPTED_BY_US)
			return EINTR;
	}
}

void shared_cond_wait(struct thr *t, pthread_cond_t *c, pthread_mutex_t *m, uint32_t seen, clockid_t clock,
		      const struct timespec *ts, int64_t *ret)
{
	REAL(pthread_mutex_unlock)(m);
	group_wake(m);
	*ret = 0;
	while (group_seen(c) == seen) {
		if (is_over(clock, ts)) {
			*ret = ETIMEDOUT;
			break;
		}
		wait_begin_event(t);
		group_wait(c, seen);
		wait_end(t);
	}
	shared_lock(t, SHARED_MUTEX, m, 0, 0, 0);
}
