/* SPDX-License-Identifier: MIT */
/*
 * real_time.c: real-time signals queue, and each one of them comes, in its order and with its value, however many there
 * are; a SIGTERM among them comes too. To the process, to a thread and to either of two; let in by a mask, by a wait, and
 * while the program computes. Those that a handler holds back by its mask are pending for whoever looks, in its order,
 * and over an exec.
 * NOTES: one thread ran at a time
 */
#include "check.h"

#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MANY 10000

static volatile int hits[65], terms, out_of_order, next_value[65];

static void on_real_time(int sig, siginfo_t *si, void *uc)
{
	(void)uc;
	if (si->si_value.sival_int != next_value[sig]++)
		out_of_order++;
	hits[sig]++;
}

static void on_term(int sig)
{
	(void)sig;
	terms++;
}

static void handle(int sig)
{
	struct sigaction sa = {.sa_sigaction = on_real_time, .sa_flags = SA_SIGINFO};

	CHECK(sigaction(sig, &sa, NULL) == 0);
}

static void let_in(int how, int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	sigaddset(&set, SIGTERM);
	CHECK(pthread_sigmask(how, &set, NULL) == 0);
}

static void send(int sig, int n)
{
	for (int i = 0; i < n; i++)
		NEED(sigqueue(getpid(), sig, (union sigval){.sival_int = i}) == 0);
}

static int many(void)
{
	struct rlimit r;

	NEED(getrlimit(RLIMIT_SIGPENDING, &r) == 0);
	return r.rlim_cur < MANY + 1000 ? (int)r.rlim_cur / 2 : MANY;
}

static void test_blocked(int sig, int n)
{
	handle(sig);
	let_in(SIG_BLOCK, sig);
	send(sig, n);
	kill(getpid(), SIGTERM);
	let_in(SIG_UNBLOCK, sig);
	CHECK(hits[sig] == n && terms == 1 && !out_of_order);
	terms = 0;
	step("blocked");
}

/* All at once, while nothing that the program does is a call. */
static void test_computing(void)
{
	int sig = SIGRTMIN + 3, n = 300;
	pid_t child, self = getpid();
	union sigval v;

	handle(sig);
	child = fork();
	if (!child) {
		for (v.sival_int = 0; v.sival_int < n; v.sival_int++)
			if (sigqueue(self, sig, v))
				_exit(1);
		_exit(0);
	}
	while (hits[sig] < n)
		;
	CHECK(hits[sig] == n && !out_of_order && child > 0);
	step("computing");
}

static atomic_int handled;

static void on_either(int sig)
{
	(void)sig;
	CHECK(getppid() > 0);
	handled++;
}

static void *handles_some(void *arg)
{
	while (handled < *(int *)arg)
		usleep(1000);
	return arg;
}

/* Two threads may handle them. */
static void test_either(int sig, int n)
{
	pthread_t t;

	signal(sig, on_either);
	let_in(SIG_BLOCK, sig);
	for (int i = 0; i < n; i++)
		NEED(kill(getpid(), sig) == 0);
	NEED(pthread_create(&t, NULL, handles_some, &n) == 0);
	let_in(SIG_UNBLOCK, sig);
	handles_some(&n);
	pthread_join(t, NULL);
	CHECK(handled == n);
	handled = 0;
	step("either thread");
}

static sem_t sent;

static void *waits(void *arg)
{
	int sig = SIGRTMIN + 4;
	sigset_t set;

	while (sem_wait(&sent))
		;
	pthread_sigmask(SIG_SETMASK, NULL, &set);
	sigdelset(&set, sig);
	while (hits[sig] < 500)
		sigsuspend(&set);
	return arg;
}

static void test_thread(void)
{
	int sig = SIGRTMIN + 4;
	pthread_t t;

	handle(sig);
	let_in(SIG_BLOCK, sig);
	sem_init(&sent, 0, 0);
	NEED(pthread_create(&t, NULL, waits, NULL) == 0);
	for (int i = 0; i < 500; i++)
		NEED(pthread_sigqueue(t, sig, (union sigval){.sival_int = i}) == 0);
	sem_post(&sent);
	pthread_join(t, NULL);
	CHECK(hits[sig] == 500 && !out_of_order);
	step("thread");
}

#define BESIDE 70

static sem_t ready, flooded[2]; /* the second: no signal waits any more */

static void on_usr1(int sig)
{
	(void)sig;
	handled++;
}

static void *handles(void *arg)
{
	sem_post(&ready);
	while (sem_wait(arg))
		;
	raise(SIGUSR1);
	return arg;
}

/* Each of many threads can still handle a signal while and after another one's queue was long. */
static void test_many_threads(void)
{
	int sig = SIGRTMIN + 5;
	pthread_t t[BESIDE];

	handle(sig);
	signal(SIGUSR1, on_usr1);
	sem_init(&ready, 0, 0);
	sem_init(&flooded[0], 0, 0);
	sem_init(&flooded[1], 0, 0);
	for (int i = 0; i < BESIDE; i++)
		NEED(pthread_create(&t[i], NULL, handles, &flooded[i % 2]) == 0);
	for (int i = 0; i < BESIDE; i++)
		while (sem_wait(&ready))
			;
	let_in(SIG_BLOCK, sig);
	for (int i = 0; i < 3000; i++)
		NEED(pthread_sigqueue(pthread_self(), sig, (union sigval){.sival_int = i}) == 0);
	for (int half = 0; half < 2; half++) {
		for (int i = 0; i < BESIDE / 2; i++)
			sem_post(&flooded[half]);
		for (int i = half; i < BESIDE; i += 2)
			pthread_join(t[i], NULL);
		if (!half)
			let_in(SIG_UNBLOCK, sig);
	}
	CHECK(hits[sig] == 3000 && !out_of_order && handled == BESIDE);
	step("many threads");
}

static volatile int all, last_hit;
static const char *program;

static void only(sigset_t *set, int sig)
{
	sigemptyset(set);
	sigaddset(set, sig);
}

static void takes(int sig, int value)
{
	CHECK(value == next_value[sig]++);
	hits[sig]++;
}

/* Looks for those that wait: at first by calls that wait for them, and later through a descriptor. */
static void looks(int sig, siginfo_t *si, void *uc)
{
	struct signalfd_siginfo from;
	siginfo_t other;
	sigset_t set;
	int fd;

	on_real_time(sig, si, uc);
	CHECK(getppid() > 0);
	only(&set, sig);
	if (hits[sig] == all / 2) {
		CHECK(sigqueue(getpid(), sig, (union sigval){.sival_int = all}) == 0); /* after those that wait */
		NEED(sigtimedwait(&set, &other, &(struct timespec){5, 0}) == sig);
		takes(sig, other.si_value.sival_int);
	}
	if (hits[sig] == all - 20) {
		CHECK(sigpending(&set) == 0 && sigismember(&set, sig) == 1);
		only(&set, sig);
		fd = signalfd(-1, &set, 0);
		NEED(fd >= 0 && read(fd, &from, sizeof(from)) == sizeof(from));
		takes(sig, from.ssi_int);
		close(fd);
	}
	last_hit = hits[sig] == all + 1;
	if (program && hits[sig] == all / 4)
		execl(program, program, "pending", (char *)0);
}

static void test_handler_calls(int sig, int n, const char *execs)
{
	struct sigaction sa = {.sa_sigaction = looks, .sa_flags = SA_SIGINFO};

	all = n;
	program = execs;
	NEED(sigaction(sig, &sa, NULL) == 0);
	let_in(SIG_BLOCK, sig);
	send(sig, n);
	let_in(SIG_UNBLOCK, sig);
	CHECK(hits[sig] == n + 1 && last_hit && !out_of_order);
	step("handler calls");
}

/* What an exec in the handler of `sig` has left: blocked, and each one there. */
static int count_pending(int sig, int n)
{
	siginfo_t si;
	sigset_t set;

	only(&set, sig);
	for (int i = n / 4; i < n; i++)
		NEED(sigtimedwait(&set, &si, &(struct timespec){5, 0}) == sig && si.si_value.sival_int == i);
	step("pending after an exec");
	return check_status();
}

static void test_exec(int sig, const char *self)
{
	int status = 1;
	pid_t child = fork();

	if (!child) {
		test_handler_calls(sig, 40, self);
		_exit(1);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return count_pending(SIGRTMIN + 6, 40);
	signal(SIGTERM, on_term);
	test_blocked(SIGRTMIN, 2000);
	test_blocked(SIGRTMAX, 2000);
	test_exec(SIGRTMIN + 6, argv[0]);
	test_handler_calls(SIGRTMIN + 7, many(), NULL);
	test_handler_calls(SIGRTMAX - 1, 200, NULL);
	test_computing();
	test_thread();
	test_either(SIGRTMIN + 8, many());
	test_many_threads();
	return check_status();
}
