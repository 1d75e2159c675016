/* SPDX-License-Identifier: MIT */
/*
 * relocks.c: threads with rwlocks, semaphores, barriers and atomics, in turns.
 *
 * LEVELS: -O0 -O2
 * RECORD: --sched serial
 * EXPR: shared.sum < 30
 * EXPR: hits < 9
 * EXPR: shared.last != 3
 * EXPR: bits != 7
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

volatile int pass;
struct {
	int sum, last;
} shared;
atomic_int hits, bits;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t meet;

static void *run(void *arg)
{
	int me = (int)(long)arg;

	for (int i = 0; i < 6; i++) {
		for (int turn = 0; turn < 2; turn++) {
			if (turn == me) {
				pass = me * 100 + i;
				pthread_rwlock_wrlock(&lock);
				shared.sum += me + i;
				shared.last = me + i % 3;
				pthread_rwlock_unlock(&lock);
				atomic_fetch_add(&hits, 1);
				atomic_fetch_xor(&bits, 1 << i % 3);
			}
			pthread_barrier_wait(&meet);
		}
	}
	return NULL;
}

int main(void)
{
	pthread_t t[2];

	pthread_barrier_init(&meet, NULL, 2);
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, run, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	pass = 500;
	shared.last = 3;
	atomic_store(&bits, 7);
	puts("end");
	_exit(1);
}
