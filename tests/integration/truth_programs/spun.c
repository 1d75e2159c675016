/* SPDX-License-Identifier: MIT */
/*
 * spun.c: C11 atomics, compare-and-swap lists, between threads that take turns by a semaphore.
 *
 * LEVELS: -O2
 * RECORD: --sched serial
 * EXPR: hits < 9
 * EXPR: top == 0 || top->v < 7
 * EXPR: owner != 2
 * EXPR: bits.part.low < 12
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

volatile int pass;
atomic_int hits;
struct item {
	int v;
	struct item *next;
};
struct item *_Atomic top;
_Atomic int owner;
union {
	unsigned whole;
	struct {
		unsigned short low, high;
	} part;
} bits;
static sem_t go[2];

static void push(int v)
{
	struct item *n = malloc(sizeof *n);

	n->v = v;
	n->next = atomic_load(&top);
	while (!atomic_compare_exchange_weak(&top, &n->next, n))
		;
}

static void *turns(void *arg)
{
	int me = arg != NULL;

	for (int i = 0; i < 6; i++) {
		sem_wait(&go[me]);
		pass = 10 * i + me;
		atomic_fetch_add(&hits, 1 + me);
		if (hits > 10)
			atomic_store(&hits, 3);
		push(i * 2 - me);
		atomic_exchange(&owner, i % 3 + me);
		__atomic_fetch_add(&bits.whole, i + (me << 16), __ATOMIC_SEQ_CST);
		if (i == 5 && me) {
			top->v = 7;
			atomic_store(&owner, 2);
			puts("end");
			hits = 20;
			_exit(1);
		}
		sem_post(&go[!me]);
	}
	return NULL;
}

int main(void)
{
	pthread_t t;

	sem_init(&go[0], 0, 1);
	sem_init(&go[1], 0, 0);
	pthread_create(&t, NULL, turns, go);
	turns(NULL);
	pthread_join(t, NULL);
}
