/* SPDX-License-Identifier: MIT */
/* KIND: deadlock */
/* SAYS: nobody is left that has ever woken thread 1 */
/* A thread waits for room, which it has used up itself, and the only one that ever made room has left. */
#include <pthread.h>

#define ROOM 2

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static int used, taken;

static int take(void)
{
	pthread_mutex_lock(&lock);
	while (!used)
		pthread_cond_wait(&more, &lock);
	used--;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&lock);
	return taken++;
}

static void *consumer(void *arg)
{
	while (arg) {
		if (take() == 3)
			return NULL; /* BUG */
		arg = &taken;
	}
	return arg;
}

static void put(void)
{
	pthread_mutex_lock(&lock);
	while (used == ROOM)
		pthread_cond_wait(&cond, &lock);
	used++;
	pthread_cond_signal(&more);
	pthread_mutex_unlock(&lock);
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, consumer, &taken);
	for (int i = 0; i < 8; i++)
		put();
	pthread_join(t, NULL);
	return 0;
}
