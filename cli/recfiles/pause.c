/* SPDX-License-Identifier: MIT */
/* pause.c: see pause.h. */
#include "recfiles/pause.h"

#include <errno.h>
#include <time.h>

bool pause_ms(pthread_mutex_t *lock, pthread_cond_t *wake, const bool *stop, unsigned ms)
{
	struct timespec at;
	bool is_over;

	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_sec += ms / 1000;
	at.tv_nsec += (long)(ms % 1000) * 1000000;
	at.tv_sec += at.tv_nsec / 1000000000;
	at.tv_nsec %= 1000000000;
	pthread_mutex_lock(lock);
	while (!*stop && pthread_cond_clockwait(wake, lock, CLOCK_MONOTONIC, &at) != ETIMEDOUT)
		;
	is_over = *stop;
	pthread_mutex_unlock(lock);
	return is_over;
}
