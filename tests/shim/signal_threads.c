/* SPDX-License-Identifier: MIT */
/* signal_threads.c: signals to threads: which one gets it, interrupted and restarted reads, a waiter thread. */
#include "check.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#define REPLACED 400

static volatile sig_atomic_t hits;
static __thread volatile sig_atomic_t own_hits;
static int ends[2];
static sem_t ready;

static void on_signal(int sig)
{
	(void)sig;
	hits++;
	own_hits++;
}

static void install(int flags)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = flags};

	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	hits = 0;
}

/* Blocks in a read; says what came of it. */
static void *reader(void *arg)
{
	char byte;
	long n;

	(void)arg;
	sem_post(&ready);
	n = read(ends[0], &byte, 1);
	CHECK(own_hits == hits);
	return (void *)(n == 1 ? (long)byte : (long)-errno);
}

/* Signals the thread until it has run the handler: it may not have been in its read yet. */
static void signal_until_hit(pthread_t t)
{
	struct timespec ms = {0, 1000000};

	sem_wait(&ready);
	for (int i = 0; i < 5; i++) {
		nanosleep(&ms, NULL);
		CHECK(pthread_kill(t, SIGUSR1) == 0);
	}
}

static void test_restart(void)
{
	pthread_t t;
	void *ret;

	install(SA_RESTART);
	NEED(pthread_create(&t, NULL, reader, NULL) == 0);
	signal_until_hit(t);
	CHECK(write(ends[1], "r", 1) == 1);
	CHECK(pthread_join(t, &ret) == 0 && ret == (void *)(long)'r');
	CHECK(hits >= 1);
	step("SA_RESTART");
}

static void on_alarm(int sig)
{
	(void)sig;
	hits++;
}

static void test_eintr(void)
{
	struct sigaction sa = {.sa_handler = on_alarm};
	struct itimerval every = {{0, 3000}, {0, 3000}}, off = {{0, 0}, {0, 0}};
	char byte;

	hits = 0;
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	CHECK(read(ends[0], &byte, 1) == -1 && errno == EINTR);
	CHECK(hits >= 1);
	setitimer(ITIMER_REAL, &off, NULL);
	step("EINTR");
}

static void *sig_waiter(void *arg)
{
	unsigned long got = 0;
	int sig;

	while (sigwait(arg, &sig) == 0 && sig != SIGTERM) {
		got++;
		sem_post(&ready);
	}
	return (void *)got;
}

static void test_waiter(void)
{
	pthread_t t;
	sigset_t set;
	void *ret;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	NEED(pthread_create(&t, NULL, sig_waiter, &set) == 0);
	for (int i = 0; i < 100; i++) {
		CHECK(kill(getpid(), SIGUSR2) == 0);
		sem_wait(&ready);
	}
	CHECK(pthread_kill(t, SIGTERM) == 0);
	CHECK(pthread_join(t, &ret) == 0 && ret == (void *)100);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	step("sigwait thread");
}

static sem_t hit, stop;

static void post_hit(int sig)
{
	on_signal(sig);
	sem_post(&hit);
}

/* A handler that is called once, while another thread asks for another one: that one stays. */
static void test_replaced(void)
{
	struct sigaction once = {.sa_handler = post_hit, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
	struct sigaction next = {.sa_handler = post_hit, .sa_flags = SA_RESTART}, now;
	pthread_t t;
	void *ret;
	int stay = 0;

	hits = 0;
	sem_init(&hit, 0, 0);
	NEED(pthread_create(&t, NULL, reader, NULL) == 0);
	sem_wait(&ready);
	for (int i = 0; i < REPLACED; i++) {
		sigaction(SIGUSR1, &once, NULL);
		pthread_kill(t, SIGUSR1);
		for (volatile int k = 0; k < i * 200; k++)
			;
		sigaction(SIGUSR1, &next, NULL);
		sem_wait(&hit);
		sigaction(SIGUSR1, NULL, &now);
		stay += now.sa_handler == post_hit;
	}
	CHECK(stay == REPLACED);
	CHECK(write(ends[1], "r", 1) == 1);
	CHECK(pthread_join(t, &ret) == 0 && ret == (void *)(long)'r');
	step("a handler replaced while it is called");
}

static void *worker(void *arg)
{
	unsigned long sum = 0;
	struct timespec now;

	(void)arg;
	sem_post(&ready);
	while (sem_trywait(&stop)) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		sum += (unsigned long)now.tv_nsec;
	}
	CHECK(own_hits == 1);
	return (void *)(sum | 1);
}

static void test_busy_thread(void)
{
	struct sigaction sa = {.sa_handler = post_hit};
	pthread_t t;

	sem_init(&hit, 0, 0);
	sem_init(&stop, 0, 0);
	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	NEED(pthread_create(&t, NULL, worker, NULL) == 0);
	sem_wait(&ready);
	CHECK(pthread_kill(t, SIGUSR1) == 0);
	sem_wait(&hit);
	sem_post(&stop);
	CHECK(pthread_join(t, NULL) == 0);
	CHECK(own_hits == 0);
	step("busy thread");
}

#define SIGNALS 5000

static void *changer(void *arg)
{
	struct sigaction runs = {.sa_handler = on_signal}, ignored = {.sa_handler = SIG_IGN};

	sem_post(&ready);
	while (sem_trywait(&stop)) {
		CHECK(sigaction(SIGUSR1, &ignored, NULL) == 0);
		CHECK(sigaction(SIGUSR1, &runs, NULL) == 0);
	}
	return arg;
}

/* The action is changed by one thread while another gets the signal: it runs the handler, or nothing. */
static void test_changed_actions(void)
{
	pthread_t t;

	install(0);
	own_hits = 0;
	NEED(pthread_create(&t, NULL, changer, NULL) == 0);
	sem_wait(&ready);
	for (int i = 0; i < SIGNALS; i++)
		CHECK(pthread_kill(pthread_self(), SIGUSR1) == 0);
	sem_post(&stop);
	CHECK(pthread_join(t, NULL) == 0);
	CHECK(own_hits == hits && hits <= SIGNALS);
	step("action changed by another thread");
}

int main(void)
{
	NEED(pipe(ends) == 0);
	sem_init(&ready, 0, 0);
	test_restart();
	test_eintr();
	test_waiter();
	test_replaced();
	test_busy_thread();
	test_changed_actions();
	return check_status();
}
