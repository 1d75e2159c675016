/* SPDX-License-Identifier: MIT */
/*
 * time_random.c: depends on time and random numbers, so that no two runs are alike. A fee that is taken
 * without a look at the balance overdraws the account after some hundred to some thousand steps.
 *
 * EXPECT-EXPR: balance >= 0
 * EXPECT-LINE: BUG: may overdraw
 * EXPECT-FUNC: take_fee
 * EXPECT-EXIT: 3
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long balance = 500;
static unsigned long steps;

static unsigned draw(void)
{
	struct timespec now;
	unsigned r;

	if (getrandom(&r, sizeof(r), 0) != sizeof(r))
		exit(9);
	clock_gettime(CLOCK_REALTIME, &now);
	return r ^ (unsigned)now.tv_nsec ^ (unsigned)rand();
}

static __attribute__((noinline)) void withdraw(long amount)
{
	if (amount <= balance)
		balance -= amount;
}

static __attribute__((noinline)) void deposit(long amount)
{
	if (balance >= 0)
		balance += amount;
}

static __attribute__((noinline)) void take_fee(long fee)
{
	balance -= fee; /* BUG: may overdraw */
}

int main(void)
{
	struct timeval tv;

	gettimeofday(&tv, NULL);
	srand((unsigned)tv.tv_usec ^ (unsigned)getpid() ^ (unsigned)time(NULL));
	while (balance >= 0 || steps % 64) {
		unsigned r = draw();

		steps++;
		if (r % 97 == 0)
			take_fee(r / 97 % 40);
		else if (r & 128)
			withdraw(r / 256 % 100);
		else if (balance < 2000)
			deposit(r / 256 % 90);
	}
	printf("overdrawn: %ld after %lu steps\n", balance, steps);
	return 3;
}
