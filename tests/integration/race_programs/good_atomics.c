/* SPDX-License-Identifier: MIT */
/* good_atomics.c: what atomic operations order is no race: those with a lock prefix, and plain loads and stores. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define LOAD(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)

struct message {
	_Atomic(struct message *) next;
	int text;
};

static atomic_int flag, chain;
static int plain_flag, macro_flag, data[4], chained;
static _Atomic(struct message *) head;
static atomic_flag busy = ATOMIC_FLAG_INIT;
static int counted;

static void enter(void)
{
	while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
		sched_yield();
	counted++;
	atomic_flag_clear_explicit(&busy, memory_order_release);
}

static void *sets(void *arg)
{
	struct message *m = malloc(sizeof(*m));

	enter();
	data[0] = 1;
	atomic_store_explicit(&flag, 1, memory_order_release);
	data[1] = 2;
	__atomic_store_n(&plain_flag, 1, __ATOMIC_RELEASE);
	data[2] = 3;
	__atomic_store_n(&macro_flag, 1, __ATOMIC_RELEASE);
	chained = 5;
	atomic_fetch_add_explicit(&chain, 1, memory_order_release);
	m->text = 4;
	m->next = NULL;
	atomic_store_explicit(&head, m, memory_order_release);
	getppid(); /* an event: a replay makes the stores before it, and not only at the end of the thread */
	return arg;
}

static void *gets(void *arg)
{
	struct message *m;
	int sum = 0;

	enter();
	while (!atomic_load_explicit(&flag, memory_order_acquire))
		sched_yield();
	sum += data[0];
	while (!__atomic_load_n(&plain_flag, __ATOMIC_ACQUIRE))
		sched_yield();
	sum += data[1];
	while (!LOAD(&macro_flag))
		sched_yield();
	sum += data[2];
	while (!(m = head))
		sched_yield();
	sum += m->text;
	while (atomic_load_explicit(&chain, memory_order_acquire) < 11)
		sched_yield();
	sum += chained;
	if (sum != 15)
		abort();
	free(m);
	return arg;
}

int main(void)
{
	pthread_t t[2];

	pthread_create(&t[0], NULL, sets, NULL);
	pthread_create(&t[1], NULL, gets, NULL);
	while (atomic_load_explicit(&chain, memory_order_relaxed) != 1)
		sched_yield();
	atomic_fetch_add_explicit(&chain, 10, memory_order_relaxed); /* goes on with what was released */
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	return counted != 2;
}
