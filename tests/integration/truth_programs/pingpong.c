/* SPDX-License-Identifier: MIT */
/*
 * pingpong.c: two threads that hand over to each other, and their local variables.
 *
 * EXPR: shared < 12
 * EXPR: box->count != 5
 * EXPR: mine < 8
 * IN: worker
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct box {
	int count;
};

volatile int pass;
int shared;
struct box *box;
static sem_t go[2];

static void *worker(void *arg)
{
	volatile int mine = 0;

	(void)arg;
	for (int i = 0; i < 8; i++) {
		sem_wait(&go[1]);
		pass = 100 + i;
		mine = mine + 2;
		shared += 1;
		if (shared > 14) {
			puts("end");
			_exit(1);
		}
		sem_post(&go[0]);
	}
	return NULL;
}

int main(void)
{
	pthread_t t;

	sem_init(&go[0], 0, 0);
	sem_init(&go[1], 0, 0);
	box = calloc(1, sizeof(*box));
	pthread_create(&t, NULL, worker, NULL);
	for (int i = 0; i < 8; i++) {
		pass = i;
		shared += 2;
		if (shared % 3 == 0)
			shared--;
		box->count++;
		sem_post(&go[1]);
		sem_wait(&go[0]);
	}
	pthread_join(t, NULL);
	return 0;
}
