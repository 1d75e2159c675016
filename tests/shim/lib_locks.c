/* SPDX-License-Identifier: MIT */
/*
 * lib_locks.c: a library with a lock of its own, over atomics and the futex call, is loaded before threads run. They
 * first run side by side without it, and then all come to it at once, also from a handler and with all signals blocked.
 * The output tells the order in which they had the lock.
 *
 * NONDET-OUTPUT
 * PLUGIN: -DPLUGIN
 * CFLAGS: -rdynamic
 * NOTES: one thread ran at a time
 */
#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef PLUGIN

unsigned long plugin_next(unsigned long me);
static atomic_int word; /* 0 free, 1 taken, 2 taken and waited for */
static unsigned long order;

unsigned long plugin_next(unsigned long me)
{
	unsigned long now;
	int zero = 0;

	if (!atomic_compare_exchange_strong(&word, &zero, 1))
		while (atomic_exchange(&word, 2))
			syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
	now = order = order * 31 + me;
	if (atomic_exchange(&word, 0) == 2)
		syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	return now;
}

#else

#include "check.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#define THREADS 4
#define ROUNDS 3000

static unsigned long (*next)(unsigned long);
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned long count, seen[THREADS], handled;
static pthread_barrier_t barrier;

static void on_signal(int sig)
{
	handled = next((unsigned long)sig);
}

static void *work(void *arg)
{
	unsigned long me = (unsigned long)arg, sum = 0;
	sigset_t all;

	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		count++;
		pthread_mutex_unlock(&mutex);
	}
	if (me == 1) {
		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, 0);
	}
	pthread_barrier_wait(&barrier); /* so that they come at once, not one behind the other */
	if (me == 2)
		raise(SIGUSR1);
	for (int i = 0; i < ROUNDS; i++)
		sum = sum * 7 + next(me);
	seen[me] = sum;
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction on = {.sa_handler = on_signal};
	char path[4096];
	pthread_t t[THREADS];
	void *lib;

	snprintf(path, sizeof(path), "%s.so", argv[0]);
	lib = dlopen(path, RTLD_NOW);
	NEED(argc == 1 && lib && (next = (unsigned long (*)(unsigned long))dlsym(lib, "plugin_next")));
	CHECK(pthread_barrier_init(&barrier, 0, THREADS) == 0);
	CHECK(sigaction(SIGUSR1, &on, 0) == 0);
	for (unsigned long i = 0; i < THREADS; i++)
		NEED(pthread_create(&t[i], 0, work, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(t[i], 0) == 0);
	CHECK(count == THREADS * ROUNDS);
	for (int i = 0; i < THREADS; i++)
		printf("thread %d: %lx\n", i, seen[i]);
	printf("handler: %lx\n", handled);
	step("a library's own lock");
	return check_status();
}

#endif
