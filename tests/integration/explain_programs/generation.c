/* SPDX-License-Identifier: MIT */
/* KIND: deadlock */
/* SAYS: it has read the value before */
/* A thread waits until a number is another one than when it looked: the last change of that number is no cause. */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int waiting;
static unsigned generation;

static void meet(int members)
{
	unsigned mine;

	pthread_mutex_lock(&lock);
	mine = generation;
	if (++waiting == members) {
		waiting = 0;
		generation++;
		pthread_cond_broadcast(&cond);
	} else {
		while (mine == generation)
			pthread_cond_wait(&cond, &lock); /* BUG */
	}
	pthread_mutex_unlock(&lock);
}

static void *meets(void *arg)
{
	meet(2);
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, meets, NULL);
	meet(2);
	pthread_join(t, NULL);
	meet(2);
	return 0;
}
