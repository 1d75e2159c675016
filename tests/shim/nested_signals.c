/* SPDX-License-Identifier: MIT */
/*
 * nested_signals.c: signals that come together, with masks and stacks: the order of their handlers, what these find
 * blocked, where they run, and what becomes of those that are ignored, reset or sent to a process that has no handler.
 */
#include "check.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

static int order[128];
static volatile int handled;
static int pipe_fds[2];

static int is_blocked(int sig)
{
	sigset_t now;

	CHECK(sigprocmask(SIG_BLOCK, NULL, &now) == 0);
	return sigismember(&now, sig);
}

static void note_signal(int sig, siginfo_t *si, void *uc)
{
	(void)si;
	(void)uc;
	if (handled < 128)
		order[handled] = sig;
	handled++;
	CHECK(is_blocked(sig));
	CHECK(write(pipe_fds[1], "x", 1) == 1); /* an event in which the next one may come */
}

static void handle(int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = {.sa_sigaction = fn, .sa_flags = SA_SIGINFO | flags};

	CHECK(sigaction(sig, &sa, NULL) == 0);
}

/* ---- several at once, in a call that waits ---- */

static const int three[] = {SIGUSR1, SIGUSR2, SIGALRM};

static void *sender(void *parent)
{
	sigset_t all;

	(void)parent;
	sigfillset(&all);
	CHECK(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
	for (int round = 0; round < 50; round++) {
		char got[3];

		for (int i = 0; i < 3; i++)
			CHECK(kill(getpid(), three[i]) == 0);
		for (int have = 0; have < 3;)
			have += (int)read(pipe_fds[0], got, (size_t)(3 - have));
	}
	return NULL;
}

static void test_together(void)
{
	pthread_t t;
	int seen[65] = {0};

	handled = 0;
	CHECK(pipe(pipe_fds) == 0);
	for (int i = 0; i < 3; i++)
		handle(three[i], note_signal, SA_RESTART);
	CHECK(pthread_create(&t, NULL, sender, NULL) == 0);
	CHECK(pthread_join(t, NULL) == 0);
	CHECK(handled == 150);
	for (int i = 0; i < 128; i++)
		seen[order[i]]++;
	CHECK(seen[SIGUSR1] + seen[SIGUSR2] + seen[SIGALRM] == 128);
	step("three signals at once, fifty times");
}

/* ---- many that wait for the end of a computation ---- */

static void *queuer(void *arg)
{
	sigset_t all;

	sigfillset(&all);
	CHECK(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
	for (int i = 0; i < 40; i++)
		CHECK(pthread_sigqueue(*(pthread_t *)arg, SIGRTMIN + 1, (union sigval){.sival_int = i}) == 0);
	return NULL;
}

static int in_order = 1;

static void numbered(int sig, siginfo_t *si, void *uc)
{
	(void)sig;
	(void)uc;
	in_order &= si->si_value.sival_int == handled;
	handled++;
}

static void test_many(void)
{
	pthread_t t, me = pthread_self();
	sigset_t one;

	handled = 0;
	handle(SIGRTMIN + 1, numbered, 0);
	sigemptyset(&one);
	sigaddset(&one, SIGRTMIN + 1);
	CHECK(pthread_sigmask(SIG_BLOCK, &one, NULL) == 0);
	CHECK(pthread_create(&t, NULL, queuer, &me) == 0 && pthread_join(t, NULL) == 0);
	CHECK(pthread_sigmask(SIG_UNBLOCK, &one, NULL) == 0);
	while (handled < 40)
		CHECK(getppid() > 0);
	CHECK(handled == 40 && in_order);
	step("forty queued signals, in order");
}

/* ---- masks ---- */

static volatile int hup_blocked, usr2_blocked;

static void look_at_masks(int sig, siginfo_t *si, void *uc)
{
	(void)sig;
	(void)si;
	(void)uc;
	hup_blocked = is_blocked(SIGHUP);
	usr2_blocked = is_blocked(SIGUSR2);
}

static void test_wait_masks(void)
{
	struct timespec ten = {10, 0};
	sigset_t hup, usr1, old;

	handle(SIGUSR1, look_at_masks, 0);
	sigemptyset(&hup);
	sigaddset(&hup, SIGHUP);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	CHECK(sigprocmask(SIG_SETMASK, &usr1, &old) == 0);
	CHECK(raise(SIGUSR1) == 0);
	/* only in the call is it not blocked; SIGHUP is, in the handler too */
	CHECK(ppoll(NULL, 0, &ten, &hup) == -1 && errno == EINTR);
	CHECK(hup_blocked && !usr2_blocked && !is_blocked(SIGHUP) && is_blocked(SIGUSR1));
	hup_blocked = 0;
	CHECK(raise(SIGUSR1) == 0);
	CHECK(sigsuspend(&hup) == -1 && errno == EINTR);
	CHECK(hup_blocked && !is_blocked(SIGHUP));
	CHECK(sigprocmask(SIG_SETMASK, &old, NULL) == 0);
	step("handlers in ppoll and sigsuspend have their masks");
}

static void block_more(int sig, siginfo_t *si, void *ucv)
{
	ucontext_t *uc = ucv;

	(void)sig;
	(void)si;
	CHECK(!sigismember(&uc->uc_sigmask, SIGTERM));
	sigaddset(&uc->uc_sigmask, SIGTERM);
}

static void test_changed_mask(void)
{
	sigset_t term;

	handle(SIGUSR1, block_more, 0);
	CHECK(raise(SIGUSR1) == 0);
	CHECK(is_blocked(SIGTERM));
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	CHECK(sigprocmask(SIG_UNBLOCK, &term, NULL) == 0 && !is_blocked(SIGTERM));
	step("a handler changes the mask that it returns to");
}

/* ---- stacks ---- */

static char stack_memory[65536];
static volatile int on_it;

static void where(int sig, siginfo_t *si, void *uc)
{
	char here;
	stack_t ss;

	(void)sig;
	(void)si;
	(void)uc;
	on_it = &here >= stack_memory && &here < stack_memory + sizeof(stack_memory) &&
		sigaltstack(NULL, &ss) == 0 && (ss.ss_flags & SS_ONSTACK);
}

static void *on_own_stack(void *arg)
{
	stack_t ss = {.ss_sp = stack_memory, .ss_size = sizeof(stack_memory)}, off = {.ss_flags = SS_DISABLE};

	(void)arg;
	CHECK(sigaltstack(&ss, NULL) == 0);
	handle(SIGUSR2, where, SA_ONSTACK);
	CHECK(raise(SIGUSR2) == 0 && on_it);
	on_it = 0;
	CHECK(pthread_kill(pthread_self(), SIGUSR2) == 0 && getppid() > 0 && on_it);
	CHECK(sigaltstack(&off, NULL) == 0);
	return NULL;
}

static void test_stacks(void)
{
	pthread_t t;

	on_own_stack(NULL);
	CHECK(pthread_create(&t, NULL, on_own_stack, NULL) == 0 && pthread_join(t, NULL) == 0);
	step("handlers run on the program's signal stack");
}

/* ---- without handlers ---- */

/* What becomes of a process that does this. */
static int status_of(void (*fn)(void))
{
	struct rlimit none = {0, 0};
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &none);
		fn();
		_exit(7);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void send_ignored(void)
{
	for (int sig = 1; sig < 32; sig++) {
		if (sig == SIGKILL || sig == SIGSTOP)
			continue;
		signal(sig, SIG_IGN);
		kill(getpid(), sig);
		getppid();
	}
}

static void send_sigsys(void)
{
	kill(getpid(), SIGSYS);
	getppid();
}

static void own_trap(void)
{
	__asm__ volatile("int3");
}

static void once_only(void)
{
	handle(SIGUSR1, look_at_masks, SA_RESETHAND);
	raise(SIGUSR1);
	raise(SIGUSR1);
}

static void fault_when_blocked(void)
{
	sigset_t segv;

	handle(SIGSEGV, look_at_masks, 0);
	sigemptyset(&segv);
	sigaddset(&segv, SIGSEGV);
	sigprocmask(SIG_BLOCK, &segv, NULL);
	*(volatile int *)8 = 0;
}

static void fault_again(int sig, siginfo_t *si, void *uc)
{
	(void)sig;
	(void)si;
	(void)uc;
	*(volatile int *)16 = 0;
}

static void fault_in_handler(void)
{
	handle(SIGSEGV, fault_again, 0);
	*(volatile int *)8 = 0;
}

static void fault_where_blocked(void)
{
	struct sigaction sa = {.sa_sigaction = fault_again, .sa_flags = SA_SIGINFO};

	handle(SIGSEGV, look_at_masks, 0);
	sigaddset(&sa.sa_mask, SIGSEGV);
	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
}

static void test_without_handlers(void)
{
	CHECK(status_of(fault_in_handler) == 128 + SIGSEGV);
	CHECK(status_of(fault_where_blocked) == 128 + SIGSEGV);
	CHECK(status_of(send_ignored) == 7);
	CHECK(status_of(send_sigsys) == 128 + SIGSYS);
	CHECK(status_of(own_trap) == 128 + SIGTRAP);
	CHECK(status_of(once_only) == 128 + SIGUSR1);
	CHECK(status_of(fault_when_blocked) == 128 + SIGSEGV);
	step("ignored signals go by, others end the process");
}

int main(void)
{
	test_together();
	test_many();
	test_wait_masks();
	test_changed_mask();
	test_stacks();
	test_without_handlers();
	return check_status();
}
