/* SPDX-License-Identifier: MIT */
/*
 * signal_flood.c: more signals than can be handled one after the other: none is handled inside its own handler, whatever
 * that does, nor where it is blocked; and they come at the end of a handler too, behind its last call.
 * NONDET-OUTPUT
 */
#include "check.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define FLOOD 3000

static volatile sig_atomic_t inside[65], both, blocked;
static volatile unsigned long hits[65], made;

static void calls(int sig)
{
	struct timespec none = {0, 1000};

	CHECK(!inside[sig] && !blocked);
	inside[sig] = 1;
	if (sig == SIGUSR2) {
		CHECK(!both); /* SIGUSR1's handler blocks it */
		poll(NULL, 0, 0);
	} else {
		both = 1;
		nanosleep(&none, NULL);
	}
	hits[sig]++;
	CHECK(getppid() > 0);
	for (int i = 0; i < 20000; i++)
		made = made * 31 + (unsigned long)i;
	if (sig == SIGUSR1)
		both = 0;
	inside[sig] = 0;
}

static void flood(pid_t to)
{
	struct timespec pause = {0, 20000};

	for (int i = 0; i < FLOOD; i++) {
		kill(to, i % 2 ? SIGUSR1 : SIGUSR2);
		if (i % 4 == 0)
			nanosleep(&pause, NULL);
	}
	_exit(0);
}

int main(void)
{
	struct sigaction sa = {.sa_handler = calls};
	sigset_t usr, was;
	int status = 0;
	pid_t child;

	sigemptyset(&usr);
	sigaddset(&usr, SIGUSR1);
	sigaddset(&usr, SIGUSR2);
	CHECK(sigaction(SIGUSR2, &sa, NULL) == 0);
	sigaddset(&sa.sa_mask, SIGUSR2);
	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	child = fork();
	NEED(child >= 0);
	if (!child)
		flood(getppid());
	while (waitpid(child, &status, WNOHANG) == 0) {
		CHECK(sigprocmask(SIG_BLOCK, &usr, &was) == 0);
		blocked = 1;
		for (int i = 0; i < 50; i++)
			CHECK(getppid() > 0);
		blocked = 0;
		CHECK(sigprocmask(SIG_SETMASK, &was, NULL) == 0);
		poll(NULL, 0, 1);
	}
	CHECK(status == 0);
	CHECK(hits[SIGUSR1] > 0 && hits[SIGUSR2] > 0);
	/* one that came before it was blocked is still there to be waited for */
	CHECK(sigprocmask(SIG_BLOCK, &usr, NULL) == 0);
	CHECK(raise(SIGUSR1) == 0 && sigwaitinfo(&usr, NULL) > 0);
	printf("%lu %lu %lx\n", hits[SIGUSR1], hits[SIGUSR2], made);
	step("signal_flood");
	return check_status();
}
