/* SPDX-License-Identifier: MIT */
/* KIND: deadlock */
/* NOT-SAID: none is left */
/* The thread that was to wake another one waits itself; that one that did wake it has ended, as it should, is no cause.
 */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER, start = PTHREAD_COND_INITIALIZER;
static int n, started;

static void put(void)
{
	pthread_mutex_lock(&lock);
	n++;
	pthread_cond_signal(&more);
	pthread_mutex_unlock(&lock);
}

static void *first(void *arg)
{
	put();
	return arg;
}

static void *second(void *arg)
{
	pthread_mutex_lock(&lock);
	while (!started)
		pthread_cond_wait(&start, &lock);
	pthread_mutex_unlock(&lock);
	put();
	return arg;
}

static void take(void)
{
	pthread_mutex_lock(&lock);
	while (!n)
		pthread_cond_wait(&more, &lock);
	n--; /* BUG, as far as is known: nobody sets `started' */
	pthread_mutex_unlock(&lock);
}

int main(void)
{
	pthread_t t[2];

	pthread_create(&t[0], NULL, second, NULL);
	pthread_create(&t[1], NULL, first, NULL);
	take();
	take();
	return 0;
}
