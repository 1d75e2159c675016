/* SPDX-License-Identifier: MIT */
/* signals.c: handlers, siginfo, masks, waiting for signals, nesting, restart, an own stack, crashes caught. */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

static volatile sig_atomic_t hits[65], depth, deepest, value;
static volatile void *fault_address;
static sigjmp_buf env;

static void count(int sig)
{
	hits[sig]++;
}

static void count_info(int sig, siginfo_t *info, void *context)
{
	(void)context;
	hits[sig]++;
	CHECK(info->si_signo == sig);
	if (info->si_code == SI_QUEUE)
		value = info->si_value.sival_int;
	if (info->si_code == SI_USER || info->si_code == SI_TKILL)
		CHECK(info->si_pid == getpid());
}

static void handle(int sig, void (*fn)(int), int flags)
{
	struct sigaction sa = {.sa_handler = fn, .sa_flags = flags};

	CHECK(sigaction(sig, &sa, NULL) == 0);
}

static void handle_info(int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = {.sa_sigaction = fn, .sa_flags = flags | SA_SIGINFO};

	CHECK(sigaction(sig, &sa, NULL) == 0);
}

static void test_to_self(void)
{
	struct sigaction old;

	CHECK(signal(SIGUSR1, count) == SIG_DFL);
	CHECK(raise(SIGUSR1) == 0 && hits[SIGUSR1] == 1);
	CHECK(kill(getpid(), SIGUSR1) == 0 && hits[SIGUSR1] == 2);
	handle_info(SIGUSR2, count_info, 0);
	CHECK(pthread_kill(pthread_self(), SIGUSR2) == 0 && hits[SIGUSR2] == 1);
	CHECK(sigqueue(getpid(), SIGUSR2, (union sigval){.sival_int = 77}) == 0);
	CHECK(hits[SIGUSR2] == 2 && value == 77);
	CHECK(sigaction(SIGUSR1, NULL, &old) == 0 && old.sa_handler == count);
	CHECK(signal(SIGUSR1, SIG_IGN) == count && raise(SIGUSR1) == 0 && hits[SIGUSR1] == 2);
	CHECK(kill(getpid(), 0) == 0 && kill(getpid(), 999) == -1 && errno == EINVAL);
	step("to itself");
}

static void test_masks(void)
{
	sigset_t set, old, pending;

	handle(SIGUSR1, count, 0);
	hits[SIGUSR1] = 0;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK(sigprocmask(SIG_BLOCK, &set, &old) == 0 && !sigismember(&old, SIGUSR1));
	raise(SIGUSR1);
	raise(SIGUSR1);
	CHECK(hits[SIGUSR1] == 0);
	CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGUSR1));
	CHECK(pthread_sigmask(SIG_SETMASK, NULL, &pending) == 0 && sigismember(&pending, SIGUSR1));
	CHECK(sigsuspend(&old) == -1 && errno == EINTR && hits[SIGUSR1] == 1);
	CHECK(sigprocmask(SIG_SETMASK, &old, NULL) == 0 && hits[SIGUSR1] == 1);
	step("masks");
}

static void test_waiting(void)
{
	struct timespec soon = {0, 2000000};
	siginfo_t info;
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMIN + 1);
	CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
	kill(getpid(), SIGUSR1);
	CHECK(sigwait(&set, &sig) == 0 && sig == SIGUSR1);
	for (int i = 1; i <= 3; i++)
		sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = i});
	for (int i = 1; i <= 3; i++)
		CHECK(sigwaitinfo(&set, &info) == SIGRTMIN + 1 && info.si_value.sival_int == i);
	CHECK(sigtimedwait(&set, &info, &soon) == -1 && errno == EAGAIN);
	CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
	step("waiting");
}

static void nest(int sig)
{
	depth++;
	if (depth > deepest)
		deepest = depth;
	if (sig == SIGUSR1)
		raise(SIGUSR2);
	else if (depth < 4)
		raise(SIGUSR1);
	depth--;
}

static void test_nested(void)
{
	handle(SIGUSR1, nest, SA_NODEFER);
	handle(SIGUSR2, nest, SA_NODEFER);
	raise(SIGUSR1);
	CHECK(depth == 0 && deepest == 4);
	handle(SIGUSR1, count, SA_RESETHAND);
	hits[SIGUSR1] = 0;
	raise(SIGUSR1);
	CHECK(hits[SIGUSR1] == 1 && signal(SIGUSR1, SIG_IGN) == SIG_DFL);
	step("nested and reset");
}

static void jump_out(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	fault_address = info->si_addr;
	siglongjmp(env, 1);
}

static __attribute__((noinline)) int divide(volatile int a, volatile int b)
{
	return a / b;
}

static void test_crashes(void)
{
	char *p = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
	volatile int caught = 0;

	handle_info(SIGSEGV, jump_out, SA_ONSTACK);
	handle_info(SIGFPE, jump_out, 0);
	CHECK(sigaltstack(&stack, NULL) == 0);
	for (int i = 0; i < 3; i++) {
		if (sigsetjmp(env, 1) == 0)
			*(volatile char *)(p + 4096 + i) = 1;
		else
			caught += fault_address == p + 4096 + i;
	}
	CHECK(caught == 3);
	if (sigsetjmp(env, 1) == 0)
		value = divide(1, 0);
	else
		caught++;
	CHECK(caught == 4);
	stack.ss_flags = SS_DISABLE;
	CHECK(sigaltstack(&stack, NULL) == 0);
	free(stack.ss_sp);
	signal(SIGSEGV, SIG_DFL), signal(SIGFPE, SIG_DFL);
	munmap(p, 8192);
	step("crashes caught");
}

static void test_timer(void)
{
	struct itimerval every = {{0, 2000}, {0, 2000}}, off = {{0, 0}, {0, 0}}, was;
	struct timespec now;
	sigset_t none;

	handle(SIGALRM, count, SA_RESTART);
	sigemptyset(&none);
	CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
	while (hits[SIGALRM] < 3)
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (hits[SIGALRM] < 6)
		sigsuspend(&none);
	CHECK(setitimer(ITIMER_REAL, &off, &was) == 0 && was.it_interval.tv_usec == 2000);
	CHECK(alarm(100) == 0 && alarm(0) > 90);
	step("timer");
}

static void test_child(void)
{
	sigset_t set, old;
	pid_t pid;

	handle(SIGCHLD, count, SA_RESTART);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &old);
	pid = fork();
	NEED(pid >= 0);
	if (pid == 0)
		_exit(5);
	while (!hits[SIGCHLD])
		sigsuspend(&old);
	sigprocmask(SIG_SETMASK, &old, NULL);
	CHECK(waitpid(pid, NULL, 0) == pid);
	signal(SIGCHLD, SIG_DFL);
	step("SIGCHLD");
}

int main(void)
{
	test_to_self();
	test_masks();
	test_waiting();
	test_nested();
	test_crashes();
	test_timer();
	test_child();
	return check_status();
}
