/* SPDX-License-Identifier: MIT */
/*
 * overlap.c: threads that compute beside each other between their events, and what must still come in order when a
 * replay lets them do so: memory handed on through pipes and barriers, once, cancellation, forks, signals, freed
 * blocks, ends of threads and of the program. What they saw goes to /dev/null too, where a replay compares it.
 * NOTES: serially, that a thread which spins was interrupted
 */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#define THREADS 4
#define ROUNDS 60

static int null_fd;
static unsigned long cells[THREADS];
static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void tell(const void *p, size_t n)
{
	CHECK(write(null_fd, p, n) == (ssize_t)n);
}

/* No event in here. */
static unsigned long compute(unsigned long x, unsigned rounds)
{
	for (volatile unsigned i = 0; i < rounds * 1000; i++)
		x = x * 6364136223846793005ul + 1442695040888963407ul;
	return x;
}

static void run(void *(*fn)(void *))
{
	pthread_t t[THREADS];

	for (long i = 0; i < THREADS; i++)
		NEED(pthread_create(&t[i], NULL, fn, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
}

/* ---- a ring of pipes: who reads a byte reads what was in memory before it was written ---- */

static int ring[THREADS][2];

static void *in_ring(void *arg)
{
	long me = (long)arg, next = (me + 1) % THREADS;
	char c = 0;

	for (int i = 0; i < ROUNDS; i++) {
		CHECK(read(ring[me][0], &c, 1) == 1);
		cells[next] = compute(cells[me] + 1, 3);
		CHECK(write(ring[next][1], &c, 1) == 1);
		compute(1, 20);
	}
	return NULL;
}

static void pipes(void)
{
	for (int i = 0; i < THREADS; i++)
		NEED(pipe(ring[i]) == 0);
	CHECK(write(ring[0][1], "x", 1) == 1);
	run(in_ring);
	tell(cells, sizeof(cells));
	step("pipes");
}

/* ---- phases: all read what all wrote in the phase before ---- */

static void *in_phases(void *arg)
{
	long me = (long)arg;
	unsigned long sum;

	for (unsigned i = 0; i < ROUNDS; i++) {
		sum = 0;
		pthread_barrier_wait(&barrier);
		for (int k = 0; k < THREADS; k++)
			sum += cells[k];
		pthread_barrier_wait(&barrier);
		cells[me] = compute(sum, 1 + (i * 7 + (unsigned)me * 13) % 30);
		tell(&cells[me], sizeof(cells[me]));
	}
	return NULL;
}

static void phases(void)
{
	NEED(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
	run(in_phases);
	step("phases");
}

/* ---- once: one of those that come at the same time runs the routine ---- */

static pthread_once_t once[ROUNDS];
static unsigned long onces;
static __thread long me_once;
static long who_once[ROUNDS];
static unsigned once_now;

static void once_routine(void)
{
	compute(2, 5);
	who_once[once_now] = me_once;
	onces++;
}

static void *in_once(void *arg)
{
	me_once = (long)arg;
	for (unsigned i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&barrier);
		if (me_once == 0)
			once_now = i;
		pthread_barrier_wait(&barrier);
		compute(3, (i + (unsigned)me_once * 5) % 7);
		pthread_once(&once[i], once_routine);
		CHECK(who_once[i] >= 0 && onces == i + 1);
	}
	return NULL;
}

static void onces_test(void)
{
	run(in_once);
	CHECK(onces == ROUNDS);
	tell(who_once, sizeof(who_once));
	step("once");
}

/* ---- cancelled: in a read that may have begun or not ---- */

static void *cancelled(void *arg)
{
	char c;

	compute(4, (unsigned)(long)arg);
	while (read(ring[0][0], &c, 1) >= 0 || errno == EINTR)
		;
	return NULL;
}

static void cancels(void)
{
	for (unsigned i = 0; i < 20; i++) {
		pthread_t t;
		void *ret;

		NEED(pthread_create(&t, NULL, cancelled, (void *)(long)(i * 20)) == 0);
		compute(5, 200 - i * 10);
		CHECK(pthread_cancel(t) == 0);
		CHECK(pthread_join(t, &ret) == 0 && ret == PTHREAD_CANCELED);
	}
	step("cancel");
}

/* ---- forks beside computing threads ---- */

static void *forks(void *arg)
{
	for (int i = 0; i < 4; i++) {
		unsigned long x = compute((unsigned long)arg, 100);
		int status;
		pid_t pid;

		tell(&x, sizeof(x));
		pid = fork();
		if (pid == 0)
			_exit((int)(compute(x, 2) & 63));
		CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	}
	return NULL;
}

/* ---- blocks that another thread frees ---- */

static void *queue[ROUNDS * THREADS];
static size_t queued;

static void *in_heap(void *arg)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		void *mine[40], *got[40] = {0};

		for (int k = 0; k < 40; k++)
			mine[k] = malloc(100 + 1000 * (i % 8) + (unsigned)(long)arg);
		tell(mine, sizeof(mine));
		pthread_mutex_lock(&lock);
		for (int k = 0; k < 40 && queued; k++)
			got[k] = queue[--queued];
		for (int k = 0; k < 20 && queued < sizeof(queue) / sizeof(*queue); k++) {
			queue[queued++] = mine[k];
			mine[k] = NULL;
		}
		pthread_mutex_unlock(&lock);
		for (int k = 0; k < 40; k++) {
			free(got[k]);
			free(mine[k]);
		}
	}
	return NULL;
}

/* ---- signals to a thread that works; ends, with destructors ---- */

static volatile sig_atomic_t handled;
static pthread_key_t key;

static void on_signal(int sig)
{
	handled += sig == SIGUSR1;
}

static void destroy(void *p)
{
	unsigned long x = compute((unsigned long)p, 30);

	tell(&x, sizeof(x));
	free(malloc(5000));
}

static void *signalled(void *arg)
{
	pthread_t to = *(pthread_t *)arg;

	pthread_setspecific(key, arg);
	for (int i = 0; i < 10; i++) {
		CHECK(pthread_kill(to, SIGUSR1) == 0);
		compute(6, 30);
	}
	return NULL;
}

static void signals(void)
{
	pthread_t t[THREADS], self = pthread_self();

	signal(SIGUSR1, on_signal);
	NEED(pthread_key_create(&key, destroy) == 0);
	for (int i = 0; i < THREADS; i++)
		NEED(pthread_create(&t[i], NULL, signalled, &self) == 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned long x = compute(i, 10);

		tell(&x, sizeof(x));
	}
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(handled > 0);
	step("signals");
}

/* ---- the end, beside threads that have no more events ---- */

static void *endless(void *arg)
{
	for (;;)
		*(volatile unsigned long *)arg += compute(7, 1);
	return NULL;
}

int main(void)
{
	pthread_t t;

	null_fd = open("/dev/null", O_WRONLY);
	NEED(null_fd >= 0);
	pipes();
	phases();
	onces_test();
	cancels();
	run(forks);
	step("forks");
	run(in_heap);
	step("heap");
	signals();
	NEED(pthread_create(&t, NULL, endless, &cells[0]) == 0 && pthread_create(&t, NULL, endless, &cells[1]) == 0);
	step("ends");
	return check_status();
}
