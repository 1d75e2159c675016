/* SPDX-License-Identifier: MIT */
/* interrupts.c: signals that interrupt calls, wait in queues, carry values, come from timers and from children. */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

static volatile sig_atomic_t count, last_value, last_pid;

static void on(int sig, siginfo_t *si, void *uc)
{
	(void)sig, (void)uc;
	count++;
	last_value = si->si_value.sival_int;
	last_pid = si->si_pid;
}

static void handle(int sig, int flags)
{
	struct sigaction sa = {.sa_sigaction = on, .sa_flags = SA_SIGINFO | flags};

	CHECK(sigaction(sig, &sa, NULL) == 0);
}

static void after_ms(int ms)
{
	struct itimerval t = {{0, 0}, {ms / 1000, ms % 1000 * 1000}};

	CHECK(setitimer(ITIMER_REAL, &t, NULL) == 0);
}

/* On a busy machine the first one may come before the call that it is to interrupt. */
static void each_ms(int ms)
{
	struct itimerval t = {{0, ms * 1000}, {0, ms * 1000}};

	CHECK(setitimer(ITIMER_REAL, &t, NULL) == 0);
}

static void test_calls(void)
{
	struct timespec ts = {20, 0}, left = {0, 0}, ten = {10, 0};
	struct timeval tv = {20, 0};
	struct epoll_event e;
	sigset_t none, usr;
	fd_set set;
	char byte;
	int p[2], ep = epoll_create1(EPOLL_CLOEXEC);

	NEED(pipe(p) == 0);
	handle(SIGALRM, 0);
	count = 0;
	sigemptyset(&none);
	each_ms(3);
	CHECK(read(p[0], &byte, 1) == -1 && errno == EINTR);
	each_ms(3);
	CHECK(poll(&(struct pollfd){p[0], POLLIN, 0}, 1, 20000) == -1 && errno == EINTR);
	each_ms(3);
	CHECK(nanosleep(&ts, &left) == -1 && errno == EINTR && left.tv_sec < 20);
	FD_ZERO(&set);
	FD_SET(p[0], &set);
	each_ms(3);
	CHECK(select(p[0] + 1, &set, NULL, NULL, &tv) == -1 && errno == EINTR);
	each_ms(3);
	CHECK(epoll_wait(ep, &e, 1, 20000) == -1 && errno == EINTR);
	each_ms(3);
	CHECK(ppoll(NULL, 0, &ten, &none) == -1 && errno == EINTR);
	each_ms(3);
	CHECK(pause() == -1 && errno == EINTR);
	sigemptyset(&usr);
	sigaddset(&usr, SIGUSR1);
	each_ms(3);
	CHECK(sigtimedwait(&usr, NULL, &ten) == -1 && errno == EINTR);
	each_ms(0);
	CHECK(count >= 8);
	alarm(1);
	CHECK(alarm(0) == 1);
	close(p[0]), close(p[1]), close(ep);
	step("interrupted calls");
}

static int ends[2];

static void write_one(int sig)
{
	CHECK(sig == SIGALRM && write(ends[1], "r", 1) == 1);
}

static void test_restart(void)
{
	struct sigaction sa = {.sa_handler = write_one, .sa_flags = SA_RESTART};
	char byte = 0;

	NEED(pipe(ends) == 0 && sigaction(SIGALRM, &sa, NULL) == 0);
	for (int i = 0; i < 5; i++) {
		after_ms(2);
		CHECK(read(ends[0], &byte, 1) == 1 && byte == 'r');
	}
	close(ends[0]), close(ends[1]);
	step("restarted calls");
}

static void test_queue(void)
{
	union sigval v = {.sival_int = 0};
	siginfo_t si = {.si_code = SI_QUEUE};
	struct timespec zero = {0, 0};
	sigset_t set, pending;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 3);
	sigaddset(&set, SIGUSR2);
	handle(SIGRTMIN + 3, 0);
	CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
	for (int i = 1; i <= 5; i++) {
		v.sival_int = i;
		CHECK(sigqueue(getpid(), SIGRTMIN + 3, v) == 0);
	}
	CHECK(raise(SIGUSR2) == 0 && sigpending(&pending) == 0 && sigismember(&pending, SIGUSR2) == 1);
	for (int i = 1; i <= 2; i++)
		CHECK(sigwaitinfo(&(sigset_t){{1ul << (SIGRTMIN + 2)}}, &si) == SIGRTMIN + 3 && si.si_value.sival_int == i);
	CHECK(si.si_pid == getpid() && sigtimedwait(&set, &si, &zero) == SIGUSR2);
	count = 0;
	sigset_t rest = set;
	CHECK(sigprocmask(SIG_UNBLOCK, &rest, NULL) == 0);
	CHECK(count == 3 && last_value == 5 && last_pid == getpid());
	si = (siginfo_t){.si_signo = SIGRTMIN + 3, .si_code = SI_QUEUE, .si_pid = getpid()};
	si.si_value.sival_int = 99;
	CHECK(syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGRTMIN + 3, &si) == 0);
	CHECK(count == 4 && last_value == 99);
	CHECK(syscall(SYS_tkill, gettid(), SIGRTMIN + 3) == 0 && count == 5);
	CHECK(syscall(SYS_rt_sigqueueinfo, getpid(), SIGRTMIN + 3, &si) == 0 && count == 6);
	step("queued signals");
}

static void test_children(void)
{
	siginfo_t si = {0};
	int status, n = 0;
	sigset_t chld, old;
	pid_t pid;

	handle(SIGCHLD, 0);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, &old);
	count = 0;
	pid = fork();
	if (pid == 0)
		_exit(12);
	while (!count)
		sigsuspend(&old);
	CHECK(last_pid == pid && waitpid(pid, &status, WNOHANG) == pid && WEXITSTATUS(status) == 12);
	for (int i = 0; i < 4; i++)
		if (fork() == 0)
			_exit(i);
	while (n < 4) {
		if (waitid(P_ALL, 0, &si, WEXITED) == 0)
			n++;
		else
			CHECK(errno == EINTR);
	}
	signal(SIGCHLD, SIG_IGN);
	sigprocmask(SIG_SETMASK, &old, NULL);
	pid = fork();
	if (pid == 0)
		_exit(1);
	CHECK(waitpid(pid, &status, 0) == -1 && errno == ECHILD);
	signal(SIGCHLD, SIG_DFL);
	step("children");
}

static volatile sig_atomic_t thread_got;

static void in_thread(int sig)
{
	(void)sig;
	thread_got = gettid();
}

static void *sleeper(void *arg)
{
	char byte;

	*(volatile int *)arg = gettid();
	CHECK(write(ends[1], "s", 1) == 1);
	while (!thread_got)
		poll(NULL, 0, 10);
	CHECK(thread_got == gettid());
	(void)byte;
	return NULL;
}

static void test_thread(void)
{
	volatile int tid = 0;
	char byte;
	pthread_t t;

	signal(SIGUSR1, in_thread);
	NEED(pipe(ends) == 0 && pthread_create(&t, NULL, sleeper, (void *)&tid) == 0);
	CHECK(read(ends[0], &byte, 1) == 1);
	CHECK(syscall(SYS_tgkill, getpid(), tid, SIGUSR1) == 0);
	CHECK(pthread_join(t, NULL) == 0 && thread_got == tid);
	close(ends[0]), close(ends[1]);
	step("thread");
}

static volatile int fired;

static void on_timer_thread(union sigval v)
{
	__atomic_fetch_add(&fired, v.sival_int, __ATOMIC_SEQ_CST);
	CHECK(write(ends[1], "t", 1) == 1);
}

static void test_timer_thread(void)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_timer_thread,
			      .sigev_value.sival_int = 3};
	struct itimerspec when = {{0, 2000000}, {0, 2000000}};
	timer_t timer;
	char byte;

	NEED(pipe(ends) == 0);
	NEED(timer_create(CLOCK_MONOTONIC, &ev, &timer) == 0 && timer_settime(timer, 0, &when, NULL) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(read(ends[0], &byte, 1) == 1);
	CHECK(timer_delete(timer) == 0 && fired >= 9);
	step("timer thread");
}

int main(void)
{
	test_calls();
	test_restart();
	test_queue();
	test_children();
	test_thread();
	test_timer_thread();
	return check_status();
}
