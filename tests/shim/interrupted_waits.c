/* SPDX-License-Identifier: MIT */
/*
 * interrupted_waits.c: signals and cancellations that come while a thread waits for another one: what it did
 * between its last call and the wait is done. The first of all unwinding is that of a cancelled wait for a condition.
 */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>

static sem_t ready, again, answered;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t both;
static pthread_t lives;
static volatile int stage, seen;
static volatile pid_t tid;

static void handler(int sig)
{
	(void)sig;
	seen = stage;
	sem_post(&answered);
}

static void until(sem_t *s)
{
	while (sem_wait(s))
		CHECK(errno == EINTR);
}

/* It sleeps, whatever for. */
static void wait_asleep(void)
{
	char path[64], text[512], *state;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	do {
		fd = open(path, O_RDONLY);
		NEED(fd >= 0);
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
		NEED(n > 0);
		text[n] = 0;
		state = strrchr(text, ')');
		sched_yield();
	} while (state[2] != 'S');
}

static void in_sem(void)
{
	until(&again);
}

static void in_mutex(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

static void in_rwlock(void)
{
	pthread_rwlock_rdlock(&rw);
	pthread_rwlock_unlock(&rw);
}

static void in_barrier(void)
{
	pthread_barrier_wait(&both);
}

static void in_join(void)
{
	CHECK(pthread_join(lives, NULL) == 0);
}

static void unlock(void *m)
{
	pthread_mutex_unlock(m);
}

static void in_cond(void)
{
	pthread_mutex_lock(&other);
	pthread_cleanup_push(unlock, &other);
	stage++;
	for (;;)
		pthread_cond_wait(&never, &other);
	pthread_cleanup_pop(1);
}

static void *waits(void *arg)
{
	void (*const *wait)(void) = arg;

	tid = (pid_t)syscall(SYS_gettid);
	sem_post(&ready);
	stage++; /* before the wait: it is seen in a handler that runs there */
	(*wait)();
	return NULL;
}

static void begin(pthread_t *t, void (*const *wait)(void))
{
	NEED(pthread_create(t, NULL, waits, (void *)wait) == 0);
	until(&ready);
	wait_asleep();
}

static void test_cancel(const char *name, void (*wait)(void))
{
	pthread_t t;
	void *ret;

	stage = 0;
	begin(&t, &wait);
	CHECK(pthread_cancel(t) == 0);
	CHECK(pthread_join(t, &ret) == 0);
	CHECK(ret == PTHREAD_CANCELED);
	CHECK(stage > 0);
	step(name);
}

static void *stays(void *arg)
{
	until(arg);
	return NULL;
}

static void test_signal(const char *name, void (*wait)(void), void (*release)(void))
{
	pthread_t t;

	stage = seen = 0;
	begin(&t, &wait);
	do { /* it may have slept for its turn, earlier */
		CHECK(pthread_kill(t, SIGUSR1) == 0);
		until(&answered);
	} while (!seen);
	release();
	CHECK(pthread_join(t, NULL) == 0);
	step(name);
}

static void post(void)
{
	sem_post(&again);
}

static void unlock_mutex(void)
{
	pthread_mutex_unlock(&lock);
}

static void unlock_rw(void)
{
	pthread_rwlock_unlock(&rw);
}

int main(void)
{
	struct sigaction sa = {.sa_handler = handler};

	sem_init(&ready, 0, 0);
	sem_init(&again, 0, 0);
	sem_init(&answered, 0, 0);
	NEED(sigaction(SIGUSR1, &sa, NULL) == 0);
	test_cancel("a condition", in_cond);
	test_cancel("a semaphore", in_sem);
	test_signal("in a semaphore", in_sem, post);
	pthread_mutex_lock(&lock);
	test_signal("in a mutex", in_mutex, unlock_mutex);
	pthread_rwlock_wrlock(&rw);
	test_signal("in a rwlock", in_rwlock, unlock_rw);
	pthread_barrier_init(&both, NULL, 2);
	test_signal("in a barrier", in_barrier, in_barrier);
	NEED(pthread_create(&lives, NULL, stays, &again) == 0);
	test_signal("in a join", in_join, post);
	return check_status();
}
