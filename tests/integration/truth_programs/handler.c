/* SPDX-License-Identifier: MIT */
/*
 * handler.c: what a signal handler, a comparison called by qsort and a longjmp change.
 *
 * EXPR: signals < 3
 * EXPR: compared < 20
 * EXPR: jumps != 4
 * EXPR: order[0] > 2
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

volatile int pass;
int signals, compared, jumps;
int order[6] = {5, 3, 6, 1, 4, 2};
static jmp_buf again;

static void on_signal(int sig)
{
	(void)sig;
	signals++;
}

static int compare(const void *a, const void *b)
{
	compared++;
	return *(const int *)a - *(const int *)b;
}

static void __attribute__((noinline)) leap(int n)
{
	if (n > 0)
		leap(n - 1);
	longjmp(again, 1);
}

int main(void)
{
	volatile int i;

	signal(SIGUSR1, on_signal);
	for (i = 0; i < 6; i++) {
		pass = i;
		if (i % 2)
			raise(SIGUSR1);
		if (setjmp(again) == 0)
			leap(i);
		jumps++;
		if (i == 2 || i == 4)
			qsort(order, 6, sizeof(int), compare);
		if (i == 2)
			order[0] = 9;
	}
	jumps = 4;
	puts("end");
	_exit(1);
}
