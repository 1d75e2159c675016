/* SPDX-License-Identifier: MIT */
/*
 * waiting_handlers.c: a thread waits for another one, and the handler of a signal that comes meanwhile waits itself, as
 * those do by which collectors of garbage stop threads: the first wait goes on afterwards.
 * RECORD: --sched serial
 */
#include "check.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

static sem_t answered, go, asleep, again;
static atomic_int left;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static int may_go;

static void until(sem_t *s)
{
	while (sem_wait(s))
		CHECK(errno == EINTR);
}

static void handler(int sig)
{
	(void)sig;
	sem_post(&answered);
	until(&go);
	pthread_mutex_lock(&inner);
	pthread_mutex_unlock(&inner);
	left++;
}

static void in_mutex(void)
{
	CHECK(pthread_mutex_lock(&held) == 0 && pthread_mutex_unlock(&held) == 0);
}

static void in_cond(void)
{
	pthread_mutex_lock(&lock);
	while (!may_go)
		CHECK(pthread_cond_wait(&cond, &lock) == 0);
	pthread_mutex_unlock(&lock);
}

static void in_rwlock(void)
{
	CHECK(pthread_rwlock_rdlock(&rw) == 0 && pthread_rwlock_unlock(&rw) == 0);
}

static void in_sem(void)
{
	until(&again);
}

static void release(void)
{
	CHECK(pthread_mutex_unlock(&held) == 0 && pthread_rwlock_unlock(&rw) == 0);
	pthread_mutex_lock(&lock);
	may_go = 1;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
	sem_post(&again);
}

static void *waits(void *arg)
{
	void (*wait)(void);

	memcpy(&wait, &arg, sizeof(wait));
	sem_post(&asleep);
	wait();
	return NULL;
}

int main(void)
{
	static void (*const all[])(void) = {in_sem, in_rwlock, in_cond, in_mutex};
	enum { N = sizeof(all) / sizeof(all[0]) };
	struct sigaction sa = {.sa_handler = handler};
	pthread_t t[N];

	sem_init(&answered, 0, 0);
	sem_init(&go, 0, 0);
	sem_init(&asleep, 0, 0);
	sem_init(&again, 0, 0);
	NEED(sigaction(SIGUSR1, &sa, NULL) == 0);
	CHECK(pthread_mutex_lock(&held) == 0 && pthread_rwlock_wrlock(&rw) == 0);
	for (int i = 0; i < N; i++) {
		void *arg;

		memcpy(&arg, &all[i], sizeof(arg));
		NEED(pthread_create(&t[i], NULL, waits, arg) == 0);
		until(&asleep);
	}
	for (int round = 0; round < 3; round++) {
		CHECK(pthread_mutex_lock(&inner) == 0);
		for (int i = 0; i < N; i++) {
			CHECK(pthread_kill(t[i], SIGUSR1) == 0);
			until(&answered);
		}
		for (int i = 0; i < N; i++)
			sem_post(&go);
		CHECK(pthread_mutex_unlock(&inner) == 0);
		while (left < N * (round + 1)) /* nobody else wants to run when a handler returns */
			nanosleep(&(struct timespec){0, 50000000}, NULL);
	}
	release();
	for (int i = 0; i < N; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	step("waits that were interrupted by handlers that wait");
	return check_status();
}
