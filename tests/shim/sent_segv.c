/* SPDX-License-Identifier: MIT */
/*
 * sent_segv.c: a SIGSEGV or SIGTRAP that is sent while it is blocked stays pending: until it is unblocked, or waited for.
 */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

static volatile sig_atomic_t hits;

static void handler(int sig, siginfo_t *si, void *uc)
{
	(void)sig, (void)si, (void)uc;
	hits++;
}

static int is_pending(int sig)
{
	sigset_t set;

	CHECK(sigpending(&set) == 0);
	return sigismember(&set, sig);
}

static sigset_t only(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	return set;
}

static void until_unblocked(int sig, const char *name)
{
	sigset_t set = only(sig);

	hits = 0;
	CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
	CHECK(!is_pending(sig));
	CHECK(raise(sig) == 0 && raise(sig) == 0);
	CHECK(hits == 0 && is_pending(sig));
	CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
	CHECK(hits == 1 && !is_pending(sig));
	CHECK(raise(sig) == 0);
	CHECK(hits == 2);
	step(name);
}

static void waited_for(void)
{
	sigset_t set = only(SIGSEGV);
	struct timespec none = {0, 0};
	siginfo_t si;

	hits = 0;
	CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
	CHECK(sigqueue(getpid(), SIGSEGV, (union sigval){.sival_int = 7}) == 0);
	CHECK(sigwaitinfo(&set, &si) == SIGSEGV && si.si_value.sival_int == 7);
	CHECK(sigtimedwait(&set, &si, &none) == -1 && errno == EAGAIN);
	CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0 && hits == 0);
	step("waited for");
}

static void suspended(void)
{
	sigset_t set = only(SIGSEGV), empty;

	hits = 0;
	sigemptyset(&empty);
	CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
	CHECK(kill(getpid(), SIGSEGV) == 0 && hits == 0);
	CHECK(sigsuspend(&empty) == -1 && errno == EINTR && hits == 1);
	CHECK(!is_pending(SIGSEGV));
	CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0 && hits == 1);
	step("sigsuspend");
}

static void read_of(void)
{
	sigset_t set = only(SIGSEGV);
	struct signalfd_siginfo si;
	int fd;

	CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	NEED(fd >= 0);
	CHECK(read(fd, &si, sizeof(si)) == -1 && errno == EAGAIN);
	CHECK(sigqueue(getpid(), SIGSEGV, (union sigval){.sival_int = 8}) == 0);
	CHECK(read(fd, &si, sizeof(si)) == sizeof(si) && si.ssi_signo == SIGSEGV && si.ssi_int == 8);
	CHECK(!is_pending(SIGSEGV));
	close(fd);
	CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
	step("signalfd");
}

static pthread_barrier_t ready;

static void *waits(void *arg)
{
	sigset_t set = only(SIGSEGV);
	int sig = 0;

	CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
	pthread_barrier_wait(&ready);
	CHECK(sigwait(&set, &sig) == 0 && sig == SIGSEGV);
	return arg;
}

static void of_thread(void)
{
	pthread_t t;

	hits = 0;
	NEED(pthread_barrier_init(&ready, NULL, 2) == 0);
	NEED(pthread_create(&t, NULL, waits, NULL) == 0);
	pthread_barrier_wait(&ready);
	CHECK(pthread_kill(t, SIGSEGV) == 0);
	CHECK(pthread_join(t, NULL) == 0 && hits == 0);
	step("another thread's");
}

/* The handler's mask blocks it as well. */
static void in_handler(int sig)
{
	(void)sig;
	CHECK(raise(SIGSEGV) == 0 && hits == 0 && is_pending(SIGSEGV));
}

static void behind_handler(void)
{
	struct sigaction sa = {.sa_handler = in_handler};

	hits = 0;
	sigaddset(&sa.sa_mask, SIGSEGV);
	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	CHECK(raise(SIGUSR1) == 0);
	CHECK(hits == 1);
	step("behind a handler");
}

/* By its default action. */
static void ends_child(void)
{
	sigset_t set = only(SIGSEGV);
	int status;
	pid_t pid;

	CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
	CHECK(raise(SIGSEGV) == 0);
	pid = fork();
	NEED(pid >= 0);
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		if (is_pending(SIGSEGV) || raise(SIGSEGV))
			_exit(1);
		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
		_exit(2);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	hits = 0;
	CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0 && hits == 1);
	step("a child");
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

	NEED(sigaction(SIGSEGV, &sa, NULL) == 0 && sigaction(SIGTRAP, &sa, NULL) == 0);
	until_unblocked(SIGSEGV, "SIGSEGV");
	until_unblocked(SIGTRAP, "SIGTRAP");
	waited_for();
	suspended();
	read_of();
	of_thread();
	behind_handler();
	ends_child();
	return check_status();
}
