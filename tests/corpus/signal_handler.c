/* SPDX-License-Identifier: MIT */
/*
 * signal_handler.c: a handler that runs on a timer and, on its twelfth tick, breaks what main works on.
 *
 * EXPECT-EXPR: ring.tail >= 0
 * EXPECT-LINE: BUG: wraps wrongly
 * EXPECT-FUNC: on_tick
 * EXPECT-EXIT: 1
 */
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

static struct {
	volatile int head, tail;
	volatile unsigned ticks;
	int slot[64];
} ring;

static void on_tick(int sig)
{
	(void)sig;
	ring.ticks++;
	if (ring.ticks < 12)
		ring.tail = (ring.tail + 5) & 63;
	else
		ring.tail = (ring.tail - 5) % 64 - 64; /* BUG: wraps wrongly */
}

static void start_timer(void)
{
	struct sigaction sa = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
	struct itimerval every = {{0, 4000}, {0, 4000}};

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

int main(void)
{
	unsigned long rounds = 0;
	struct timespec now;

	start_timer();
	while (ring.tail >= 0 && rounds < 1000000000) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		for (int i = 0; i < 1000; i++)
			ring.slot[(ring.head + i) & 63] += (int)now.tv_nsec + i;
		ring.head = (ring.head + 1) & 63;
		rounds++;
	}
	printf("tail %d after %u ticks\n", ring.tail, ring.ticks);
	return ring.tail < 0;
}
