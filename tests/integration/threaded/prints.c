/* SPDX-License-Identifier: MIT */
/* prints.c: one thread waits for a lock inside libc, that of a stream, which another one holds while it sleeps. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>

#include "mark.h"

static FILE *stream;
static sem_t inside;
static int quick;

static ssize_t slowly(void *cookie, const char *text, size_t n)
{
	struct timespec ts = {0, 20000000};

	mark((long)n);
	sem_post(&inside);
	if (!quick)
		nanosleep(&ts, 0);
	quick = 1;
	(void)cookie, (void)text;
	return (ssize_t)n;
}

static void *prints(void *arg)
{
	fprintf(stream, "%s\n", "first");
	mark(100);
	fprintf(stream, "%s\n", "third");
	return arg;
}

int main(void)
{
	cookie_io_functions_t io = {.write = slowly};
	pthread_t t;

	sem_init(&inside, 0, 0);
	stream = fopencookie(0, "w", io);
	setvbuf(stream, 0, _IONBF, 0);
	pthread_create(&t, 0, prints, 0);
	sem_wait(&inside);
	mark(1000);
	fprintf(stream, "%s\n", "second");
	mark(1000);
	pthread_join(t, 0);
	return 0;
}
