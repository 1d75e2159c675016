/* SPDX-License-Identifier: MIT */
/* good_order.c: what all kinds of synchronisation order is no race. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 3
#define ROUNDS 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static sem_t sem;
static int by_lock, by_rwlock, by_spin, by_once, by_barrier[THREADS], ready, handed, piped, ends[2], sum;
static char bytes[THREADS];
static char *block;

static void initialize(void)
{
	by_once = 7;
}

static void locks(int id)
{
	pthread_mutex_lock(&lock);
	by_lock++;
	block = realloc(block, (size_t)by_lock * 40);
	memset(block, id, (size_t)by_lock * 40);
	pthread_mutex_unlock(&lock);
	pthread_rwlock_rdlock(&rwlock);
	if (by_rwlock < 0)
		abort();
	pthread_rwlock_unlock(&rwlock);
	pthread_rwlock_wrlock(&rwlock);
	by_rwlock++;
	pthread_rwlock_unlock(&rwlock);
	pthread_spin_lock(&spin);
	by_spin++;
	pthread_spin_unlock(&spin);
}

static void *work(void *arg)
{
	int id = (int)(long)arg;
	char *own = malloc(100);

	memset(own, id, 100);
	free(own);
	for (int i = 0; i < ROUNDS; i++) {
		bytes[id]++;
		locks(id);
		pthread_once(&once, initialize);
		by_barrier[id] = by_once + i;
		pthread_barrier_wait(&barrier);
		if (by_barrier[(id + 1) % THREADS] != 7 + i)
			abort();
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void *gives(void *arg)
{
	handed = 5;
	sem_post(&sem);
	pthread_mutex_lock(&lock);
	ready = 1;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&lock);
	piped = 6;
	if (write(ends[1], "x", 1) != 1)
		abort();
	return arg;
}

int main(void)
{
	pthread_t t[THREADS], giver;
	char c;

	pthread_barrier_init(&barrier, NULL, THREADS);
	pthread_spin_init(&spin, 0);
	sem_init(&sem, 0, 0);
	if (pipe(ends))
		return 1;
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	pthread_create(&giver, NULL, gives, NULL);
	sem_wait(&sem);
	sum += handed;
	pthread_mutex_lock(&lock);
	while (!ready)
		pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
	if (read(ends[0], &c, 1) != 1)
		return 1;
	sum += piped;
	pthread_join(giver, NULL);
	free(block);
	return sum != 11 || bytes[0] != ROUNDS;
}
