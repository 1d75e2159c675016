/* SPDX-License-Identifier: MIT */
/*
 * guarded.c: two threads with a lock, and their pointer to what it guards in a register.
 *
 * LEVELS: -O1 -O2
 * EXPR: q->n < 50
 * IN: add
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct queue {
	int n;
	pthread_mutex_t lock;
};

volatile int pass;
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void *add(void *arg)
{
	struct queue *q = arg;

	pthread_mutex_lock(&first);
	for (int i = 0; i < 40; i++) {
		pthread_mutex_lock(&q->lock);
		pass = i;
		q->n += i == 30 ? -9 : 2;
		pthread_mutex_unlock(&q->lock);
	}
	pthread_mutex_unlock(&first);
	puts("end");
	_exit(q->n);
}

int main(void)
{
	struct queue *q = calloc(1, sizeof(*q));
	pthread_t t;

	pthread_mutex_init(&q->lock, NULL);
	pthread_create(&t, NULL, add, q);
	pthread_join(t, NULL);
	return 0;
}
