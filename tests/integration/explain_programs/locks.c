/* SPDX-License-Identifier: MIT */
/* Two locks in two orders. KIND: deadlock */
#include <pthread.h>
#include <semaphore.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static sem_t s1, s2;

static void *one(void *arg)
{
	pthread_mutex_lock(&a);
	sem_post(&s1);
	sem_wait(&s2);
	pthread_mutex_lock(&b); /* BUG */
	return arg;
}

static void *two(void *arg)
{
	pthread_mutex_lock(&b);
	sem_post(&s2);
	sem_wait(&s1);
	pthread_mutex_lock(&a); /* BUG */
	return arg;
}

int main(void)
{
	pthread_t t[2];

	sem_init(&s1, 0, 0);
	sem_init(&s2, 0, 0);
	pthread_create(&t[0], NULL, one, NULL);
	pthread_create(&t[1], NULL, two, NULL);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	return 0;
}
