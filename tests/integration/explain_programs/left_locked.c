/* SPDX-License-Identifier: MIT */
/* A thread ends with a lock: where it left the function that got it. KIND: deadlock */
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int stock = 3;
static __attribute__((noinline)) int buy(int n)
{
	pthread_mutex_lock(&m);
	if (stock < n)
		return -1; /* BUG */
	stock -= n;
	pthread_mutex_unlock(&m);
	return 0;
}
static void *client(void *arg)
{
	return buy((int)(long)arg) ? arg : NULL;
}
int main(void)
{
	pthread_t t[3];
	for (long i = 0; i < 3; i++) {
		pthread_create(&t[i], NULL, client, (void *)(i + 1));
		pthread_join(t[i], NULL);
	}
	buy(1);
	pthread_create(&t[0], NULL, client, (void *)1);
	pthread_join(t[0], NULL);
	return 0;
}
