/* SPDX-License-Identifier: MIT */
/* Two threads wait for each other's mutex, one for a limited time: that is no deadlock. KIND: signal NOTHING-FOUND */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static sem_t locked;

static void *other(void *arg)
{
	struct timespec t;

	pthread_mutex_lock(&b);
	sem_post(&locked);
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += 1000;
	if (!fork()) {
		usleep(20000);
		kill(getppid(), SIGKILL);
		_exit(0);
	}
	pthread_mutex_timedlock(&a, &t);
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_mutex_lock(&a);
	sem_init(&locked, 0, 0);
	pthread_create(&t, NULL, other, NULL);
	sem_wait(&locked);
	pthread_mutex_lock(&b);
	return 0;
}
