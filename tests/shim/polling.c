/* SPDX-License-Identifier: MIT */
/* polling.c: poll, select, epoll, eventfd, timerfd, signalfd, inotify, POSIX timers. */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>

static int ends[2];

static void test_poll(void)
{
	struct pollfd p[2];
	struct timespec zero = {0, 0};
	fd_set set;
	char byte;

	p[0] = (struct pollfd){.fd = ends[0], .events = POLLIN};
	p[1] = (struct pollfd){.fd = ends[1], .events = POLLOUT};
	CHECK(poll(p, 1, 0) == 0 && p[0].revents == 0);
	CHECK(poll(p, 2, 1000) == 1 && p[1].revents == POLLOUT);
	CHECK(write(ends[1], "p", 1) == 1);
	CHECK(ppoll(p, 2, &zero, NULL) == 2 && p[0].revents == POLLIN);
	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	CHECK(select(ends[0] + 1, &set, NULL, NULL, NULL) == 1 && FD_ISSET(ends[0], &set));
	CHECK(read(ends[0], &byte, 1) == 1);
	CHECK(pselect(ends[0] + 1, &set, NULL, NULL, &zero, NULL) == 0 && !FD_ISSET(ends[0], &set));
	step("poll and select");
}

static void caught(int sig)
{
	(void)sig;
}

/* A signal ends the wait: what there was before is no event any more. */
static void test_interrupted(void)
{
	struct sigaction sa = {.sa_handler = caught}, old;
	struct pollfd p = {.fd = ends[0], .events = POLLIN};
	struct timespec later = {10, 0};
	struct itimerval often = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
	sigset_t alrm, none;
	char byte;

	sigemptyset(&none);
	sigemptyset(&alrm);
	sigaddset(&alrm, SIGALRM);
	CHECK(sigaction(SIGALRM, &sa, &old) == 0 && sigprocmask(SIG_BLOCK, &alrm, NULL) == 0);
	CHECK(write(ends[1], "p", 1) == 1);
	CHECK(poll(&p, 1, -1) == 1 && p.revents == POLLIN);
	CHECK(read(ends[0], &byte, 1) == 1);
	CHECK(raise(SIGALRM) == 0);
	CHECK(ppoll(&p, 1, &later, &none) == -1 && errno == EINTR && p.revents == 0);
	p.revents = POLLIN;
	CHECK(sigprocmask(SIG_UNBLOCK, &alrm, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0); /* the first may come before the call */
	CHECK(poll(&p, 1, 10000) == -1 && errno == EINTR && p.revents == 0);
	CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
	CHECK(sigaction(SIGALRM, &old, NULL) == 0);
	step("interrupted");
}

static void *writer(void *arg)
{
	uint64_t one = 1;

	for (int i = 0; i < 200; i++)
		CHECK(write(*(int *)arg, &one, sizeof(one)) == sizeof(one));
	return NULL;
}

static void test_epoll(void)
{
	int ep = epoll_create1(EPOLL_CLOEXEC), ev = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = 0x1122334455667788}, out[4];
	uint64_t n, sum = 0;
	pthread_t t;

	NEED(ep >= 0 && ev >= 0);
	CHECK(read(ev, &n, sizeof(n)) == -1 && errno == EAGAIN);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, ev, &e) == 0);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, ev, &e) == -1 && errno == EEXIST);
	CHECK(epoll_wait(ep, out, 4, 0) == 0);
	NEED(pthread_create(&t, NULL, writer, &ev) == 0);
	while (sum < 200) {
		CHECK(epoll_wait(ep, out, 4, -1) == 1 && out[0].data.u64 == 0x1122334455667788);
		if (read(ev, &n, sizeof(n)) == sizeof(n))
			sum += n;
	}
	pthread_join(t, NULL);
	CHECK(sum == 200 && epoll_ctl(ep, EPOLL_CTL_DEL, ev, NULL) == 0);
	CHECK(epoll_pwait(ep, out, 4, 2, NULL) == 0);
	close(ep), close(ev);
	step("epoll and eventfd");
}

static void test_timerfd(void)
{
	struct itimerspec every = {{0, 2000000}, {0, 2000000}}, left;
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	uint64_t n, total = 0;

	NEED(fd >= 0 && timerfd_settime(fd, 0, &every, NULL) == 0);
	while (total < 5) {
		CHECK(read(fd, &n, sizeof(n)) == sizeof(n) && n >= 1);
		total += n;
	}
	CHECK(timerfd_gettime(fd, &left) == 0 && left.it_interval.tv_nsec == 2000000);
	close(fd);
	step("timerfd");
}

static void test_signalfd(void)
{
	struct signalfd_siginfo info;
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	NEED(fd >= 0);
	kill(getpid(), SIGUSR1);
	CHECK(read(fd, &info, sizeof(info)) == sizeof(info) && info.ssi_signo == SIGUSR1);
	close(fd);
	CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
	step("signalfd");
}

static void test_inotify(void)
{
	char buf[1024];
	struct inotify_event *e = (struct inotify_event *)buf;
	int fd = inotify_init1(IN_CLOEXEC), file;

	NEED(fd >= 0 && inotify_add_watch(fd, ".", IN_CREATE) >= 0);
	file = open("watched", O_CREAT | O_WRONLY, 0600);
	CHECK(read(fd, buf, sizeof(buf)) > 0 && e->mask == IN_CREATE && !strcmp(e->name, "watched"));
	close(file), close(fd);
	unlink("watched");
	step("inotify");
}

static volatile sig_atomic_t ticks;

static void on_timer(int sig)
{
	(void)sig;
	ticks++;
}

static void test_timer(void)
{
	struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
	struct itimerspec every = {{0, 2000000}, {0, 2000000}};
	struct timespec now;
	timer_t timer;

	signal(SIGUSR2, on_timer);
	NEED(timer_create(CLOCK_MONOTONIC, &ev, &timer) == 0);
	CHECK(timer_settime(timer, 0, &every, NULL) == 0);
	while (ticks < 4)
		clock_gettime(CLOCK_MONOTONIC, &now);
	CHECK(timer_getoverrun(timer) >= 0 && timer_delete(timer) == 0);
	step("POSIX timer");
}

int main(void)
{
	NEED(pipe(ends) == 0);
	test_poll();
	test_interrupted();
	test_epoll();
	test_timerfd();
	test_signalfd();
	test_inotify();
	test_timer();
	return check_status();
}
