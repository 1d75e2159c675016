/* SPDX-License-Identifier: MIT */
/*
 * c11.c: C11 threads, in terms of the POSIX wrappers: glibc's objects are the same underneath. (libc's
 * own thrd_create and so on do not pass through the symbols that we interpose.)
 */
#include "record/core/state.h"

#include <errno.h>
#include <threads.h>

static int c11_result(int err)
{
	switch (err) {
	case 0:
		return thrd_success;
	case EBUSY:
		return thrd_busy;
	case ETIMEDOUT:
		return thrd_timedout;
	case ENOMEM:
		return thrd_nomem;
	}
	return thrd_error;
}

EXPORT int thrd_create(thrd_t *out, thrd_start_t fn, void *arg)
{
	/* an int in eax is the low half of a pointer in rax, and thrd_join uses that half only */
	return c11_result(pthread_create(out, NULL, (void *(*)(void *))(void *)fn, arg));
}

EXPORT int thrd_join(thrd_t th, int *res)
{
	void *val = NULL;
	int err = pthread_join(th, &val);

	if (res)
		*res = (int)(intptr_t)val;
	return c11_result(err);
}

EXPORT int thrd_detach(thrd_t th)
{
	return c11_result(pthread_detach(th));
}

EXPORT int mtx_lock(mtx_t *m)
{
	return c11_result(pthread_mutex_lock((pthread_mutex_t *)m));
}

EXPORT int mtx_trylock(mtx_t *m)
{
	return c11_result(pthread_mutex_trylock((pthread_mutex_t *)m));
}

EXPORT int mtx_timedlock(mtx_t *m, const struct timespec *ts)
{
	return c11_result(pthread_mutex_timedlock((pthread_mutex_t *)m, ts));
}

EXPORT int mtx_unlock(mtx_t *m)
{
	return c11_result(pthread_mutex_unlock((pthread_mutex_t *)m));
}

EXPORT void mtx_destroy(mtx_t *m)
{
	pthread_mutex_destroy((pthread_mutex_t *)m);
}

EXPORT int cnd_wait(cnd_t *c, mtx_t *m)
{
	return c11_result(pthread_cond_wait((pthread_cond_t *)c, (pthread_mutex_t *)m));
}

EXPORT int cnd_timedwait(cnd_t *c, mtx_t *m, const struct timespec *ts)
{
	return c11_result(pthread_cond_timedwait((pthread_cond_t *)c, (pthread_mutex_t *)m, ts));
}

EXPORT int cnd_signal(cnd_t *c)
{
	return c11_result(pthread_cond_signal((pthread_cond_t *)c));
}

EXPORT int cnd_broadcast(cnd_t *c)
{
	return c11_result(pthread_cond_broadcast((pthread_cond_t *)c));
}

EXPORT void cnd_destroy(cnd_t *c)
{
	pthread_cond_destroy((pthread_cond_t *)c);
}

EXPORT void call_once(once_flag *once, void (*fn)(void))
{
	pthread_once((pthread_once_t *)once, fn);
}
