/* SPDX-License-Identifier: MIT */
/* A thread gets a pointer from its creator, who got it from elsewhere. KIND: segfault */
#include <pthread.h>
#include <stdio.h>

struct job {
	int *input;
};

static struct job job;

static __attribute__((noinline)) void prepare(struct job *j, int i)
{
	j->input = (int *)(0x30ul + (unsigned)i); /* BUG */
}

static void *work(void *arg)
{
	int *in = arg;

	printf("%d\n", *in);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;

	(void)argv;
	prepare(&job, argc);
	puts("a");
	pthread_create(&t, NULL, work, job.input);
	pthread_join(t, NULL);
	return 0;
}
