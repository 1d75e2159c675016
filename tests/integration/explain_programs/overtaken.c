/* SPDX-License-Identifier: MIT */
/* Of two values that are compared, the one that another thread has changed. KIND: exit */
#include <pthread.h>
#include <stddef.h>

static volatile long owner;
static int failed;

static void *claims(void *arg)
{
	owner = (long)arg; /* BUG */
	return NULL;
}

int main(int argc, char **argv)
{
	long me = argc;
	pthread_t t;

	(void)argv;
	owner = me;
	pthread_create(&t, NULL, claims, (void *)5L);
	pthread_join(t, NULL);
	if (owner != me)
		failed = 1;
	return failed;
}
