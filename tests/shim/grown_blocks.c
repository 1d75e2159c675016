/* SPDX-License-Identifier: MIT */
/*
 * grown_blocks.c: signals wait while realloc copies large blocks: that is no computation of the program, which goes on
 * for some instructions only before the next call.
 * NONDET-OUTPUT
 */
#include "check.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define ROUNDS 6
#define SIZE (8ul << 20)
#define GROWS 4

static volatile sig_atomic_t ticks;
static volatile long sum;

static void tick(int sig)
{
	(void)sig;
	ticks++;
}

static __attribute__((noinline)) void use(const char *p)
{
	for (int i = 0; i < 4; i++)
		sum += p[4096 * i];
}

static void grow(int round)
{
	size_t size = SIZE;
	char *p = malloc(size);

	NEED(p);
	memset(p, round, size);
	for (int i = 0; i < GROWS; i++) {
		p = realloc(p, size *= 2);
		NEED(p);
		use(p);
		getppid();
	}
	free(p);
}

int main(void)
{
	const struct itimerval often = {{0, 3000}, {0, 3000}}, never = {{0, 0}, {0, 0}};

	signal(SIGALRM, tick);
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	for (int i = 0; i < ROUNDS; i++)
		grow(i);
	CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
	CHECK(sum == 4l * GROWS * (ROUNDS * (ROUNDS - 1) / 2));
	step("grown");
	return check_status();
}
