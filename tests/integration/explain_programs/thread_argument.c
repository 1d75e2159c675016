/* SPDX-License-Identifier: MIT */
/* A thread gets a pointer from its creator, who got it from elsewhere. KIND: segfault */
#include <pthread.h>
#include <stdio.h>

struct job {
	int *input;
};

static struct job job;

static __attribute__((noinline)) void prepare(struct job *j)
{
	j->input = (int *)0x30ul; /* BUG */
}

static void *work(void *arg)
{
	int *in = arg;

	printf("%d\n", *in);
	return arg;
}

int main(void)
{
	pthread_t t;

	prepare(&job);
	puts("a");
	pthread_create(&t, NULL, work, job.input);
	pthread_join(t, NULL);
	return 0;
}
