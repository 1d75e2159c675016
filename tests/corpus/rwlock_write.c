/* SPDX-License-Identifier: MIT */
/*
 * rwlock_write.c: a thread holds a lock for reading and writes. Four threads, a barrier each round, a
 * check by main between the rounds.
 *
 * EXPECT-EXPR: config.generation == config.applied || config.generation == config.applied + 1
 * EXPECT-LINE: BUG: only a read lock
 * EXPECT-FUNC: refresh
 * EXPECT-EXIT: 1
 * EXPECT-CFLAGS: -pthread
 */
#include <pthread.h>
#include <stdio.h>

#define THREADS 4
#define ROUNDS 600

static struct {
	unsigned generation, applied;
} config;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t round_start, round_end;
static unsigned long seen[THREADS];

static __attribute__((noinline)) void refresh(unsigned id, unsigned round)
{
	pthread_rwlock_rdlock(&lock);
	seen[id] += config.generation;
	if (id == 2 && round == 433)
		config.generation += 5; /* BUG: only a read lock */
	pthread_rwlock_unlock(&lock);
}

static __attribute__((noinline)) void advance(void)
{
	pthread_rwlock_wrlock(&lock);
	config.generation++;
	pthread_rwlock_unlock(&lock);
	pthread_rwlock_wrlock(&lock);
	config.applied++;
	pthread_rwlock_unlock(&lock);
}

static void *reader(void *arg)
{
	unsigned id = (unsigned)(size_t)arg;

	for (unsigned r = 0; r < ROUNDS; r++) {
		pthread_barrier_wait(&round_start);
		refresh(id, r);
		pthread_barrier_wait(&round_end);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	pthread_barrier_init(&round_start, NULL, THREADS + 1);
	pthread_barrier_init(&round_end, NULL, THREADS + 1);
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, reader, (void *)i);
	for (unsigned r = 0; r < ROUNDS; r++) {
		pthread_barrier_wait(&round_start);
		pthread_barrier_wait(&round_end);
		advance();
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	printf("generation %u, applied %u\n", config.generation, config.applied);
	return config.generation != config.applied;
}
