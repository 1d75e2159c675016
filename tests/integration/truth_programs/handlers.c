/* SPDX-License-Identifier: MIT */
/*
 * handlers.c: signal handlers, nested ones and one on its own stack, that write what is watched.
 *
 * LEVELS: -O0 -O2
 * EXPR: seen < 5
 * EXPR: nested == 0 || seen < 4
 * EXPR: local < 9
 * IN: main
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

volatile int pass;
volatile int seen, nested;

static void on_usr1(int sig)
{
	(void)sig;
	seen++;
	if (seen == 3)
		raise(SIGUSR2);
}

static void on_usr2(int sig)
{
	(void)sig;
	nested++;
	seen += 4;
	seen -= 3;
}

int main(void)
{
	static char stack[65536];
	stack_t ss = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction a;
	volatile int local = 0;

	memset(&a, 0, sizeof(a));
	sigaltstack(&ss, NULL);
	a.sa_handler = on_usr1;
	sigaction(SIGUSR1, &a, NULL);
	a.sa_handler = on_usr2;
	a.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &a, NULL);
	for (int i = 0; i < 7; i++) {
		pass = i;
		local += i % 4;
		if (i & 1)
			kill(getpid(), SIGUSR1);
		if (i == 2)
			local = 3;
	}
	seen = 6;
	nested = 2;
	local = 10;
	puts("end");
	_exit(local);
}
