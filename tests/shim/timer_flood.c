/* SPDX-License-Identifier: MIT */
/*
 * timer_flood.c: timers that expire in less time than it takes to record a signal, in processes that share memory: the
 * processes go on, the handlers run, and the mask stays what the program has made of it.
 * NONDET-OUTPUT
 */
#include "check.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#define CHILDREN 4
#define ROUNDS 10
#define PERIOD_NS 15000

static volatile unsigned long hits;
static volatile long *turns;

static void tick(int sig)
{
	(void)sig;
	hits++;
}

static void check_mask(void)
{
	sigset_t now;

	CHECK(sigprocmask(SIG_BLOCK, NULL, &now) == 0);
	CHECK(!sigismember(&now, SIGRTMIN) && sigismember(&now, SIGUSR1));
}

static int child(long period)
{
	struct itimerspec when = {{0, period}, {0, period}};
	struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
	struct timespec pause = {0, 100000};
	timer_t timer;

	NEED(timer_create(CLOCK_REALTIME, &ev, &timer) == 0);
	CHECK(timer_settime(timer, 0, &when, NULL) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		nanosleep(&pause, NULL);
		check_mask();
		turns[0]++;
		CHECK(getppid() > 0);
	}
	CHECK(timer_delete(timer) == 0);
	CHECK(hits > 0);
	return check_status();
}

int main(void)
{
	struct sigaction sa = {.sa_handler = tick};
	sigset_t usr;
	int status;

	turns = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	NEED(turns != MAP_FAILED);
	CHECK(sigaction(SIGRTMIN, &sa, NULL) == 0);
	sigemptyset(&usr);
	sigaddset(&usr, SIGUSR1);
	CHECK(sigprocmask(SIG_BLOCK, &usr, NULL) == 0);
	for (int i = 0; i < CHILDREN; i++)
		if (fork() == 0)
			_exit(child(PERIOD_NS + i * 1000));
	for (int i = 0; i < CHILDREN; i++)
		CHECK(wait(&status) > 0 && status == 0);
	CHECK(turns[0] > 0);
	printf("%ld\n", turns[0]);
	step("timer_flood");
	return check_status();
}
