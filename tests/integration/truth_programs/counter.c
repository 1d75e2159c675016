/* SPDX-License-Identifier: MIT */
/*
 * counter.c: threads that count under a mutex, in whichever order.
 *
 * CI: -O2
 * EXPR: counter < 9
 * EXPR: parts[0] + parts[1] + parts[2] == counter
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

volatile int pass;
int counter, parts[3];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
	long n = (long)arg;

	for (int i = 0; i < 5; i++) {
		pthread_mutex_lock(&lock);
		pass = counter;
		counter++;
		parts[n] += counter == 12 ? 2 : 1;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[3];

	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	puts("end");
	_exit(1);
}
