/* SPDX-License-Identifier: MIT */
/*
 * racy.c: results that depend on unsynchronised races over a million iterations: a counter that is not atomic, loops of
 * compare and exchange, waits that spin with and without a pause, Peterson's lock, a queue without locks. A replay must
 * give the recorded result.
 * RECORD: --sched serial
 * NONDET-OUTPUT
 */
#include "check.h"

#include <pthread.h>
#include <sched.h>

#define ROUNDS 1000000
#define MEETINGS 300

static volatile unsigned long plain, trace;
static atomic_ulong swapped;
static atomic_int want[2], victim, where[4];
static volatile long guarded;

/* The order of all steps of all threads goes into this, and is lost in places. */
static void mix(unsigned long v)
{
	trace = trace * 6364136223846793005ul + v;
}

static void *counts(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		plain++;
		if (i % 1000 == 0)
			mix((unsigned long)arg + plain);
		if (i % 50000 == 0)
			sched_yield();
	}
	return NULL;
}

static void *swaps(void *arg)
{
	unsigned long tries = 0;

	for (int i = 0; i < ROUNDS / 4; i++) {
		unsigned long old = atomic_load(&swapped);

		while (!atomic_compare_exchange_weak(&swapped, &old, old * 3 + (unsigned long)arg + 1))
			tries++;
		if (i % 20000 == 0)
			sched_yield();
	}
	mix(tries);
	return NULL;
}

static void pause_by(int how)
{
	if (how == 1)
		__builtin_ia32_pause();
	else if (how == 2)
		sched_yield();
}

/* All meet again and again; how long each spun goes into the result. */
static void *meets(void *arg)
{
	int id = (int)(size_t)arg;
	unsigned long spins = 0;

	for (int i = 1; i <= MEETINGS / 10; i++) {
		atomic_store(&where[id], i);
		for (int k = 0; k < 4; k++)
			for (; atomic_load(&where[k]) < i; spins++)
				pause_by(id % 3 ? id % 3 : 2);
	}
	mix(spins);
	return NULL;
}

static void *peterson(void *arg)
{
	int id = (int)(size_t)arg;

	for (int i = 0; i < ROUNDS / 10; i++) {
		atomic_store(&want[id], 1);
		atomic_store(&victim, id);
		while (atomic_load(&want[!id]) && atomic_load(&victim) == id)
			;
		guarded++;
		mix((unsigned long)id);
		atomic_store(&want[id], 0);
		if (i % 5000 == 0)
			sched_yield();
	}
	return NULL;
}

/* ---- a ring for several writers and readers ---- */

#define SLOTS 64u

static struct {
	atomic_ulong turn;
	unsigned long value;
} ring[SLOTS];
static atomic_ulong head, tail;
static volatile unsigned long taken[2];

static void *writes(void *arg)
{
	for (unsigned long i = 0; i < ROUNDS / 20; i++) {
		unsigned long at = atomic_fetch_add(&head, 1);

		while (atomic_load(&ring[at % SLOTS].turn) != at / SLOTS * 2)
			sched_yield();
		ring[at % SLOTS].value = i * 2 + (unsigned long)arg;
		atomic_store(&ring[at % SLOTS].turn, at / SLOTS * 2 + 1);
	}
	return NULL;
}

static void *reads(void *arg)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < ROUNDS / 20; i++) {
		unsigned long at = atomic_fetch_add(&tail, 1);

		while (atomic_load(&ring[at % SLOTS].turn) != at / SLOTS * 2 + 1)
			sched_yield();
		sum = sum * 31 + ring[at % SLOTS].value;
		atomic_store(&ring[at % SLOTS].turn, at / SLOTS * 2 + 2);
	}
	taken[(size_t)arg & 1] = sum;
	return NULL;
}

static void *queue(void *arg)
{
	return (size_t)arg < 2 ? writes(arg) : reads(arg);
}

static void run(const char *name, int threads, void *(*body)(void *))
{
	pthread_t t[4];

	for (int i = 0; i < threads; i++)
		NEED(pthread_create(&t[i], NULL, body, (void *)(size_t)i) == 0);
	for (int i = 0; i < threads; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	printf("%s %lu %lx %lx %lx\n", name, plain, atomic_load(&swapped), trace, taken[0] ^ taken[1]);
	step(name);
}

int main(void)
{
	run("counts", 2, counts);
	run("swaps", 3, swaps);
	run("meets", 4, meets);
	run("peterson", 2, peterson);
	CHECK(guarded == 2 * (ROUNDS / 10));
	run("queue", 4, queue);
	return check_status();
}
