/* SPDX-License-Identifier: MIT */
/*
 * left_handlers.c: signal handlers that are left by siglongjmp, more often than the recorder's own stack has room for
 * their frames: on the program's stack and on an alternate one, inside another handler and together with it.
 */
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define TIMES 600

static char *page;
static sigjmp_buf back;

static void leave(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

static int faults(const volatile char *p)
{
	return sigsetjmp(back, 1) ? 1 : *p == 77;
}

static int count_faults(void)
{
	int n = 0;

	for (int i = 0; i < TIMES; i++)
		n += faults(page);
	return n;
}

static volatile int inside; /* raise() is declared as a function that does not call back */

static void count_inside(int sig)
{
	(void)sig;
	inside = inside + count_faults();
}

static void fault_inside(int sig)
{
	(void)sig;
	inside = inside + (*(volatile char *)page == 77);
}

/* The handler inside which the others are left returns to where it was called. */
static void check_inside(const char *name)
{
	inside = 0;
	raise(SIGUSR1);
	raise(SIGUSR1);
	CHECK(inside == 2 * TIMES);
	step(name);
}

static void check_together(const char *name)
{
	volatile int n = 0;

	for (volatile int i = 0; i < TIMES; i++) {
		if (sigsetjmp(back, 1))
			n++;
		else
			raise(SIGUSR2);
	}
	CHECK(n == TIMES);
	step(name);
}

static void set(int sig, void (*handler)(int), int flags)
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = flags};

	CHECK(sigaction(sig, &sa, NULL) == 0);
}

int main(void)
{
	stack_t alt = {.ss_sp = malloc(65536), .ss_size = 65536};

	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(page != MAP_FAILED);
	set(SIGSEGV, leave, 0);
	set(SIGUSR1, count_inside, 0);
	set(SIGUSR2, fault_inside, 0);
	CHECK(count_faults() == TIMES);
	step("left");
	check_inside("left inside another");
	check_together("left with another");
	CHECK(sigaltstack(&alt, NULL) == 0);
	set(SIGSEGV, leave, SA_ONSTACK);
	CHECK(count_faults() == TIMES);
	step("left on an alternate stack");
	check_inside("left there inside another");
	set(SIGUSR1, count_inside, SA_ONSTACK);
	check_inside("left inside another that is there too");
	set(SIGUSR2, fault_inside, SA_ONSTACK);
	check_together("left with another that is there too");
	return check_status();
}
