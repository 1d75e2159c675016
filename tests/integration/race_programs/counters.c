/* SPDX-License-Identifier: MIT */
/* counters.c: variables of all kinds that two threads count without a lock. */
#include <pthread.h>

struct pair {
	int first, second;
};

static struct {
	long total;
	struct pair pairs[3];
} table;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static int locked, half_locked;

static void *count(void *arg)
{
	static int calls;
	int *local = arg;

	calls++; /* RACE: calls */
	table.total += 2; /* RACE: table.total */
	table.pairs[2].second++; /* RACE: table.pairs[2].second */
	(*local)++; /* RACE: local */
	pthread_mutex_lock(&lock);
	locked++;
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *wrong_lock(void *arg)
{
	pthread_mutex_t *mine = arg;

	pthread_mutex_lock(mine);
	half_locked++; /* RACE: half_locked */
	pthread_mutex_unlock(mine);
	return NULL;
}

static void both(void *(*f)(void *), void *a, void *b)
{
	pthread_t t[2];

	pthread_create(&t[0], NULL, f, a);
	pthread_create(&t[1], NULL, f, b);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
}

int main(void)
{
	int local = 0;

	both(count, &local, &local);
	both(wrong_lock, &lock, &other);
	return locked + local + half_locked == 0;
}
