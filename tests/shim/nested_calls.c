/* SPDX-License-Identifier: MIT */
/*
 * nested_calls.c: calls of libc in calls of libc, many deep, each with a lock inside libc: walks of the libraries, streams that
 * write to other streams. Threads come back from them, or end in the innermost one.
 */
#include "check.h"

#include <link.h>
#include <pthread.h>

#define DEEP 40

static _Thread_local int depth, deepest;

static int again(struct dl_phdr_info *info, size_t size, void *ends)
{
	(void)info, (void)size;
	if (++depth > deepest)
		deepest = depth;
	if (depth < DEEP)
		dl_iterate_phdr(again, ends);
	else if (ends)
		pthread_exit(ends);
	depth--;
	return 1; /* no further */
}

static void *walks(void *ends)
{
	dl_iterate_phdr(again, ends);
	return deepest == DEEP && !depth ? &deepest : NULL;
}

static void test_walks(void)
{
	pthread_t t;
	void *got;

	for (int i = 0; i < 4; i++) { /* one ends in there, the next one needs the lock */
		NEED(pthread_create(&t, NULL, walks, i % 2 ? NULL : &t) == 0);
		NEED(pthread_join(t, &got) == 0);
		CHECK(i % 2 ? got != NULL : got == &t);
	}
	step("walks");
}

static FILE *chain[DEEP];
static int written;

static ssize_t pass_on(void *cookie, const char *text, size_t n)
{
	long i = (long)cookie;

	if (i + 1 < DEEP)
		fwrite(text, 1, n, chain[i + 1]);
	else
		written += (int)n;
	return (ssize_t)n;
}

static void *writes(void *text)
{
	fputs(text, chain[0]);
	return text;
}

static void test_streams(void)
{
	pthread_t t;

	for (long i = 0; i < DEEP; i++) {
		chain[i] = fopencookie((void *)i, "w", (cookie_io_functions_t){.write = pass_on});
		NEED(chain[i]);
		setvbuf(chain[i], NULL, _IONBF, 0);
	}
	for (int i = 0; i < 4; i++) {
		NEED(pthread_create(&t, NULL, writes, "text") == 0);
		pthread_join(t, NULL);
	}
	CHECK(written == 16);
	step("streams");
}

int main(void)
{
	test_walks();
	test_streams();
	return check_status();
}
