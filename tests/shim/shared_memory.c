/* SPDX-License-Identifier: MIT */
/*
 * shared_memory.c: memory that processes share and all write: anonymous, POSIX and System V; with atomics, spinning,
 * futexes, semaphores, mutexes (robust ones too), conditions and rwlocks between them, and as the buffer of
 * system calls. What a process prints tells in which order the others wrote.
 *
 * NONDET-OUTPUT
 */
#include "check.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define CHILDREN 3
#define ROUNDS 200
#define PAGES 64
#define PAGE 4096ul

struct shared {
	atomic_ulong free_order; /* a race, meant */
	atomic_int futex;
	unsigned long order, count;
	sem_t sem, turns[2];
	pthread_mutex_t mutex, robust;
	pthread_cond_t cond;
	pthread_rwlock_t rwlock;
	int ready, go;
	char buffer[3 * PAGE];
	unsigned char pages[PAGES][PAGE];
};

static void init(struct shared *s)
{
	pthread_mutexattr_t ma;
	pthread_condattr_t ca;
	pthread_rwlockattr_t ra;

	pthread_mutexattr_init(&ma);
	pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED);
	CHECK(pthread_mutex_init(&s->mutex, &ma) == 0);
	pthread_mutexattr_setrobust(&ma, PTHREAD_MUTEX_ROBUST);
	CHECK(pthread_mutex_init(&s->robust, &ma) == 0);
	pthread_condattr_init(&ca);
	pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED);
	CHECK(pthread_cond_init(&s->cond, &ca) == 0);
	pthread_rwlockattr_init(&ra);
	pthread_rwlockattr_setpshared(&ra, PTHREAD_PROCESS_SHARED);
	CHECK(pthread_rwlock_init(&s->rwlock, &ra) == 0);
	CHECK(sem_init(&s->sem, 1, 1) == 0);
	CHECK(sem_init(&s->turns[0], 1, 1) == 0 && sem_init(&s->turns[1], 1, 0) == 0);
}

static void futex_lock(atomic_int *word)
{
	int zero = 0;

	if (atomic_compare_exchange_strong(word, &zero, 1))
		return;
	while (atomic_exchange(word, 2))
		syscall(SYS_futex, word, FUTEX_WAIT, 2, NULL, NULL, 0);
}

static void futex_unlock(atomic_int *word)
{
	if (atomic_exchange(word, 0) == 2)
		syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Prints a sum over all that the others left, which a replay has to find. */
static int child(struct shared *s, unsigned long me)
{
	unsigned long sum = 0;

	pthread_mutex_lock(&s->mutex);
	s->ready++;
	pthread_cond_broadcast(&s->cond);
	while (!s->go)
		pthread_cond_wait(&s->cond, &s->mutex);
	pthread_mutex_unlock(&s->mutex);
	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned page = (unsigned)((me * 7 + i * 13) % PAGES);

		atomic_store(&s->free_order, atomic_load(&s->free_order) * 33 + me);
		futex_lock(&s->futex);
		s->order = s->order * 31 + me;
		s->count++;
		futex_unlock(&s->futex);
		if (i % 3 == 0) {
			CHECK(sem_wait(&s->sem) == 0);
			s->pages[page][i] = (unsigned char)(s->pages[page][i] * 5 + me);
			CHECK(sem_post(&s->sem) == 0);
		} else if (i % 3 == 1) {
			CHECK(pthread_rwlock_rdlock(&s->rwlock) == 0);
			for (unsigned k = 0; k < PAGE; k += 64)
				sum = sum * 3 + s->pages[page][k];
			CHECK(pthread_rwlock_unlock(&s->rwlock) == 0);
		} else {
			CHECK(pthread_rwlock_wrlock(&s->rwlock) == 0);
			memset(s->pages[page], (int)(sum + me), PAGE);
			CHECK(pthread_rwlock_unlock(&s->rwlock) == 0);
			sched_yield();
		}
		sum = sum * 3 + atomic_load(&s->free_order) + s->order;
	}
	printf("child %lu: %lx\n", me, sum);
	fflush(stdout);
	return check_status();
}

static void wait_all(int n)
{
	int status;

	while (n--) {
		status = -1;
		CHECK(wait(&status) > 0 && status == 0);
	}
}

static void test_anonymous(struct shared *s)
{
	for (unsigned long i = 0; i < CHILDREN; i++)
		if (fork() == 0)
			_exit(child(s, i + 1));
	pthread_mutex_lock(&s->mutex);
	while (s->ready < CHILDREN)
		pthread_cond_wait(&s->cond, &s->mutex);
	s->go = 1;
	pthread_cond_broadcast(&s->cond);
	pthread_mutex_unlock(&s->mutex);
	wait_all(CHILDREN);
	CHECK(s->count == CHILDREN * ROUNDS);
	printf("%lx %lx\n", s->order, atomic_load(&s->free_order));
	step("anonymous");
}

static void test_ping_pong(struct shared *s)
{
	s->count = 0;
	if (fork() == 0) {
		for (int i = 0; i < 50; i++) {
			CHECK(sem_wait(&s->turns[1]) == 0);
			s->count++;
			CHECK(sem_post(&s->turns[0]) == 0);
		}
		_exit(check_status());
	}
	for (int i = 0; i < 50; i++) {
		CHECK(sem_wait(&s->turns[0]) == 0);
		CHECK(s->count == (unsigned long)i);
		CHECK(sem_post(&s->turns[1]) == 0);
	}
	wait_all(1);
	CHECK(s->count == 50);
	step("two semaphores");
}

/* Waits for another process through memory alone. */
static void test_spin(struct shared *s)
{
	atomic_store(&s->futex, 0);
	if (fork() == 0) {
		atomic_store(&s->futex, 1);
		while (atomic_load(&s->futex) != 2)
			;
		atomic_store(&s->futex, 3);
		_exit(0);
	}
	while (atomic_load(&s->futex) != 1)
		;
	atomic_store(&s->futex, 2);
	while (atomic_load(&s->futex) != 3)
		;
	wait_all(1);
	atomic_store(&s->futex, 0);
	step("spinning");
}

static sem_t woken;
static int never[2];

/* Runs first, lets the main thread run until that spins, and sleeps from then on. */
static void *sleeper(void *arg)
{
	struct timespec ms = {0, 1000000};
	char byte;

	nanosleep(&ms, NULL);
	sem_post(&woken);
	for (int i = 0; i < 5; i++)
		sched_yield();
	CHECK(read(never[0], &byte, 1) == 0);
	return arg;
}

static void test_spin_beside_sleeper(struct shared *s)
{
	struct timespec later = {0, 60000000}; /* probably after that */
	pthread_t t;

	NEED(pipe(never) == 0 && sem_init(&woken, 0, 0) == 0);
	if (fork() == 0) {
		close(never[1]);
		nanosleep(&later, NULL);
		atomic_store(&s->futex, 1);
		_exit(0);
	}
	NEED(pthread_create(&t, NULL, sleeper, NULL) == 0);
	sem_wait(&woken);
	while (atomic_load(&s->futex) != 1)
		;
	close(never[1]);
	CHECK(pthread_join(t, NULL) == 0);
	wait_all(1);
	atomic_store(&s->futex, 0);
	step("spinning beside a sleeping thread");
}

static void test_robust(struct shared *s)
{
	int status;

	if (fork() == 0) {
		CHECK(pthread_mutex_lock(&s->robust) == 0);
		_exit(0); /* with the mutex */
	}
	CHECK(wait(&status) > 0);
	CHECK(pthread_mutex_lock(&s->robust) == EOWNERDEAD);
	CHECK(pthread_mutex_consistent(&s->robust) == 0);
	CHECK(pthread_mutex_unlock(&s->robust) == 0);
	CHECK(pthread_mutex_trylock(&s->robust) == 0 && pthread_mutex_unlock(&s->robust) == 0);
	step("robust");
}

/* System calls that read and write there. */
static void test_calls(struct shared *s)
{
	int p[2], status = 0;
	struct timespec *ts = (void *)s->buffer;

	CHECK(pipe(p) == 0);
	if (fork() == 0) {
		memset(s->pages[0], 'x', PAGE);
		CHECK(write(p[1], s->pages[0], PAGE) == (long)PAGE);
		_exit(check_status());
	}
	memset(s->buffer, 0, sizeof(s->buffer));
	for (size_t got = 0; got < PAGE;) {
		ssize_t n = read(p[0], s->buffer + PAGE - 100 + got, PAGE - got);

		if (!CHECK(n > 0))
			break;
		got += (size_t)n;
	}
	CHECK(s->buffer[PAGE - 101] == 0 && s->buffer[PAGE - 100] == 'x' && s->buffer[2 * PAGE - 101] == 'x' &&
	      s->buffer[2 * PAGE - 100] == 0);
	CHECK(wait(&status) > 0 && status == 0);
	CHECK(clock_gettime(CLOCK_MONOTONIC, ts) == 0 && ts->tv_sec > 0);
	close(p[0]);
	close(p[1]);
	step("system calls");
}

static void add_lots(unsigned char *m, unsigned long me)
{
	for (int i = 0; i < 100; i++) {
		m[i * 40] = (unsigned char)(m[i * 40] * 3 + me);
		sched_yield();
	}
}

static unsigned long sum_of(const unsigned char *m)
{
	unsigned long sum = 0;

	for (unsigned i = 0; i < PAGE; i++)
		sum = sum * 31 + m[i];
	return sum;
}

static void test_posix(void)
{
	char name[40], sem_name[40];
	unsigned char *m;
	sem_t *sem;
	int fd;

	snprintf(name, sizeof(name), "/fred-shm-%d", getpid());
	snprintf(sem_name, sizeof(sem_name), "/fred-sem-%d", getpid());
	fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	NEED(fd >= 0 && ftruncate(fd, 2 * PAGE) == 0);
	m = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	sem = sem_open(sem_name, O_CREAT | O_EXCL, 0600, 0);
	NEED(m != MAP_FAILED && sem != SEM_FAILED);
	if (fork() == 0) {
		/* mapped again, by name, elsewhere */
		int again = shm_open(name, O_RDWR, 0);
		unsigned char *n = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0);

		add_lots(n, 2);
		CHECK(pwrite(again, "written", 7, PAGE) == 7);
		CHECK(sem_post(sem) == 0);
		_exit(check_status());
	}
	add_lots(m, 1);
	CHECK(sem_wait(sem) == 0);
	CHECK(memcmp(m + PAGE, "written", 7) == 0);
	printf("%lx\n", sum_of(m));
	wait_all(1);
	CHECK(sem_close(sem) == 0 && sem_unlink(sem_name) == 0);
	CHECK(munmap(m, 2 * PAGE) == 0 && shm_unlink(name) == 0);
	close(fd);
	step("POSIX");
}

static void test_sysv(void)
{
	int id = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600);
	struct shmid_ds ds;
	unsigned char *m;

	NEED(id >= 0);
	m = shmat(id, NULL, 0);
	NEED(m != (void *)-1);
	m[7] = 7;
	CHECK(shmctl(id, IPC_STAT, &ds) == 0 && ds.shm_nattch == 1 && ds.shm_segsz == PAGE);
	if (fork() == 0) {
		CHECK(m[7] == 7);
		add_lots(m, 2);
		CHECK(shmdt(m) == 0);
		_exit(check_status());
	}
	add_lots(m, 1);
	wait_all(1);
	printf("%lx\n", sum_of(m));
	CHECK(shmctl(id, IPC_RMID, NULL) == 0);
	CHECK(shmdt(m) == 0);
	step("System V");
}

/* A process is stopped while it waits for its turn: the others go on, whenever it would have been due. */
static void test_stopped(void)
{
	atomic_int *done = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = -1;
	pid_t child;

	NEED(done != MAP_FAILED);
	child = fork();
	NEED(child >= 0);
	if (!child) {
		for (done[1] = 1; !done[0];)
			sched_yield();
		_exit(7);
	}
	while (!done[1])
		sched_yield();
	CHECK(kill(child, SIGSTOP) == 0);
	for (volatile unsigned long i = 0; i < 60000000; i++)
		;
	sched_yield();
	done[0] = 1;
	CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status));
	CHECK(kill(child, SIGCONT) == 0);
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	CHECK(munmap(done, PAGE) == 0);
	step("a stopped process");
}

int main(void)
{
	struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	NEED(s != MAP_FAILED);
	init(s);
	test_stopped();
	test_anonymous(s);
	test_ping_pong(s);
	test_spin(s);
	test_spin_beside_sleeper(s);
	test_robust(s);
	test_calls(s);
	test_posix();
	test_sysv();
	return check_status();
}
