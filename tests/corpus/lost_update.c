/* SPDX-License-Identifier: MIT */
/*
 * lost_update.c: a data race: two threads add to a balance without a lock, with a system call between the
 * load and the store, until an update is lost. Recorded one thread at a time, so that the race replays.
 *
 * EXPECT-EXPR: ledger.lost == 0
 * EXPECT-LINE: BUG: noticed too late
 * EXPECT-FUNC: add
 * EXPECT-RECORD: --sched serial
 * EXPECT-EXIT: 1
 * EXPECT-CFLAGS: -pthread
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static struct {
	volatile long balance;
	atomic_long really;
	volatile long lost;
} ledger;

static __attribute__((noinline)) void add(long n)
{
	long before = ledger.balance;

	getppid();
	if (ledger.balance != before)
		ledger.lost += n; /* BUG: noticed too late */
	ledger.balance = before + n;
	atomic_fetch_add(&ledger.really, n);
}

static void *adder(void *arg)
{
	for (int i = 0; i < 1000000 && !ledger.lost; i++)
		add(1 + (long)(size_t)arg);
	return NULL;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, adder, (void *)0);
	pthread_create(&b, NULL, adder, (void *)1);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%s\n", ledger.balance == atomic_load(&ledger.really) ? "even" : "odd");
	return ledger.lost != 0;
}
