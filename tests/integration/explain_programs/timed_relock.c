/* SPDX-License-Identifier: MIT */
/* A thread ends with a mutex that another one, whose wait for a condition has expired, needs to go on. It locks by a
 * function of its own, which is no cause. KIND: deadlock */
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int done, to_killer[2];

static void __attribute__((noipa)) safe_lock(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
}

static int __attribute__((noinline)) put(int n)
{
	safe_lock(&lock);
	if (n)
		return n; /* BUG */
	pthread_mutex_unlock(&lock);
	return 0;
}

static void *other(void *arg)
{
	put(1);
	pthread_cond_signal(&cond);
	return arg;
}

static void *ends(void *arg)
{
	pthread_join(*(pthread_t *)arg, NULL);
	close(to_killer[1]);
	return arg;
}

int main(void)
{
	struct timespec t;
	pthread_t one, two;

	pipe(to_killer);
	if (!fork()) {
		close(to_killer[1]);
		read(to_killer[0], &done, 1);
		kill(getppid(), SIGKILL);
		_exit(0);
	}
	pthread_mutex_lock(&lock);
	pthread_create(&one, NULL, other, NULL);
	pthread_create(&two, NULL, ends, &one);
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec = 0;
	while (!done)
		pthread_cond_timedwait(&cond, &lock, &t);
	return 0;
}
