/* SPDX-License-Identifier: MIT */
/* counters.c: variables of all kinds that two threads count without a lock. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

struct pair {
	int first, second;
};

static struct {
	long total;
	struct pair pairs[3];
} table;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static int locked, half_locked, sent, got, *lent;
static _Thread_local int own;
static char text[200], copy[200];

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

/* What the kernel reads and writes for a thread. */
static void *by_kernel(void *arg)
{
	const int *ends = arg;
	ssize_t n;

	n = write(ends[1], &sent, sizeof(sent)); /* RACE: sent */
	n += read(ends[0], &got, sizeof(got)); /* RACE: got */
	memcpy(copy, text, sizeof(text)); /* RACE: text[70] */
	return (void *)n;
}

static void *meanwhile(void *arg)
{
	sent++; /* RACE: sent */
	got++; /* RACE: got */
	text[70]++; /* RACE: text[70] */
	return arg;
}

static void *lends(void *arg)
{
	lent = &own;
	pthread_barrier_wait(&barrier);
	own++; /* RACE: - */
	pthread_barrier_wait(&barrier);
	return arg;
}

static void *borrows(void *arg)
{
	pthread_barrier_wait(&barrier);
	(*lent)++; /* RACE: - */
	pthread_barrier_wait(&barrier);
	return arg;
}

static void both(void *(*f)(void *), void *(*g)(void *), void *a, void *b)
{
	pthread_t t[2];

	pthread_create(&t[0], NULL, f, a);
	pthread_create(&t[1], NULL, g, b);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
}

int main(void)
{
	int local = 0, ends[2];

	if (pipe(ends) || pthread_barrier_init(&barrier, NULL, 2))
		return 1;
	both(count, count, &local, &local);
	both(by_kernel, meanwhile, ends, ends);
	both(lends, borrows, NULL, NULL);
	both(wrong_lock, wrong_lock, &lock, &other);
	return locked + local + half_locked == 0;
}
