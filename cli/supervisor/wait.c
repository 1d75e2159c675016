/* SPDX-License-Identifier: MIT */
/*
 * wait.c: see wait.h. The child is to inherit the signal actions and the mask that this process was started with. So
 * handlers are set (at the child's exec they become the default), and signals are blocked only after it was started.
 */
#include "supervisor/wait.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/str.h"

#define LATER_NS 100000000l
#define LOOK_NS 250000000l

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

/*
 * All signals that would end this process, and those that it waits for. Signals that stop it (Ctrl-Z) are left as they
 * are.
 */
static void waited(sigset_t *set)
{
	static const int others[] = {SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH};

	sigfillset(set);
	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		sigdelset(set, others[i]);
}

void wait_started(void)
{
	sigset_t set;

	waited(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
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

pid_t wait_parent_of(pid_t pid)
{
	cleanup_free char *path = str_fmt("/proc/%d/stat", (int)pid);
	cleanup_buf struct buf b = {0};
	struct err ignored;
	const char *p;
	int parent = 0;

	if (read_file(path, &b, &ignored) || !(p = strrchr(buf_str(&b), ')')))
		return 0;
	return sscanf(p, ") %*c %d", &parent) == 1 ? parent : 0;
}

/* Is it the program or a process of it? (Orphans become children of this process.) */
static bool is_below_us(pid_t pid)
{
	pid_t self = getpid();

	while (pid > 1 && pid != self)
		pid = wait_parent_of(pid);
	return pid == self;
}

static bool is_for_program(const siginfo_t *si)
{
	switch (si->si_signo) {
	case SIGCHLD:
		return false;
	case SIGALRM:
	case SIGVTALRM:
	case SIGPROF:
		break; /* sent by the kernel: a timer that was set before the exec of fredctl */
	default:
		/* from the terminal, the kernel has sent it to the child too; any other is about us */
		if (si->si_code == SI_KERNEL)
			return false;
	}
	return si->si_code == SI_KERNEL || !is_below_us(si->si_pid);
}

/* Signals that come at or after the end of the program must not end this process before the recording is complete. */
static void forget_waiting(const sigset_t *set)
{
	static const struct timespec now = {0};

	while (sigtimedwait(set, NULL, &now) > 0)
		;
}

int wait_for_program(pid_t pid, int *status, const struct wait_calls *calls, struct err *e)
{
	static const struct timespec soon = {.tv_nsec = LATER_NS}, look = {.tv_nsec = LOOK_NS};
	void (*later)(void *) = calls->later;
	bool again = false;
	sigset_t set;
	int r;

	waited(&set);
	while (!(r = reap(pid, status))) {
		siginfo_t si;
		int signo = sigtimedwait(&set, &si, later || again ? &soon : &look);

		if (signo < 0 && errno == EAGAIN && later) {
			later(calls->arg);
			later = NULL;
		}
		if (signo == SIGCHLD || signo < 0)
			again = calls->told(calls->arg);
		if (signo > 0 && is_for_program(&si))
			kill(pid, signo);
	}
	forget_waiting(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return r > 0 ? 0 : err_set(e, ERR_INTERNAL, "the program was reaped by someone else");
}
