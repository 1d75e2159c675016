/* SPDX-License-Identifier: MIT */
/* signals.c: signals sent to a thread that waits for them, one that sleeps and one that computes. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

#include "mark.h"

static pthread_barrier_t ready;
static sem_t taken;
static volatile int stop;

static void handler(int sig)
{
	mark(sig);
	sem_post(&taken);
}

static void *waits(void *arg)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, 0);
	pthread_barrier_wait(&ready);
	sigwait(&set, &sig);
	mark(1000 * sig);
	sem_post(&taken);
	return arg;
}

static void *sleeps(void *arg)
{
	struct timespec ts = {1, 0};

	pthread_barrier_wait(&ready);
	while (!stop) /* the signal may come before it sleeps */
		nanosleep(&ts, NULL);
	return arg;
}

static void *computes(void *arg)
{
	pthread_barrier_wait(&ready);
	while (!stop)
		mark(0);
	return arg;
}

static void take(void)
{
	while (sem_wait(&taken))
		;
}

int main(void)
{
	struct sigaction sa = {.sa_handler = handler};
	pthread_t t[3];

	sigaction(SIGUSR1, &sa, 0);
	pthread_barrier_init(&ready, 0, 4);
	sem_init(&taken, 0, 0);
	pthread_create(&t[0], 0, waits, 0);
	pthread_create(&t[1], 0, sleeps, 0);
	pthread_create(&t[2], 0, computes, 0);
	pthread_barrier_wait(&ready);
	pthread_kill(t[0], SIGUSR2);
	take();
	pthread_kill(t[2], SIGUSR1);
	take();
	stop = 1;
	pthread_kill(t[1], SIGUSR1);
	take();
	raise(SIGUSR1);
	for (int i = 0; i < 3; i++)
		if (i != 1)
			pthread_join(t[i], 0);
	return 0;
}
