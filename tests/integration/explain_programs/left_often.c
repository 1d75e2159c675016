/* SPDX-License-Identifier: MIT */
/* KIND: deadlock */
/* NOT-SAID: when it left */
/* A thread leaves a call with a lock, and so many later ones return to the same place that this one is not known. */
#include <pthread.h>
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int values[120] = {1, 2, -1, 3}, sum;
static __attribute__((noinline)) int get(int i)
{
	pthread_rwlock_rdlock(&lock); /* BUG */
	if (values[i] < 0)
		return 0;
	sum += values[i];
	pthread_rwlock_unlock(&lock);
	return 1;
}
static void *reads(void *arg)
{
	for (int i = 0; i < 120; i++)
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
