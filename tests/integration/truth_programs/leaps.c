/* SPDX-License-Identifier: MIT */
/*
 * leaps.c: sigsetjmp, longjmp out of signal handlers, ucontext switches; SIGSEGV and SIGFPE handlers that write.
 *
 * LEVELS: -O0 -O2
 * EXPR: faults < 3
 * EXPR: depth < 5
 * EXPR: turns[1] < 3
 * EXPR: shared != 8
 * EXPR: mended[1] != 5
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

volatile int pass;
volatile int faults, depth, shared;
int turns[2];
static sigjmp_buf out;
static ucontext_t home, other;
int *mended;
static char own[65536];

static void on_fault(int sig, siginfo_t *info, void *uc)
{
	(void)uc;
	faults++;
	shared += 2;
	if (sig == SIGSEGV && info->si_addr == (void *)mended) {
		mprotect(mended, 4096, PROT_READ | PROT_WRITE);
		mended[1] = 5;
		return;
	}
	siglongjmp(out, 1);
}

__attribute__((noinline)) static void dive(int n)
{
	depth++;
	if (n == 0)
		siglongjmp(out, 2);
	dive(n - 1);
	depth--;
}

static void beside(void)
{
	for (;;) {
		turns[1]++;
		shared--;
		swapcontext(&other, &home);
	}
}

int main(void)
{
	struct sigaction a = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};

	sigaction(SIGSEGV, &a, NULL);
	sigaction(SIGFPE, &a, NULL);
	mended = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	getcontext(&other);
	other.uc_stack.ss_sp = own;
	other.uc_stack.ss_size = sizeof(own);
	makecontext(&other, beside, 0);
	for (volatile int i = 0; i < 5; i++) {
		pass = i;
		if (sigsetjmp(out, 1) == 0) {
			if (i % 2)
				raise(SIGFPE);
			else
				dive(i);
		}
		swapcontext(&home, &other);
		turns[0]++;
	}
	pass = 50;
	mended[0] = 3;
	pass = 51;
	depth = 2;
	turns[1] = 0;
	pass = 52;
	if (sigsetjmp(out, 1) == 0)
		dive(6);
	shared = 8;
	pass = 53;
	for (int i = 0; i < 4; i++)
		swapcontext(&home, &other);
	shared = 8;
	puts("end");
	_exit(1);
}
