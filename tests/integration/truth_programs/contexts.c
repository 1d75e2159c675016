/* SPDX-License-Identifier: MIT */
/*
 * contexts.c: coroutines by swapcontext, their locals; handlers on another stack.
 *
 * LEVELS: -O0 -O2
 * EXPR: mine < 8
 * IN: coroutine
 * EXPR: deep < 3
 * IN: on_usr1
 * CI: -O0 session
 */
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>
#include <unistd.h>
volatile int pass;
int shared_sum, seen;
static ucontext_t top, one;
static char stack[65536], alt[65536];
static void on_usr1(int sig)
{
	volatile int deep = 0;
	for (int i = 0; i < 5; i++) {
		pass = 100 + i;
		deep = i;
		seen = i % 4;
	}
	if (seen == 0 && pass == 104 && shared_sum > 30) {
		seen = 3;
		_exit(deep & 1);
	}
}
static void coroutine(void)
{
	volatile int mine = 0;
	for (;;) {
		mine += 2;
		pass = mine;
		shared_sum += mine;
		if (mine > 12)
			raise(SIGUSR1);
		swapcontext(&one, &top);
	}
}
int main(void)
{
	stack_t s = {.ss_sp = alt, .ss_size = sizeof(alt)};
	struct sigaction a = {.sa_handler = on_usr1, .sa_flags = SA_ONSTACK};
	sigaltstack(&s, 0);
	sigaction(SIGUSR1, &a, 0);
	getcontext(&one);
	one.uc_stack.ss_sp = stack;
	one.uc_stack.ss_size = sizeof(stack);
	one.uc_link = &top;
	makecontext(&one, coroutine, 0);
	for (int i = 0; i < 20; i++) {
		swapcontext(&top, &one);
		getppid();
	}
	return 0;
}
