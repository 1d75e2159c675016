/* SPDX-License-Identifier: MIT */
/*
 * made_code.c: code that the program makes and may change at any time, as compilers at run time do, computes for long
 * while another thread waits: it is interrupted there, and a replay finds the place.
 * RECORD: --sched serial
 * NONDET-OUTPUT
 */
#include "check.h"

#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#define BLOCKS 20
#define NOPS 15
#define CODE_BYTES 4096
#define SECONDS 0.2

typedef void function(unsigned long rounds);

static volatile int over;

/* Blocks of long nops that end with a jump to the next one, `rounds` times: what they are compared by takes longest. */
static function *make_code(void)
{
	unsigned char *code =
		mmap(0, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *p = code;

	NEED(code != MAP_FAILED);
	for (int i = 0; i < BLOCKS; i++) {
		for (int k = 0; k < NOPS; k++, p += 10)
			memcpy(p, "\x66\x2e\x0f\x1f\x84\0\0\0\0\0", 10); /* nopw %cs:0(%rax,%rax) */
		*p++ = 0xeb;
		*p++ = 0;
	}
	memcpy(p, "\x48\xff\xcf\x0f\x85", 5); /* dec %rdi; jnz */
	p += 5;
	*(int *)p = (int)(code - (p + 4));
	p[4] = 0xc3;
	return (function *)code;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *wait(void *arg)
{
	unsigned long n = 0;

	(void)arg;
	while (!over)
		n += usleep(1000) == 0;
	return (void *)n;
}

int main(void)
{
	function *f = make_code();
	unsigned long rounds = 100000;
	double begin = seconds(), one;
	pthread_t t;
	void *n;

	f(rounds);
	one = (seconds() - begin) / (double)rounds;
	NEED(pthread_create(&t, 0, wait, 0) == 0);
	f((unsigned long)(SECONDS / one));
	over = 1;
	NEED(pthread_join(t, &n) == 0);
	printf("# %lu\n", (unsigned long)n);
	step("made code is interrupted");
	return check_status();
}
