/* SPDX-License-Identifier: MIT */
/* timers.c: timers that send signals, and one that starts a thread. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

#include "mark.h"

static sem_t ticked;
static volatile int ticks;

static void handler(int sig)
{
	mark(sig);
	ticks++;
	sem_post(&ticked);
}

static void told(union sigval v)
{
	mark(v.sival_int);
	sem_post(v.sival_ptr);
}

static void *sleeps(void *arg)
{
	struct timespec ts = {0, 3000000};

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
	return arg;
}

static void take(sem_t *s)
{
	while (sem_wait(s))
		;
}

int main(void)
{
	struct sigaction sa = {.sa_handler = handler};
	struct sigevent by_thread = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = told};
	struct sigevent by_signal = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 1};
	struct itimerspec soon = {.it_value = {0, 1000000}}, often = {.it_value = {0, 1000000}, .it_interval = {0, 1000000}};
	timer_t a, b;
	pthread_t t;
	sem_t s;

	sem_init(&ticked, 0, 0);
	sem_init(&s, 0, 0);
	sigaction(SIGRTMIN + 1, &sa, 0);
	pthread_create(&t, 0, sleeps, 0);
	timer_create(CLOCK_MONOTONIC, &by_signal, &a);
	timer_settime(a, 0, &often, 0);
	for (int i = 0; i < 3; i++)
		take(&ticked);
	timer_delete(a);
	by_thread.sigev_value.sival_ptr = &s;
	timer_create(CLOCK_MONOTONIC, &by_thread, &b);
	timer_settime(b, 0, &soon, 0);
	take(&s);
	timer_delete(b);
	pthread_join(t, 0);
	return ticks < 3;
}
