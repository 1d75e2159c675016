/* SPDX-License-Identifier: MIT */
/*
 * parser_depth.c: a parser in a thread recurses once per bracket, until its stack is full.
 *
 * EXPECT-EXPR: nest < 100
 * EXPECT-LINE: BUG: without a bound
 * EXPECT-FUNC: list
 * EXPECT-EXIT: 139
 * EXPECT-CFLAGS: -pthread
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int nest;
static const char *p;
static int value(void);

static __attribute__((noinline)) int list(void)
{
	int n = 0;

	nest++; /* BUG: without a bound */
	while (*p && *p != ')')
		n += value();
	if (*p)
		p++;
	nest--;
	return n;
}

static __attribute__((noinline)) int value(void)
{
	volatile char tmp[300];

	tmp[0] = *p;
	if (*p == '(') {
		p++;
		return list() + tmp[0];
	}
	p++;
	return 1;
}

static void *parse(void *s)
{
	p = s;
	return (void *)(long)value();
}

int main(void)
{
	static char text[400000];
	pthread_t t;

	memset(text, '(', sizeof text - 1);
	pthread_create(&t, 0, parse, text);
	pthread_join(t, 0);
	printf("%d\n", nest);
	return 0;
}
