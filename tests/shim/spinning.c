/* SPDX-License-Identifier: MIT */
/*
 * spinning.c: threads that wait for each other through memory alone, without a call, and count while they do.
 * RECORD: --sched serial
 * NONDET-OUTPUT
 */
#include "check.h"

#include <pthread.h>

static volatile unsigned long plain;
static volatile int turn;
static atomic_int go, want[2], sequence;
static volatile long shared, pair[2];

static void *count(void *arg)
{
	(void)arg;
	while (!atomic_load(&go))
		;
	for (int i = 0; i < 1000000; i++)
		plain++;
	return NULL;
}

static void *ping(void *arg)
{
	int id = (int)(size_t)arg;

	for (int i = 0; i < 4; i++) {
		while (turn != id)
			plain++;
		turn = !id;
	}
	return NULL;
}

static void dekker_lock(int id)
{
	atomic_store(&want[id], 1);
	while (atomic_load(&want[!id])) {
		if (turn == id)
			continue;
		atomic_store(&want[id], 0);
		while (turn != id && atomic_load(&want[!id]))
			;
		atomic_store(&want[id], 1);
	}
}

static void *dekker(void *arg)
{
	int id = (int)(size_t)arg;

	for (int i = 0; i < 5000; i++) {
		dekker_lock(id);
		shared++;
		turn = !id;
		atomic_store(&want[id], 0);
	}
	return NULL;
}

/* A writer's sequence lock: what a reader sees is whole. */
static void *seqlock(void *arg)
{
	for (int i = 0; i < 20000; i++) {
		int s = atomic_load(&sequence);
		long a, b;

		if (arg) {
			atomic_store(&sequence, s + 1);
			pair[0]++;
			pair[1]--;
			atomic_store(&sequence, s + 2);
			continue;
		}
		a = pair[0];
		b = pair[1];
		if (!(s & 1) && atomic_load(&sequence) == s)
			CHECK(a == -b);
	}
	return NULL;
}

/*
 * The words on top of the stack are no return addresses, but the address of a block of the heap's and one behind it
 * where there is no memory.
 */
static void *beside_addresses(void *arg)
{
	char *block = malloc(8), *nowhere = block + (1ull << 35);
	long rounds = 100000000;

	__asm__ volatile("sub $128, %%rsp\n	push %1\n	push %2\n"
			 "1:	mov (%%rsp), %%rax\n	xor %%rax, %%rcx\n	sub $1, %0\n	jne 1b\n"
			 "	add $144, %%rsp"
			 : "+r"(rounds)
			 : "r"(block), "r"(nowhere)
			 : "rax", "rcx", "cc", "memory");
	free(block);
	return arg;
}

static void run(void *(*body)(void *))
{
	pthread_t t[2];

	for (size_t i = 0; i < 2; i++)
		NEED(pthread_create(&t[i], NULL, body, (void *)i) == 0);
	atomic_store(&go, 1);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
}

int main(void)
{
	run(count);
	printf("count %lu\n", plain);
	run(ping);
	printf("ping %lu\n", plain);
	run(dekker);
	CHECK(shared == 10000);
	run(seqlock);
	printf("seqlock %ld %d\n", pair[0], atomic_load(&sequence));
	run(beside_addresses);
	step("spinning");
	return check_status();
}
