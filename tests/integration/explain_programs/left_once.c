/* SPDX-License-Identifier: MIT */
/* A thread leaves one of several calls of a function with a reader's lock, and later ones without. KIND: deadlock */
#include <pthread.h>
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int values[4] = {1, 2, -1, 3}, sum;
static __attribute__((noinline)) int get(int i)
{
	pthread_rwlock_rdlock(&lock);
	if (values[i] < 0)
		return 0; /* BUG */
	sum += values[i];
	pthread_rwlock_unlock(&lock);
	return 1;
}
static void *reads(void *arg)
{
	for (int i = 0; i < 4; i++)
		get(i);
	return arg;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, reads, NULL);
	pthread_join(t, NULL);
	pthread_rwlock_wrlock(&lock);
	sum = 0;
	pthread_rwlock_unlock(&lock);
	return 0;
}
