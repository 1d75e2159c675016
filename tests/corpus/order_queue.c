/* SPDX-License-Identifier: MIT */
/*
 * order_queue.c: an order violation. main waits until all blocks are taken, then deletes the queue; the
 * consumers, which it never waited for, are still at work on their last block and lock the queue again.
 *
 * EXPECT-EXPR: fifo->mut != 0
 * EXPECT-LINE: BUG: consumers still use it
 * EXPECT-FUNC: queue_delete
 * EXPECT-EXIT: 139
 * EXPECT-CFLAGS: -pthread
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define CONSUMERS 2
#define BLOCKS 400
#define SLOTS 16

struct queue {
	unsigned long slot[SLOTS];
	int head, used, taken, closed;
	pthread_mutex_t *mut;
	pthread_cond_t *changed;
};

static struct queue *fifo;
static unsigned long digest[CONSUMERS];

static __attribute__((noinline)) struct queue *queue_new(void)
{
	struct queue *q = calloc(1, sizeof(*q));

	q->mut = malloc(sizeof(*q->mut));
	q->changed = malloc(sizeof(*q->changed));
	pthread_mutex_init(q->mut, NULL);
	pthread_cond_init(q->changed, NULL);
	return q;
}

static __attribute__((noinline)) void queue_delete(struct queue *q)
{
	pthread_mutex_destroy(q->mut);
	free(q->mut);
	q->mut = NULL; /* BUG: consumers still use it */
	fprintf(stderr, "queue deleted\n");
}

/* "Compresses" one block: a few hundred microseconds, the last one of all much longer. */
static unsigned long work(unsigned long block)
{
	unsigned long rounds = block >= BLOCKS - CONSUMERS ? 60000000 : 60000, h = block;

	for (unsigned long i = 0; i < rounds; i++)
		h = h * 0x9e3779b97f4a7c15ul + (h >> 29);
	return h;
}

static void *consumer(void *arg)
{
	unsigned long *sum = arg;

	for (;;) {
		unsigned long block;

		pthread_mutex_lock(fifo->mut);
		while (!fifo->used && !fifo->closed)
			pthread_cond_wait(fifo->changed, fifo->mut);
		if (!fifo->used) {
			pthread_mutex_unlock(fifo->mut);
			return NULL;
		}
		block = fifo->slot[fifo->head];
		fifo->head = (fifo->head + 1) % SLOTS;
		fifo->used--;
		fifo->taken++;
		pthread_cond_broadcast(fifo->changed);
		pthread_mutex_unlock(fifo->mut);
		*sum ^= work(block);
	}
}

static void produce(struct queue *q)
{
	for (unsigned long b = 0; b < BLOCKS; b++) {
		pthread_mutex_lock(q->mut);
		while (q->used == SLOTS)
			pthread_cond_wait(q->changed, q->mut);
		q->slot[(q->head + q->used) % SLOTS] = b;
		q->used++;
		pthread_cond_broadcast(q->changed);
		pthread_mutex_unlock(q->mut);
	}
	pthread_mutex_lock(q->mut);
	while (q->taken < BLOCKS)
		pthread_cond_wait(q->changed, q->mut);
	pthread_mutex_unlock(q->mut);
}

int main(void)
{
	pthread_t thread[CONSUMERS];

	fifo = queue_new();
	for (int i = 0; i < CONSUMERS; i++)
		pthread_create(&thread[i], NULL, consumer, &digest[i]);
	produce(fifo);
	queue_delete(fifo);
	for (int i = 0; i < CONSUMERS; i++)
		pthread_join(thread[i], NULL);
	printf("digest %lx\n", digest[0] ^ digest[1]);
	return 0;
}
