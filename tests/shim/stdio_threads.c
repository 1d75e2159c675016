/* SPDX-License-Identifier: MIT */
/*
 * stdio_threads.c: threads that print to one stream: the order is a race under a lock inside libc, and
 * a replay must print the same order.
 * NONDET-OUTPUT
 */
#include "check.h"

#include <pthread.h>

#define THREADS 3
#define LINES 500

static FILE *shared;

static void *printer(void *arg)
{
	int id = (int)(size_t)arg;

	for (int i = 0; i < LINES; i++) {
		printf("thread %d line %d\n", id, i);
		fprintf(shared, "%d %d\n", id, i);
		if (i % 10 == id) {
			flockfile(shared);
			fputc_unlocked('x', shared);
			fputc_unlocked('\n', shared);
			funlockfile(shared);
		}
		if (i % 50 == 0)
			fflush(stdout);
	}
	return NULL;
}

static void test_content(void)
{
	int next[THREADS] = {0}, marks = 0, id, i;
	char line[100];

	rewind(shared);
	while (fgets(line, sizeof(line), shared)) {
		if (line[0] == 'x')
			marks++;
		else if (CHECK(sscanf(line, "%d %d", &id, &i) == 2 && id >= 0 && id < THREADS))
			CHECK(next[id]++ == i);
	}
	for (id = 0; id < THREADS; id++)
		CHECK(next[id] == LINES);
	CHECK(marks == THREADS * LINES / 10);
}

int main(void)
{
	pthread_t t[THREADS];

	shared = fopen("shared", "w+");
	NEED(shared);
	for (size_t i = 0; i < THREADS; i++)
		NEED(pthread_create(&t[i], NULL, printer, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	step("printed");
	test_content();
	fclose(shared);
	unlink("shared");
	step("content");
	return check_status();
}
