/* SPDX-License-Identifier: MIT */
/*
 * wait.c: see wait.h. Handlers and blocked signals are chosen so that the child inherits what we got:
 * a handler becomes the default at its exec, and signals are blocked only after it was started.
 */
#include "cli/wait.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define LATER_NS 100000000l

static void nothing(int signo)
{
	(void)signo;
}

void wait_prepare(void)
{
	static const int signals[] = {SIGINT, SIGQUIT};

	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction sa, none = {.sa_handler = nothing, .sa_flags = SA_RESTART};

		if (!sigaction(signals[i], NULL, &sa) && sa.sa_handler == SIG_DFL)
			sigaction(signals[i], &none, NULL);
	}
}

static void block(sigset_t *set)
{
	static const int signals[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

	sigemptyset(set);
	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(set, signals[i]);
	sigprocmask(SIG_BLOCK, set, NULL);
}

/* 1: pid has ended. */
static int reap(pid_t pid, int *status)
{
	int st;
	pid_t got;

	while ((got = waitpid(-1, &st, WNOHANG)) > 0) {
		if (got != pid)
			continue;
		*status = st;
		return 1;
	}
	return got < 0 && errno == ECHILD ? -1 : 0;
}

int wait_for_program(pid_t pid, int *status, const struct wait_calls *calls, struct err *e)
{
	static const struct timespec soon = {.tv_nsec = LATER_NS};
	void (*later)(void *) = calls->later;
	bool again = false;
	sigset_t set;
	int r;

	block(&set);
	while (!(r = reap(pid, status))) {
		siginfo_t si;
		int signo = later || again ? sigtimedwait(&set, &si, &soon) : sigwaitinfo(&set, &si);

		if (signo < 0 && errno == EAGAIN && later) {
			later(calls->arg);
			later = NULL;
		}
		if (signo == SIGCHLD || again)
			again = calls->told(calls->arg);
		/* from the terminal, the kernel has sent it to the child too */
		if (signo > 0 && signo != SIGCHLD && si.si_code != SI_KERNEL)
			kill(pid, signo);
	}
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return r > 0 ? 0 : err_set(e, ERR_INTERNAL, "the program was reaped by someone else");
}
