/* SPDX-License-Identifier: MIT */
/*
 * registers_threads.c: variables in registers of a thread that is not the one that moved last.
 *
 * LEVELS: -O1 -O2
 * EXPR: sum < 20
 * IN: adder
 * EXPR: other != 6
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

volatile int pass;
volatile int input[12] = {3, 5, 1, 4, 2, 8, 7, 6, 9, 11, 10, 12};
volatile int other, result;
static sem_t go[2];

static void *adder(void *arg)
{
	int sum = 0;

	(void)arg;
	for (int i = 0; i < 8; i++) {
		sem_wait(&go[1]);
		pass = 100 + i;
		sum += input[i];
		result = sum;
		sem_post(&go[0]);
	}
	sem_wait(&go[1]);
	result = sum + 1;
	return NULL;
}

int main(void)
{
	pthread_t t;

	sem_init(&go[0], 0, 0);
	sem_init(&go[1], 0, 0);
	pthread_create(&t, NULL, adder, NULL);
	for (int i = 0; i < 8; i++) {
		pass = i;
		other = i;
		sem_post(&go[1]);
		sem_wait(&go[0]);
	}
	other = 5;
	other = 6;
	puts("end");
	_exit(1);
}
