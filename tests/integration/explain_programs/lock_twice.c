/* SPDX-License-Identifier: MIT */
/* A thread takes a lock twice; as long as it is alone, locks are no events. KIND: deadlock */
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int n;
static __attribute__((noinline)) void inc(void)
{
	pthread_mutex_lock(&m);
	n++;
	pthread_mutex_unlock(&m);
}
int main(void)
{
	inc();
	pthread_mutex_lock(&m); /* BUG */
	inc();
	pthread_mutex_unlock(&m);
	return 0;
}
