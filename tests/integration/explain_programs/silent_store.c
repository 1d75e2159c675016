/* SPDX-License-Identifier: MIT */
/*
 * The word that is read was null before, by another function's variable at its place: what counts is the last write, though it
 * changed nothing. KIND: segfault
 */
#include <stdio.h>

static int *volatile slot;

static __attribute__((noinline)) void first(void)
{
	slot = NULL;
}

static __attribute__((noinline)) void second(void)
{
	slot = NULL; /* BUG */
}

int main(void)
{
	first();
	puts("a");
	second();
	puts("b");
	return *slot;
}
