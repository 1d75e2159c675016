/* SPDX-License-Identifier: MIT */
/* KIND: assertion */
/* NOT-SAID: took back here */
/* A thread makes the new value of a count by a call, with the lock held: no update is lost. */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int users = 3, least;
static sem_t in, out;
static __attribute__((noinline)) int plus(int a, int b) { return a + b; }
static void *a(void *arg)
{
	pthread_mutex_lock(&m); users = users + 1; pthread_mutex_unlock(&m);
	sem_post(&in);
	sem_wait(&out);
	pthread_mutex_lock(&m); users = users - 1; pthread_mutex_unlock(&m);
	return arg;
}
static void *b(void *arg)
{
	sem_wait(&in);
	pthread_mutex_lock(&m);
	users = plus(users, 5);
	pthread_mutex_unlock(&m);
	sem_post(&out);
	return arg;
}
int main(void)
{
	pthread_t t[2];
	sem_init(&in, 0, 0);
	sem_init(&out, 0, 0);
	pthread_create(&t[0], 0, a, 0);
	pthread_create(&t[1], 0, b, 0);
	pthread_join(t[0], 0);
	pthread_join(t[1], 0);
	least = 9; /* BUG */
	assert(users >= least);
	return 0;
}
