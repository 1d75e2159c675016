/* SPDX-License-Identifier: MIT */
/*
 * flags.c: threads that talk by atomics alone: spinning with system calls and without, a ticket lock, a
 * queue without locks. Exact only when one thread runs at a time.
 * RECORD: --sched serial
 * NOTES: fred says that it interrupted a spin-wait
 */
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#define ROUNDS 100
#define THREADS 3

static atomic_int turn, ticket_next, ticket_now;
static unsigned long guarded;

/* Waits for its turn: by yielding, by reading the clock, or by nothing at all. */
static void *take_turns(void *arg)
{
	int id = (int)(size_t)arg;
	struct timespec now;

	for (int i = 0; i < ROUNDS; i++) {
		while (atomic_load(&turn) % THREADS != id) {
			if (i % 3 == 0)
				sched_yield();
			else if (i % 3 == 1)
				clock_gettime(CLOCK_MONOTONIC, &now);
		}
		atomic_fetch_add(&turn, 1);
	}
	return NULL;
}

static void *ticket_lock(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		int mine = atomic_fetch_add(&ticket_next, 1);

		while (atomic_load(&ticket_now) != mine)
			sched_yield();
		guarded++;
		atomic_fetch_add(&ticket_now, 1);
	}
	return arg;
}

static struct node {
	struct node *next;
	int value;
} nodes[THREADS][ROUNDS];
static _Atomic(struct node *) stack;

static void *push_all(void *arg)
{
	size_t id = (size_t)arg;

	for (int i = 0; i < ROUNDS; i++) {
		struct node *n = &nodes[id][i];

		n->value = i;
		n->next = atomic_load(&stack);
		while (!atomic_compare_exchange_weak(&stack, &n->next, n))
			;
		if (i % 20 == 0)
			sched_yield();
	}
	return NULL;
}

static void run(void *(*body)(void *))
{
	pthread_t t[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		NEED(pthread_create(&t[i], NULL, body, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

int main(void)
{
	unsigned long sum = 0, count = 0;

	run(take_turns);
	CHECK(atomic_load(&turn) == THREADS * ROUNDS);
	step("turns");
	run(ticket_lock);
	CHECK(guarded == THREADS * ROUNDS);
	step("ticket lock");
	run(push_all);
	for (struct node *n = stack; n; n = n->next) {
		sum += (unsigned long)n->value;
		count++;
	}
	CHECK(count == THREADS * ROUNDS && sum == THREADS * ROUNDS * (ROUNDS - 1) / 2);
	step("stack");
	return check_status();
}
