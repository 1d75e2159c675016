/* SPDX-License-Identifier: MIT */
/*
 * own_signals.c: a thread waits in each of the calls that a handler ends, and the recorder sends it a signal of its own
 * there: none of them ends before its time or lasts much longer, and none moves a part only. A signal of the program's
 * that comes while a handler computes makes the recorder set a timer, which is over in the wait.
 */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 2
#define LIMIT_ROUNDS 6
#define LIMIT_ROUNDS_MOST 400 /* on a machine that is late each time */
#define MS 1000000
#define SHORT (40 * MS) /* the recorder's timer is half as long */
#define HANDLER_SPINS 3000000
#define SPINS 100000
#define HELD 60000 /* bytes in a pipe */
#define DRIPS 12 /* bytes, one at a time */

static const struct timespec wait_for = {0, SHORT};
static int epoll, sems;
static sem_t never;
static sigset_t usr;
static unsigned long made;
static volatile sig_atomic_t hits;
static pthread_t waiter;
static int asked[2], full[2];

static struct timespec end_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += SHORT;
	if (t.tv_nsec >= 1000 * MS) {
		t.tv_nsec -= 1000 * MS;
		t.tv_sec++;
	}
	return t;
}

static void in_poll(void)
{
	CHECK(poll(NULL, 0, SHORT / MS) == 0);
}

static void in_ppoll(void)
{
	CHECK(ppoll(NULL, 0, &wait_for, NULL) == 0);
}

static void in_select(void)
{
	struct timeval t = {0, SHORT / 1000};

	CHECK(select(0, NULL, NULL, NULL, &t) == 0);
}

static void in_epoll(void)
{
	struct epoll_event e;

	CHECK(epoll_wait(epoll, &e, 1, SHORT / MS) == 0);
}

static void in_nanosleep(void)
{
	struct timespec left = {7, 7};

	CHECK(nanosleep(&wait_for, &left) == 0);
	CHECK(left.tv_sec == 7 && left.tv_nsec == 7);
}

static void in_clock_nanosleep(void)
{
	struct timespec end = end_of(CLOCK_MONOTONIC);

	CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == 0);
}

static void in_sem(void)
{
	struct timespec end = end_of(CLOCK_REALTIME);

	CHECK(sem_timedwait(&never, &end) == -1 && errno == ETIMEDOUT);
}

static void in_sigtimedwait(void)
{
	CHECK(sigtimedwait(&usr, NULL, &wait_for) == -1 && errno == EAGAIN);
}

static void in_semtimedop(void)
{
	struct sembuf down = {0, -1, 0};

	CHECK(semtimedop(sems, &down, 1, &wait_for) == -1 && errno == EAGAIN);
}

/* More than the pipe has room for, which is read late. */
static char bytes[300000];

static void in_write(void)
{
	CHECK(write(full[1], bytes, sizeof(bytes)) == sizeof(bytes));
}

static void in_writev(void)
{
	struct iovec v[3] = {{bytes, 1000}, {bytes, sizeof(bytes) - 2000}, {bytes, 1000}};

	CHECK(writev(full[1], v, 3) == sizeof(bytes));
}

/* The same into a socket, which is read as late. */
static int filled[2], held[2], dripping[2], limited[2], file;

static void in_sendmsg(void)
{
	struct iovec v[3] = {{bytes, 1000}, {bytes, sizeof(bytes) - 2000}, {bytes, 1000}};
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 3};

	CHECK(sendmsg(filled[1], &m, 0) == sizeof(bytes));
}

static void in_sendfile(void)
{
	off_t at = 0;

	CHECK(sendfile(filled[1], file, &at, sizeof(bytes)) == sizeof(bytes));
	CHECK(at == sizeof(bytes));
}

static void in_splice(void)
{
	CHECK(write(held[1], bytes, HELD) == HELD);
	CHECK(splice(held[0], NULL, filled[1], NULL, HELD, 0) == HELD);
}

/* Of a socket that gets a byte from time to time. */
static void in_recv(void)
{
	char part[DRIPS];

	CHECK(recv(dripping[0], part, DRIPS, MSG_WAITALL) == DRIPS);
}

static void in_recvmsg(void)
{
	char part[DRIPS];
	struct iovec v[2] = {{part, 3}, {part + 3, DRIPS - 3}};
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};

	CHECK(recvmsg(dripping[0], &m, MSG_WAITALL) == DRIPS);
}

/*
 * A time limit is over neither early nor, which would be half a limit late, counted anew from the recorder's signal on:
 * not each time, since a machine with other work may be as late.
 */
static struct limited {
	int64_t shortest; /* ns */
} limits[2] = {{INT64_MAX}, {INT64_MAX}};

static int64_t ns_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll * MS + t.tv_nsec;
}

static void over(struct limited *l, int64_t began, int err)
{
	int64_t ns = ns_now() - began;

	CHECK(err == EAGAIN && ns >= SHORT - 10 * MS);
	l->shortest = ns < l->shortest ? ns : l->shortest;
}

static void in_limited_read(void)
{
	int64_t began = ns_now();
	char c;

	CHECK(read(limited[0], &c, 1) == -1);
	over(&limits[0], began, errno);
}

static void in_limited_send(void)
{
	int64_t began = ns_now();

	CHECK(send(limited[0], bytes, 1000, 0) == -1);
	over(&limits[1], began, errno);
}

static int is_late(const struct limited *l)
{
	return l->shortest >= SHORT + SHORT / 3;
}

static void (*const calls[])(void) = {
	in_poll,       in_ppoll, in_select, in_epoll,	in_nanosleep, in_clock_nanosleep, in_sem,  in_sigtimedwait,
	in_semtimedop, in_write, in_writev, in_sendmsg, in_sendfile,  in_splice,	  in_recv, in_recvmsg};

static unsigned long spin(unsigned n)
{
	unsigned long sum = n;

	for (unsigned i = 0; i < n; i++)
		sum = sum * 31 + i;
	return sum;
}

static void handler(int sig)
{
	made += spin(sig == SIGUSR1 ? HANDLER_SPINS : 1);
	hits++;
}

/* Sends the two signals, the second one most likely while the first one's handler runs. */
static void *sender(void *arg)
{
	unsigned long sum = 0;
	char c;

	while (read(asked[0], &c, 1) == 1) {
		sum += spin(SPINS);
		CHECK(pthread_kill(waiter, SIGUSR1) == 0);
		sum += spin(5 * SPINS);
		CHECK(pthread_kill(waiter, SIGUSR2) == 0);
	}
	*(unsigned long *)arg = sum;
	return NULL;
}

static void *reader(void *arg)
{
	char part[4096];

	(void)arg;
	for (;;) {
		CHECK(usleep(SHORT / 1000 / 30) == 0);
		if (read(full[0], part, sizeof(part)) <= 0)
			return NULL;
	}
}

static void *filled_reader(void *arg)
{
	char part[4096];

	(void)arg;
	for (;;) {
		CHECK(usleep(SHORT / 1000 / 30) == 0);
		if (read(filled[0], part, sizeof(part)) <= 0)
			return NULL;
	}
}

static void *drips(void *arg)
{
	(void)arg;
	do
		CHECK(usleep(SHORT / 1000 / DRIPS) == 0);
	while (send(dripping[1], "", 1, MSG_NOSIGNAL) == 1);
	return NULL;
}

static void make_sockets(void)
{
	struct timeval limit = {0, SHORT / 1000};
	int small = 8192;

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, filled) == 0 && pipe(held) == 0);
	NEED(setsockopt(filled[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)) == 0);
	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, dripping) == 0);
	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, limited) == 0);
	NEED(fcntl(limited[0], F_SETFL, O_NONBLOCK) == 0);
	while (send(limited[0], bytes, 1000, 0) > 0)
		;
	NEED(errno == EAGAIN && fcntl(limited[0], F_SETFL, 0) == 0);
	NEED(setsockopt(limited[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0);
	NEED(setsockopt(limited[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0);
	file = memfd_create("bytes", MFD_CLOEXEC);
	NEED(file >= 0 && write(file, bytes, sizeof(bytes)) == sizeof(bytes));
}

static void one_wait(void (*call)(void))
{
	hits = 0;
	CHECK(write(asked[1], "", 1) == 1);
	while (hits < 2) {
		made += spin(SPINS);
		CHECK(getppid() > 0);
	}
	call();
}

int main(void)
{
	struct sigaction sa = {.sa_handler = handler};
	unsigned long sum;
	pthread_t t, r, fr, d;

	epoll = epoll_create1(0);
	sems = semget(IPC_PRIVATE, 1, 0600);
	NEED(epoll >= 0 && sems >= 0);
	NEED(sem_init(&never, 0, 0) == 0);
	NEED(pipe(asked) == 0 && pipe(full) == 0);
	make_sockets();
	waiter = pthread_self();
	sigemptyset(&usr);
	sigaddset(&usr, SIGALRM);
	NEED(pthread_sigmask(SIG_BLOCK, &usr, NULL) == 0);
	NEED(sigaction(SIGUSR1, &sa, NULL) == 0 && sigaction(SIGUSR2, &sa, NULL) == 0);
	NEED(pthread_create(&t, NULL, sender, &sum) == 0 && pthread_create(&r, NULL, reader, NULL) == 0);
	NEED(pthread_create(&fr, NULL, filled_reader, NULL) == 0 && pthread_create(&d, NULL, drips, NULL) == 0);
	for (unsigned i = 0; i < ROUNDS * sizeof(calls) / sizeof(calls[0]); i++)
		one_wait(calls[i / ROUNDS]);
	for (unsigned i = 0;
	     i < 2 * LIMIT_ROUNDS || (i < LIMIT_ROUNDS_MOST && (is_late(limits) || is_late(limits + 1))); i++)
		one_wait(i & 1 ? in_limited_read : in_limited_send);
	CHECK(!is_late(&limits[0]) && !is_late(&limits[1]));
	close(asked[1]);
	close(full[1]);
	close(filled[1]);
	close(dripping[0]);
	CHECK(pthread_join(t, NULL) == 0 && pthread_join(r, NULL) == 0);
	CHECK(pthread_join(fr, NULL) == 0 && pthread_join(d, NULL) == 0);
	CHECK(semctl(sems, 0, IPC_RMID) == 0);
	step("own_signals");
	return check_status();
}
