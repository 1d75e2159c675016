/* SPDX-License-Identifier: MIT */
/*
 * signal_windows.c: signals come in quick succession to threads that begin calls which may wait, while their logs grow:
 * what is recorded of one is whole when the next one's handler runs.
 * NONDET-OUTPUT
 */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS 100
#define READS 600 /* of each */

static volatile sig_atomic_t hits;
static int over; /* under lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t target;
static pthread_barrier_t begun;

static void count(int sig)
{
	(void)sig;
	hits++;
}

static int is_over(int now)
{
	int ret;

	pthread_mutex_lock(&lock);
	ret = over |= now;
	pthread_mutex_unlock(&lock);
	return ret;
}

static void *flood(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&begun);
	while (!is_over(0))
		for (int i = 0; i < 20; i++)
			pthread_kill(target, i % 2 ? SIGUSR1 : SIGUSR2);
	return NULL;
}

/* Each read may wait, as far as can be told, but need not. */
static void read_on(const int *p)
{
	char c = 0;

	for (int i = 0; i < READS; i++) {
		CHECK(write(p[1], &c, 1) == 1);
		CHECK(read(p[0], &c, 1) == 1);
	}
}

static void *one_thread(void *p)
{
	pthread_t sender;

	target = pthread_self();
	over = 0;
	CHECK(pthread_create(&sender, NULL, flood, NULL) == 0);
	pthread_barrier_wait(&begun);
	read_on(p);
	is_over(1);
	CHECK(pthread_join(sender, NULL) == 0);
	return NULL;
}

int main(void)
{
	struct sigaction sa = {.sa_handler = count, .sa_flags = SA_RESTART};
	pthread_t thread;
	int p[2];

	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0 && sigaction(SIGUSR2, &sa, NULL) == 0);
	CHECK(pthread_barrier_init(&begun, NULL, 2) == 0);
	CHECK(pipe(p) == 0);
	for (int i = 0; i < THREADS; i++) {
		CHECK(pthread_create(&thread, NULL, one_thread, p) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
	}
	CHECK(hits > 0);
	printf("%d\n", (int)hits);
	step("signal_windows");
	return check_status();
}
