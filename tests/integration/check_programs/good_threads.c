/* SPDX-License-Identifier: MIT */
/* good_threads.c: Blocks go from thread to thread, and signals come in between. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *box[4];
static volatile int handled;

static void handler(int sig)
{
	char local[64];

	memset(local, sig, sizeof(local));
	handled += local[1] == sig;
}

static void *work(void *arg)
{
	for (int i = 0; i < 30; i++) {
		char *p = malloc((size_t)(i + 1));

		memset(p, i, (size_t)(i + 1));
		pthread_mutex_lock(&lock);
		free(box[i % 4]);
		box[i % 4] = p;
		pthread_mutex_unlock(&lock);
		if (i == 10)
			raise(SIGUSR1);
	}
	return arg;
}

int main(void)
{
	pthread_t t[3];

	signal(SIGUSR1, handler);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 4; i++)
		free(box[i]);
	return handled != 3;
}
