/* SPDX-License-Identifier: MIT */
/* KIND: assertion */
/* SAYS: this update is lost */
/*
 * Two updates of a counter, of what another thread has set, are lost, and others come after them. What the counter is
 * compared with was computed before all of them. The other thread's first update, right before those, is not lost.
 */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

static long done, wanted;
static sem_t begun, added, read_it, wrote_it;

static void add(const volatile long *n, int slow)
{
	long now = done;

	if (slow) {
		sem_post(&read_it);
		sem_wait(&wrote_it);
	}
	done = now + *n; /* BUG */
}

static void *first(void *arg)
{
	add(arg, 0);
	sem_post(&begun);
	sem_wait(&added);
	for (int i = 0; i < 3; i++)
		add(arg, !i);
	return arg;
}

static void *second(void *arg)
{
	sem_wait(&begun);
	add(arg, 0);
	sem_post(&added);
	sem_wait(&read_it);
	add(arg, 0);
	add(arg, 0);
	sem_post(&wrote_it);
	return arg;
}

int main(void)
{
	pthread_t t[2];
	volatile long parts[] = {10, 5};

	sem_init(&begun, 0, 0);
	sem_init(&added, 0, 0);
	sem_init(&read_it, 0, 0);
	sem_init(&wrote_it, 0, 0);
	wanted = 4 * 10 + 3 * 5;
	pthread_create(&t[0], NULL, first, (void *)&parts[0]);
	pthread_create(&t[1], NULL, second, (void *)&parts[1]);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	assert(done == wanted);
	return 0;
}
