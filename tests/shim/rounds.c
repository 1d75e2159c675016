/* SPDX-License-Identifier: MIT */
/*
 * rounds.c: rounds that are all alike, and call the library, until a signal ends them, as benchmarks have them. Only
 * their number tells how far they are, and where it was interrupted it lies in a frame further up, or in a register.
 * Where rounds are long, a replay comes by the same place in the first one, in which that number has not changed yet.
 * NONDET-OUTPUT
 */
#include "check.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>

#define WORDS 96
#define TIMES 4 /* the first one with long rounds: a replay knows nothing yet of what calls leave behind */
#define LONG 100000 /* times over the text: some 50 ms */

static volatile sig_atomic_t running;
static int nowhere;

static void on_alarm(int sig)
{
	running = sig != SIGALRM && sig != SIGPROF;
}

/* Keeps what its callers have in registers: the count is then on the stack. */
static __attribute__((noinline)) unsigned long mix(const unsigned long *text, unsigned long *state, int times)
{
	unsigned long a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5];

	for (int i = 0; i < WORDS * times; i++) {
		a = (a ^ text[i % WORDS]) * 0x9e3779b97f4a7c15ul;
		b = (b + a) ^ (c >> 7);
		c = c * 5 + (d ^ b);
		d = (d << 13 | d >> 51) + e;
		e = (e ^ f) + a;
		f = f * 3 + (b >> 11);
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f)::"rbx", "r12", "r13", "r14");
	}
	return a ^ b ^ c ^ d ^ e ^ f;
}

/* The same for each round, and nothing of it stays. */
static __attribute__((noinline)) unsigned long one_round(const unsigned long *text, int times)
{
	unsigned long *state = malloc(6 * sizeof(*state)), sum;

	NEED(state != NULL);
	for (unsigned i = 0; i < 6; i++)
		state[i] = i + 1;
	sum = mix(text, state, times);
	memset(state, 0, 6 * sizeof(*state));
	free(state);
	return sum;
}

static unsigned long count_rounds(const unsigned long *text, int times)
{
	struct itimerval soon = {.it_value = {.tv_usec = 120000}};
	unsigned long n = 0, sum = one_round(text, times);

	running = 1;
	CHECK(setitimer(times == 1 ? ITIMER_REAL : ITIMER_PROF, &soon, NULL) == 0);
	for (; running; n++)
		if (one_round(text, times) != sum)
			return 0;
	return n;
}

int main(void)
{
	unsigned long text[WORDS], n;

	for (unsigned i = 0; i < WORDS; i++)
		text[i] = i * 77 + 5;
	nowhere = open("/dev/null", O_WRONLY);
	NEED(nowhere >= 0 && signal(SIGALRM, on_alarm) != SIG_ERR && signal(SIGPROF, on_alarm) != SIG_ERR);
	for (int i = 0; i < TIMES; i++) {
		n = count_rounds(text, i == 0 ? LONG : 1);
		CHECK(n > 0);
		CHECK(write(nowhere, &n, sizeof(n)) == sizeof(n)); /* a replay compares it */
	}
	step("rounds");
	return check_status();
}
