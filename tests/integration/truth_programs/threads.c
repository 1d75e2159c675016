/* SPDX-License-Identifier: MIT */
/*
 * threads.c: variables of each thread's own, a condition variable, and heap objects that go from thread to thread.
 *
 * EXPR: mailbox == 0 || mailbox->serial < 6
 * EXPR: delivered < 5
 * EXPR: own < 4
 * IN: receiver
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct letter {
	int serial;
};

volatile int pass;
struct letter *mailbox;
int delivered, stop;
__thread int own;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;

static void *receiver(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!mailbox)
			pthread_cond_wait(&change, &lock);
		delivered++;
		own++;
		if (mailbox->serial == 8) {
			puts("end");
			_exit(1);
		}
		free(mailbox);
		mailbox = NULL;
		pthread_cond_signal(&change);
	}
	return NULL;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, receiver, NULL);
	for (int i = 1; i < 10; i++) {
		struct letter *l = malloc(sizeof(*l));

		l->serial = i;
		pthread_mutex_lock(&lock);
		while (mailbox)
			pthread_cond_wait(&change, &lock);
		pass = i;
		mailbox = l;
		pthread_cond_signal(&change);
		pthread_mutex_unlock(&lock);
	}
	pthread_join(t, NULL);
	return 0;
}
