/* SPDX-License-Identifier: MIT */
/* A loop gives up what it waits for: that had come, and was overwritten. KIND: exit */
#include <pthread.h>
#include <sched.h>

enum { NEW, RUNNING, STOPPING };
static volatile int state;
static int failed;

static void *serves(void *arg)
{
	state = RUNNING; /* BUG */
	for (int i = 0; state != STOPPING; i++) {
		if (i == 50) {
			failed = 1;
			break;
		}
		sched_yield();
	}
	return arg;
}

int main(void)
{
	pthread_t t;

	state = STOPPING;
	pthread_create(&t, NULL, serves, NULL);
	pthread_join(t, NULL);
	return failed;
}
