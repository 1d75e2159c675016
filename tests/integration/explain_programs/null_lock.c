/* SPDX-License-Identifier: MIT */
/* A mutex is locked through a pointer to nothing, while small numbers are left in other registers. KIND: segfault */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
struct queue {
	pthread_mutex_t *lock;
	int n;
};
static void __attribute__((noinline)) finish(struct queue *q)
{
	free(q->lock);
	q->lock = NULL; /* BUG */
}
static int __attribute__((noinline)) put(struct queue *q, int n)
{
	pthread_mutex_lock(q->lock);
	q->n += n;
	pthread_mutex_unlock(q->lock);
	return q->n;
}
int main(void)
{
	struct queue q = {.lock = malloc(sizeof(*q.lock))};
	pthread_mutex_init(q.lock, NULL);
	printf("%d\n", put(&q, 1));
	finish(&q);
	printf("%d\n", put(&q, 2));
	return 0;
}
