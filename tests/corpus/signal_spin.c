/* SPDX-License-Identifier: MIT */
/*
 * signal_spin.c: main waits without a system call for what a timer's handler sets, which breaks a
 * depth with it.
 *
 * EXPECT-EXPR: depth == 0
 * EXPECT-LINE: BUG: never taken back
 * EXPECT-FUNC: tick
 * EXPECT-EXIT: 1
 */
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <string.h>
static volatile sig_atomic_t flag;
static int depth, ticks;
static char a[4096], b[4096];

static void tick(int sig)
{
	(void)sig;
	if (++ticks == 10) {
		depth = 1; /* BUG: never taken back */
		flag = 1;
	}
}

int main(void)
{
	struct itimerval it = {{0, 5000}, {0, 5000}};

	sigaction(SIGALRM, &(struct sigaction){.sa_handler = tick}, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
	while (!flag) {
		memcpy(a, b, sizeof(a));
		b[7]++;
		a[9] ^= b[7];
	}
	return depth;
}
