/* SPDX-License-Identifier: MIT */
/*
 * own_locks.c: a mutex of the program's own, over atomics and the futex call, as Rust's: the output tells the
 * order in which the threads had it, which only a recording of one thread at a time knows.
 *
 * NONDET-OUTPUT
 * CFLAGS: -Wl,--no-as-needed -lgcc_s
 * NOTES: one thread ran at a time
 */
#include "check.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>

#define THREADS 4
#define ROUNDS 5000

static atomic_int word; /* 0 free, 1 taken, 2 taken and waited for */
static unsigned long order, count;
static atomic_ulong free_order;

static void lock(void)
{
	int zero = 0;

	if (atomic_compare_exchange_strong(&word, &zero, 1))
		return;
	while (atomic_exchange(&word, 2))
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static void unlock(void)
{
	if (atomic_exchange(&word, 0) == 2)
		syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *work(void *arg)
{
	unsigned long me = (unsigned long)arg, seen;

	for (int i = 0; i < ROUNDS; i++) {
		lock();
		order = order * 31 + me;
		count++;
		unlock();
		seen = atomic_load(&free_order);
		atomic_store(&free_order, seen * 33 + me); /* a race, meant */
	}
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	/*
	 * Nobody can wait yet: these are no events, also right in front of the one that ends the free running
	 * of threads, which it is when the unwinder need not be loaded first (-lgcc_s).
	 */
	for (int i = 0; i < 3; i++)
		CHECK(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 0);
	for (unsigned long i = 0; i < THREADS; i++)
		NEED(pthread_create(&t[i], NULL, work, (void *)(i + 1)) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(count == THREADS * ROUNDS);
	printf("%lx %lx\n", order, atomic_load(&free_order));
	step("own lock");
	return check_status();
}
