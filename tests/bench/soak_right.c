/* SPDX-License-Identifier: MIT */
/*
 * soak_right.c: programs with threads and without bugs: whatever the order, they end with 0. Run by tests/bench/soak under chaos.
 *
 *   PROGRAM NAME         without NAME: prints all
 */
#include "orders.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#define ROUNDS 60
#define FAIL_UNLESS(c) fail_unless(c, #c, __LINE__)

static void fail_unless(int ok, const char *what, int line)
{
	if (ok)
		return;
	failed = 1;
	fprintf(stderr, "soak_right.c:%d: %s\n", line, what);
}

static long total;

static void three(void *(*fn)(void *))
{
	run((void *(*const[])(void *)){fn, fn, fn}, 3);
}

/* ---- locks ---- */

static void *adds(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&lock);
		total++;
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void mutex(void)
{
	three(adds);
	FAIL_UNLESS(total == 3 * ROUNDS);
}

static void *tries(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		while (pthread_mutex_trylock(&lock))
			sched_yield();
		total++;
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void trylock(void)
{
	three(tries);
	FAIL_UNLESS(total == 3 * ROUNDS);
}

static pthread_spinlock_t spinning;

static void *spins(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_spin_lock(&spinning);
		total++;
		pthread_spin_unlock(&spinning);
	}
	return arg;
}

static void spin(void)
{
	pthread_spin_init(&spinning, 0);
	three(spins);
	FAIL_UNLESS(total == 3 * ROUNDS);
}

static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static long left, right;

static void *reads_and_writes(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (i % 3 == 0) {
			pthread_rwlock_wrlock(&rw);
			left++;
			right++;
		} else {
			pthread_rwlock_rdlock(&rw);
			FAIL_UNLESS(left == right);
		}
		pthread_rwlock_unlock(&rw);
	}
	return arg;
}

static void rwlock(void)
{
	three(reads_and_writes);
	FAIL_UNLESS(left == ROUNDS);
}

/* ---- waits ---- */

static int queue[4], queued, over;

static void *produces(void *arg)
{
	for (int i = 1; i <= ROUNDS; i++) {
		pthread_mutex_lock(&lock);
		while (queued == 4)
			pthread_cond_wait(&cond, &lock);
		queue[queued++] = i;
		pthread_cond_broadcast(&cond);
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	over = 1;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *consumes(void *arg)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!queued && !over)
			pthread_cond_wait(&cond, &lock);
		if (!queued)
			break;
		total += queue[--queued];
		pthread_cond_broadcast(&cond);
	}
	pthread_mutex_unlock(&lock);
	return arg;
}

static void condition(void)
{
	run((void *(*const[])(void *)){produces, consumes, consumes}, 3);
	FAIL_UNLESS(total == ROUNDS * (ROUNDS + 1) / 2);
}

static int ready;

static void *waits_in_time(void *arg)
{
	struct timespec ts;

	pthread_mutex_lock(&lock);
	while (!ready) {
		later(&ts, 5);
		pthread_cond_timedwait(&cond, &lock, &ts);
	}
	total++;
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *makes_ready(void *arg)
{
	usleep(2000);
	pthread_mutex_lock(&lock);
	ready = 1;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
	return arg;
}

static void timed(void)
{
	run((void *(*const[])(void *)){waits_in_time, makes_ready, waits_in_time}, 3);
	FAIL_UNLESS(total == 2);
}

static sem_t items, slots;

static void *posts(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		sem_wait(&slots);
		total++;
		sem_post(&items);
	}
	return arg;
}

static void *takes(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		while (sem_wait(&items))
			FAIL_UNLESS(errno == EINTR);
		total--;
		sem_post(&slots);
	}
	return arg;
}

static void semaphore(void)
{
	sem_init(&items, 0, 0);
	sem_init(&slots, 0, 1);
	both(posts, takes);
	FAIL_UNLESS(total == 0);
}

static pthread_barrier_t meeting;
static long phase[3];

static void *meets(void *arg)
{
	size_t me = (size_t)arg;

	for (long i = 1; i <= ROUNDS / 3; i++) {
		phase[me] = i;
		pthread_barrier_wait(&meeting);
		for (int k = 0; k < 3; k++)
			FAIL_UNLESS(phase[k] == i);
		pthread_barrier_wait(&meeting);
	}
	return 0;
}

static void barrier(void)
{
	pthread_barrier_init(&meeting, NULL, 3);
	three(meets);
}

/* ---- atomics ---- */

static atomic_long counter;

static void *counts(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		counter++;
	return arg;
}

static void atomics(void)
{
	three(counts);
	FAIL_UNLESS(counter == 3 * ROUNDS);
}

static void *swaps(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		long was = atomic_load(&counter);

		while (!atomic_compare_exchange_weak(&counter, &was, was + 2))
			;
	}
	return arg;
}

static void cas(void)
{
	three(swaps);
	FAIL_UNLESS(counter == 6 * ROUNDS);
}

static atomic_flag taken = ATOMIC_FLAG_INIT;

static void *own_lock(void *arg)
{
	for (int i = 0; i < ROUNDS / 2; i++) {
		while (atomic_flag_test_and_set(&taken))
			;
		total++;
		work(3);
		atomic_flag_clear(&taken);
	}
	return arg;
}

static void spin_by_flag(void)
{
	both(own_lock, own_lock);
	FAIL_UNLESS(total == ROUNDS);
}

static atomic_int turn;

static void *plays(void *arg)
{
	int me = arg != NULL;

	for (int i = 0; i < ROUNDS / 2; i++) {
		while (turn != me)
			sched_yield();
		total += me ? 1 : -1;
		FAIL_UNLESS(total == me - 1);
		turn = !me;
	}
	return 0;
}

static void ping_pong(void)
{
	both(plays, plays);
}

struct tagged {
	uint32_t index, tag;
};
static _Atomic(struct tagged) head;
static uint32_t next[8];

static uint32_t pop(void)
{
	struct tagged was = atomic_load(&head), now;

	do {
		if (!was.index)
			return 0;
		now = (struct tagged){__atomic_load_n(&next[was.index], __ATOMIC_RELAXED), was.tag + 1};
	} while (!atomic_compare_exchange_weak(&head, &was, now));
	return was.index;
}

static void push(uint32_t i)
{
	struct tagged was = atomic_load(&head), now;

	do {
		__atomic_store_n(&next[i], was.index, __ATOMIC_RELAXED);
		now = (struct tagged){i, was.tag + 1};
	} while (!atomic_compare_exchange_weak(&head, &was, now));
}

static void *pops(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t a = pop(), b = pop();

		if (a)
			push(a);
		if (b)
			push(b);
	}
	return arg;
}

static void stack(void)
{
	int left_over = 0;

	for (uint32_t i = 1; i < 8; i++)
		push(i);
	three(pops);
	while (pop())
		left_over++;
	FAIL_UNLESS(left_over == 7);
}

static atomic_uint sequence;
static atomic_long one, two;

static void *writes_both(void *arg)
{
	for (long i = 1; i <= ROUNDS; i++) {
		sequence++;
		one = i;
		two = -i;
		sequence++;
	}
	return arg;
}

static void *reads_both(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		unsigned s;
		long a, b;

		do {
			s = sequence;
			a = one;
			b = two;
		} while (s & 1 || s != sequence);
		FAIL_UNLESS(a == -b);
	}
	return arg;
}

static void seqlock(void)
{
	both(writes_both, reads_both);
}

/* ---- once, keys, threads ---- */

static pthread_once_t once_only = PTHREAD_ONCE_INIT;
static pthread_key_t key;

static void goes(void *p)
{
	pthread_mutex_lock(&lock);
	total += *(int *)p;
	pthread_mutex_unlock(&lock);
	free(p);
}

static void first(void)
{
	pthread_key_create(&key, goes);
}

static void *has_own(void *arg)
{
	int *p = malloc(sizeof(*p));

	*p = 5;
	pthread_once(&once_only, first);
	pthread_setspecific(key, p);
	work(10);
	FAIL_UNLESS(*(int *)pthread_getspecific(key) == 5);
	return arg;
}

static void keys(void)
{
	three(has_own);
	FAIL_UNLESS(total == 15);
}

static void *makes(void *arg)
{
	pthread_t t;

	for (int i = 0; i < 4; i++) {
		FAIL_UNLESS(pthread_create(&t, NULL, has_own, NULL) == 0);
		FAIL_UNLESS(pthread_join(t, NULL) == 0);
	}
	return arg;
}

static void threads(void)
{
	both(makes, makes);
	FAIL_UNLESS(total == 40);
}

/* ---- the kernel ---- */

static int ends[2];

static void *writes(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		FAIL_UNLESS(write(ends[1], "x", 1) == 1);
	close(ends[1]);
	return arg;
}

static void *reads(void *arg)
{
	char c;

	while (read(ends[0], &c, 1) == 1)
		total++;
	return arg;
}

static void through_a_pipe(void)
{
	FAIL_UNLESS(pipe(ends) == 0);
	both(writes, reads);
	FAIL_UNLESS(total == ROUNDS);
}

static atomic_int handled;

static void handler(int sig)
{
	handled += sig == SIGUSR1;
}

static pthread_t to;

static void *signals(void *arg)
{
	for (int i = 1; i <= 10; i++) {
		FAIL_UNLESS(pthread_kill(to, SIGUSR1) == 0);
		while (handled < i)
			sched_yield();
	}
	return arg;
}

static void handlers(void)
{
	pthread_t t;

	signal(SIGUSR1, handler);
	to = pthread_self();
	pthread_create(&t, NULL, signals, NULL);
	while (handled < 10)
		work(50);
	pthread_join(t, NULL);
}

static void *prints(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		fprintf(stdout, "%d %p\n", i, malloc(16 + (size_t)i) ? NULL : (void *)stdout);
	return arg;
}

static void stdio(void)
{
	three(prints);
}

static void children(void)
{
	int status = -1;
	pid_t pid;

	for (int i = 0; i < 3; i++) {
		pid = fork();
		if (pid == 0) {
			three(adds);
			_exit(total != 3 * ROUNDS);
		}
		FAIL_UNLESS(waitpid(pid, &status, 0) == pid && status == 0);
	}
}

static int event;

static void *notifies(void *arg)
{
	uint64_t v = 1;

	for (int i = 0; i < 20; i++)
		FAIL_UNLESS(write(event, &v, sizeof(v)) == sizeof(v));
	return arg;
}

static void *notices(void *arg)
{
	uint64_t v;

	while (total < 40) {
		FAIL_UNLESS(read(event, &v, sizeof(v)) == sizeof(v));
		total += (long)v;
	}
	return arg;
}

static void events(void)
{
	event = eventfd(0, 0);
	run((void *(*const[])(void *)){notices, notifies, notifies}, 3);
	FAIL_UNLESS(total == 40);
}

int main(int argc, char **argv)
{
	static const struct bug all[] = {
		{"mutex", mutex}, {"trylock", trylock}, {"spin", spin}, {"rwlock", rwlock}, {"condition", condition}, {"timed", timed},
		{"semaphore", semaphore}, {"barrier", barrier}, {"atomics", atomics}, {"cas", cas}, {"spin_by_flag", spin_by_flag},
		{"ping_pong", ping_pong}, {"stack", stack}, {"seqlock", seqlock}, {"keys", keys}, {"threads", threads},
		{"through_a_pipe", through_a_pipe}, {"handlers", handlers}, {"stdio", stdio}, {"children", children}, {"events", events},
	};

	return run_bug(all, sizeof(all) / sizeof(all[0]), argc, argv);
}
