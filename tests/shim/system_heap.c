/* SPDX-License-Identifier: MIT */
/*
 * system_heap.c: with glibc's heap: addresses are as natively, and as they were in a replay; by many threads that allocate and free
 * what others have allocated, in children, and with all functions.
 *
 * NONDET-OUTPUT
 * RECORD: --malloc system
 * NOTES: one thread at a time
 * CFLAGS: -fno-builtin -Wno-use-after-free
 */
#include "check.h"

#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>

#define THREADS 4
#define BLOCKS 256

static _Atomic(void *) shared[BLOCKS];

static void *work(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	unsigned long sum = 0;

	for (int i = 0; i < 5000; i++) {
		size_t n;
		void *p;

		seed = seed * 1103515245 + 12345;
		n = (seed >> 8) % (i % 50 == 0 ? 300000 : 1500);
		p = i % 7 ? malloc(n) : i % 2 ? calloc(1, n) : memalign(64, n);
		NEED(p);
		sum = sum * 31 + (unsigned long)p;
		free(atomic_exchange(&shared[(seed >> 4) % BLOCKS], p));
	}
	printf("%lu: %lx\n", (unsigned long)arg, sum);
	return (void *)sum;
}

int main(void)
{
	pthread_t t[THREADS];
	char *p = malloc(24), *q = malloc(24);
	int status;
	pid_t pid;

	CHECK(q - p == 32); /* as glibc places them */
	CHECK((char *)realloc(p, 24) == p && malloc_usable_size(p) == 24);
	free(p);
	CHECK(malloc(24) == p);
	CHECK(mallinfo2().uordblks > 0);
	step("one thread");
	for (int round = 0; round < 3; round++) {
		for (unsigned long i = 0; i < THREADS; i++)
			NEED(pthread_create(&t[i], NULL, work, (void *)(i + 1)) == 0);
		for (int i = 0; i < THREADS; i++)
			pthread_join(t[i], NULL);
	}
	step("threads");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		work((void *)99);
		fflush(stdout);
		_exit(check_status());
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	malloc_trim(0);
	work((void *)100);
	step("a child");
	return check_status();
}
