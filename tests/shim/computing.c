/* SPDX-License-Identifier: MIT */
/*
 * computing.c: threads that compute for long without a call, one at a time, and are interrupted. Nothing that they
 * change moves evenly: random numbers, hashes, sorting, recursion. Where they were interrupted shows in what the others have
 * seen of them by then.
 * RECORD: --sched serial
 * NONDET-OUTPUT
 */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

#define THREADS 2
#define CELLS 4096

static volatile unsigned long shown[THREADS];
static unsigned long heap_of[THREADS][CELLS];
static int nowhere;

/* What the others show, mixed into a digest that a replay compares. */
static void see(int id)
{
	unsigned long seen[THREADS + 1] = {(unsigned long)id};

	for (int i = 0; i < THREADS; i++)
		seen[i + 1] = shown[i];
	CHECK(write(nowhere, seen, sizeof(seen)) == (ssize_t)sizeof(seen));
}

static unsigned long lcg(int id, unsigned long n)
{
	unsigned long x = (unsigned long)id + 7;

	for (; n; n--) {
		x = x * 6364136223846793005ul + 1442695040888963407ul;
		if (!(x >> 54)) /* ends are found by chance, so that no counter is needed */
			shown[id] = x;
		__asm__ volatile("" ::: "memory");
	}
	return x;
}

static unsigned long xorshift(int id, unsigned long n)
{
	unsigned x = (unsigned)id + 3, found = 0;

	/* ends after so many finds: the state is a 32-bit word, and the number of finds */
	while (found < n / 4096) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		if (!(x & 0xfff))
			found++;
		shown[id] = x;
	}
	return x;
}

static int compare(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

	return x < y ? -1 : x > y;
}

static unsigned long sorts(int id, unsigned long n)
{
	unsigned long *a = heap_of[id];

	for (unsigned long round = 0; round < n / 2000000; round++) {
		for (int i = 0; i < CELLS; i++)
			a[i] = (a[i] + (unsigned long)i) * 0x9e3779b97f4a7c15ul >> 3;
		qsort(a, CELLS, sizeof(*a), compare);
		shown[id] = a[CELLS / 2];
	}
	return a[0];
}

static unsigned long strings(int id, unsigned long n)
{
	char *text = (char *)heap_of[id];
	unsigned long x = 1;

	for (unsigned long i = 0; i < n / 5000; i++) {
		memset(text, (int)(x >> 40 & 63) + 64, 600 + (x >> 33) % 600);
		x = x * 6364136223846793005ul + strlen(text);
		shown[id] = x;
		memset(text, 0, 1300);
	}
	return x;
}

static __attribute__((noinline)) unsigned long fib(unsigned n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

/* Equal innermost frames come again and again, at other depths and inside other calls. */
static unsigned long recursion(int id, unsigned long n)
{
	unsigned long sum = 0;

	for (unsigned i = 0; i < n / 1600000; i++)
		shown[id] = sum += fib(24 + i % 4);
	return sum;
}

/* Its sum comes by each value many times, and back to where it was. */
static unsigned long goes_round(int id, unsigned long n)
{
	volatile unsigned long i;
	unsigned char sum = 0;

	for (i = 0; i < n; i++) {
		sum = (unsigned char)(sum + 3);
		if (!sum)
			shown[id] = i;
	}
	return sum;
}

static void *work(void *arg)
{
	static unsigned long (*const kinds[])(int, unsigned long) = {lcg,	  xorshift,  sorts,
									strings, recursion, goes_round};
	unsigned long sum = 0;
	int id = (int)(size_t)arg;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		sum += kinds[(i + (unsigned)id) % (sizeof(kinds) / sizeof(kinds[0]))](id, 16000000);
	shown[id] = sum;
	see(id);
	return NULL;
}

/* The last one has all signals blocked, as libraries make their threads. */
int main(void)
{
	pthread_t t[THREADS];
	sigset_t all, none;

	nowhere = open("/dev/null", O_WRONLY);
	NEED(nowhere >= 0);
	sigfillset(&all);
	for (size_t i = 0; i < THREADS; i++) {
		if (i == THREADS - 1)
			CHECK(pthread_sigmask(SIG_SETMASK, &all, &none) == 0);
		NEED(pthread_create(&t[i], NULL, work, (void *)i) == 0);
	}
	CHECK(pthread_sigmask(SIG_SETMASK, &none, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	see(0);
	step("computing");
	return check_status();
}
