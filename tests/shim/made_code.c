/* SPDX-License-Identifier: MIT */
/*
 * made_code.c: code that the program makes and may change at any time, as compilers at run time do, computes for long
 * while another thread waits: it is interrupted there, and a replay finds the place. Once more with all memory around
 * the code reserved, so that a replay has no place for its translation next to it.
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
#define RESERVED (5ul << 29) /* bytes: more than 1 GiB before and behind the code */

typedef void function(unsigned long rounds);

static volatile int over;

/* Blocks of long nops that end with a jump to the next one, `rounds` times: what they are compared by takes longest. */
static function *make_code(size_t reserved)
{
	unsigned char *all = mmap(0, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned char *code = all + reserved / 2, *p = code;

	NEED(all != MAP_FAILED && mprotect(code, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
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

static void interrupted(function *f)
{
	unsigned long rounds = 100000;
	double begin = seconds(), one;
	pthread_t t;
	void *n;

	f(rounds);
	one = (seconds() - begin) / (double)rounds;
	over = 0;
	NEED(pthread_create(&t, 0, wait, 0) == 0);
	f((unsigned long)(SECONDS / one));
	over = 1;
	NEED(pthread_join(t, &n) == 0);
	printf("# %lu\n", (unsigned long)n);
}

int main(void)
{
	interrupted(make_code(2ul * CODE_BYTES));
	step("made code is interrupted");
	interrupted(make_code(RESERVED));
	step("so is code with nothing free around it");
	return check_status();
}
