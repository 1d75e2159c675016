/* SPDX-License-Identifier: MIT */
/*
 * handovers.c: who got a lock after whom, told by a sum that depends on the order: mutexes of several kinds, alone and
 * one in another, handed on to conditions, semaphores and rwlocks and back. What is printed differs from run to run.
 * NONDET-OUTPUT
 */
#include "check.h"

#include <pthread.h>
#include <semaphore.h>

#define THREADS 4
#define ROUNDS 15000
#define LOCKS 5

static struct object {
	pthread_mutex_t lock;
	pthread_rwlock_t rw;
	sem_t sem;
	unsigned long order, rw_order, sem_order;
} object[LOCKS];

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER, token_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t token_moved = PTHREAD_COND_INITIALIZER;
static unsigned long token, gate_order;

static void mark(unsigned long *order, unsigned id)
{
	*order = (*order ^ (*order >> 31)) * 6364136223846793005ul + id + 1;
}

static void mutex_round(struct object *o, unsigned id)
{
	CHECK(pthread_mutex_lock(&o->lock) == 0);
	mark(&o->order, id);
	CHECK(pthread_mutex_unlock(&o->lock) == 0);
}

static void try_round(struct object *o, unsigned id)
{
	if (pthread_mutex_trylock(&o->lock))
		return;
	mark(&o->order, id);
	CHECK(pthread_mutex_unlock(&o->lock) == 0);
}

/* The first is let go first: the second is then handed on alone. */
static void nested_round(unsigned first, unsigned id)
{
	struct object *a = &object[first], *b = a + 1;

	CHECK(pthread_mutex_lock(&a->lock) == 0);
	CHECK(pthread_mutex_lock(&b->lock) == 0);
	mark(&a->order, id);
	CHECK(pthread_mutex_unlock(&a->lock) == 0);
	mark(&b->order, id);
	CHECK(pthread_mutex_unlock(&b->lock) == 0);
}

/* What comes through another kind of lock goes on through a mutex at once. */
static void mixed_round(struct object *o, unsigned id)
{
	unsigned long seen;

	CHECK(sem_wait(&o->sem) == 0);
	mark(&o->sem_order, id);
	seen = o->sem_order;
	CHECK(sem_post(&o->sem) == 0);
	CHECK(pthread_mutex_lock(&o->lock) == 0);
	mark(&o->order, id + (seen & 1));
	seen = o->order;
	CHECK(pthread_mutex_unlock(&o->lock) == 0);
	CHECK(pthread_rwlock_wrlock(&o->rw) == 0);
	mark(&o->rw_order, id + (seen & 1));
	CHECK(pthread_rwlock_unlock(&o->rw) == 0);
}

static void pass_token(unsigned id)
{
	CHECK(pthread_mutex_lock(&token_lock) == 0);
	while (token % THREADS != id)
		CHECK(pthread_cond_wait(&token_moved, &token_lock) == 0);
	token++;
	CHECK(pthread_cond_broadcast(&token_moved) == 0);
	CHECK(pthread_mutex_unlock(&token_lock) == 0);
}

static void *work(void *arg)
{
	unsigned id = (unsigned)(unsigned long)arg, random = id * 2654435761u + 1;

	pthread_mutex_lock(&gate);
	mark(&gate_order, id);
	pthread_mutex_unlock(&gate);
	for (int i = 0; i < ROUNDS; i++) {
		unsigned which = (random = random * 1664525 + 1013904223) >> 16;
		struct object *o = &object[which % LOCKS];

		if (which % 64 == 0)
			mixed_round(o, id);
		else if (which % 16 == 1)
			nested_round(which % (LOCKS - 1), id);
		else if (which % 8 == 2)
			try_round(o, id);
		else
			mutex_round(o, id);
		if (i % 500 == 0)
			pass_token(id);
	}
	return NULL;
}

static void make_object(struct object *o, int type)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type);
	NEED(pthread_mutex_init(&o->lock, &attr) == 0);
	NEED(pthread_rwlock_init(&o->rw, NULL) == 0);
	NEED(sem_init(&o->sem, 0, 1) == 0);
}

int main(void)
{
	static const int types[LOCKS] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
					 PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_NORMAL};
	pthread_t thread[THREADS];

	for (int i = 0; i < LOCKS; i++)
		make_object(&object[i], types[i]);
	/* taken while there is one thread, let go when there are more */
	NEED(pthread_mutex_lock(&gate) == 0);
	for (unsigned long i = 0; i < THREADS; i++)
		NEED(pthread_create(&thread[i], NULL, work, (void *)i) == 0);
	mark(&gate_order, THREADS);
	NEED(pthread_mutex_unlock(&gate) == 0);
	CHECK(pthread_mutex_unlock(&object[2].lock) == EPERM);
	for (int i = 0; i < THREADS; i++)
		NEED(pthread_join(thread[i], NULL) == 0);
	for (int i = 0; i < LOCKS; i++)
		printf("%lx %lx %lx\n", object[i].order, object[i].rw_order, object[i].sem_order);
	printf("%lx\n", gate_order);
	step("hand-overs");
	return check_status();
}
