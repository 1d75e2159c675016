/* SPDX-License-Identifier: MIT */
/* blocks.c: a block of the heap that is used, written out, copied to and freed without order. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char *block, *text; /* text: allocated by libc for the program */
static char from[64];

/* By luck it comes later: nothing says so. */
static void nap(long ms)
{
	struct timespec t = {0, ms * 1000000};

	nanosleep(&t, NULL);
}

static void *uses(void *arg)
{
	block[3] = 1; /* RACE: - */
	nap(60);
	return arg;
}

static void *writes_out(void *arg)
{
	nap(10);
	fprintf(stderr, "%d %.40s\n", 1, block); /* RACE: - */
	fputs(text, stderr); /* RACE: - */
	return arg;
}

static void *copies(void *arg)
{
	nap(20);
	memcpy(block, from, sizeof(from)); /* RACE: - */
	return arg;
}

static void *frees(void *arg)
{
	nap(40);
	free(block); /* RACE: - */
	free(text); /* RACE: - */
	return arg;
}

int main(void)
{
	void *(*f[])(void *) = {uses, writes_out, copies, frees};
	pthread_t t[4];

	block = malloc(64); /* ALLOC */
	text = strdup("text\n"); /* ALLOC */
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, f[i], NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return 0;
}
