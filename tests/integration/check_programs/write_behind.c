/* SPDX-License-Identifier: MIT */
/*
 * write_behind.c: A loop writes one element too many, into the part of the block that only the allocator has; before
 * and after faults whose handler returns. The handler sees the flags as they were.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#define ZERO_FLAG 0x40
#define FAULT_BYTES 3

static void fill(char *p, int n)
{
	for (int i = 0; i <= n; i++)
		p[i] = (char)i; /* BAD: outside */
}

static void skip(int sig, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	(void)info;
	if (!(r[REG_EFL] & ZERO_FLAG))
		_exit(3);
	r[REG_RIP] += FAULT_BYTES;
}

static void faults(char *p)
{
	struct sigaction a = {.sa_sigaction = skip, .sa_flags = SA_SIGINFO};

	sigaction(SIGSEGV, &a, NULL);
	for (int i = 0; i < 3; i++)
		__asm__ volatile("cmp %%rcx, %%rcx\n\tmov (%0), %%rdx\n\tmov (%1), %%rdx\n\tcmp %1, %0"
				 :
				 : "c"(p), "a"(8l)
				 : "rdx", "cc", "memory");
}

int main(void)
{
	char *p = malloc(10); /* ALLOC */
	char *q = malloc(12); /* ALLOC */

	fill(p, 10);
	faults(p);
	q[12] = 1; /* BAD: outside */
	free(p);
	free(q);
	return 0;
}
