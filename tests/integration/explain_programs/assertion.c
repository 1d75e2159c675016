/* SPDX-License-Identifier: MIT */
/* An assertion about what another thread changed, with a macro in it. KIND: assertion */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#define LEAST 0
static int balance = 100;

static void *pay(void *arg)
{
	for (int i = 0; i < 30; i++) {
		pthread_mutex_lock(&lock);
		balance -= 3;
		if (i == 25)
			balance -= 50; /* BUG */
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, pay, NULL);
	pthread_join(t, NULL);
	printf("%d\n", balance);
	assert(balance >= LEAST);
	return 0;
}
