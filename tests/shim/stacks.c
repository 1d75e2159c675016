/* SPDX-License-Identifier: MIT */
/*
 * stacks.c: where threads' stacks are, and what is left on them: collectors of garbage stop threads by a signal, and
 * take for a pointer what they find there.
 * RECORD: --sched serial
 * NONDET-OUTPUT
 */
#include "check.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

#define MAGIC 0x5afe5afe5afe5afeu
#define ROUNDS 40

static sem_t stopped, resumed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int done;
static volatile uintptr_t found_sp, told_sp;

static void *show_place(void *size)
{
	volatile size_t here = (size_t)size;

	printf("a stack of %zu bytes: %p\n", here, (void *)&here);
	return NULL;
}

/* A thread whose stack has a size of the program's, behind a mapping that the recorder follows. */
static void test_places(void)
{
	char *shared = mmap(NULL, 1 << 23, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	NEED(shared != MAP_FAILED);
	pid = fork();
	if (pid == 0) {
		shared[5000] = 1;
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0 && shared[5000] == 1);
	for (size_t size = 1 << 16; size <= 1 << 27; size <<= 1) {
		pthread_attr_t attr;
		pthread_t t;

		CHECK(pthread_attr_init(&attr) == 0 && pthread_attr_setstacksize(&attr, size) == 0);
		CHECK(pthread_create(&t, &attr, show_place, (void *)size) == 0 && pthread_join(t, NULL) == 0);
		pthread_attr_destroy(&attr);
	}
	step("places");
}

static void *own_guard(void *out)
{
	pthread_attr_t attr;

	NEED(pthread_getattr_np(pthread_self(), &attr) == 0);
	CHECK(pthread_attr_getguardsize(&attr, out) == 0);
	pthread_attr_destroy(&attr);
	return NULL;
}

/* As some runtimes insist on. */
static void test_guards(void)
{
	for (size_t wanted = 0; wanted <= 16384; wanted = wanted ? 4 * wanted : 4096) {
		size_t guard = 1;
		pthread_attr_t attr;
		pthread_t t;

		CHECK(pthread_attr_init(&attr) == 0 && pthread_attr_setguardsize(&attr, wanted) == 0);
		CHECK(pthread_create(&t, &attr, own_guard, &guard) == 0 && pthread_join(t, NULL) == 0);
		CHECK(guard == wanted);
		pthread_attr_destroy(&attr);
	}
	step("guards");
}

/* All that is there: frames of libc, which hold what was on the stack before, and what libc keeps of the thread. */
static void *show_start(void *arg)
{
	const uint64_t *word = (const uint64_t *)__builtin_frame_address(0);
	uint64_t hash = (uint64_t)(size_t)arg;

	do
		hash = (hash ^ *word++) * 0x9e3779b97f4a7c15u;
	while ((uintptr_t)word % 4096 || (uintptr_t)word < (uintptr_t)pthread_self());
	printf("%016lx\n", hash);
	return NULL;
}

static void test_starts(void)
{
	sigset_t mask;

	sigemptyset(&mask);
	for (int i = 0; i < 3; i++) {
		pthread_t t;

		CHECK(pthread_create(&t, NULL, show_start, (void *)(size_t)i) == 0 && pthread_join(t, NULL) == 0);
		sigaddset(&mask, i ? SIGUSR2 : SIGUSR1);
		CHECK(pthread_sigmask(SIG_BLOCK, &mask, NULL) == 0);
	}
	CHECK(pthread_sigmask(SIG_UNBLOCK, &mask, NULL) == 0);
	step("starts");
}

/* Leaves what looks like pointers below the frames of who calls it. */
static __attribute__((noinline)) void litter(unsigned depth)
{
	volatile uint64_t words[16];

	for (int i = 0; i < 16; i++)
		words[i] = MAGIC;
	if (depth)
		litter(depth - 1);
	words[depth % 16]++;
}

static void stop(int sig, siginfo_t *si, void *uc)
{
	volatile int here = sig;

	(void)si;
	found_sp = (uintptr_t)&here;
	told_sp = (uintptr_t)((ucontext_t *)uc)->uc_mcontext.gregs[REG_RSP];
	sem_post(&stopped);
	while (sem_wait(&resumed))
		;
}

static void *work(void *base)
{
	*(uintptr_t *)base = (uintptr_t)__builtin_frame_address(0);
	sem_post(&stopped);
	while (!atomic_load(&done)) {
		litter(40);
		for (int i = 0; i < 50; i++) {
			pthread_mutex_lock(&lock);
			pthread_mutex_unlock(&lock);
		}
	}
	return NULL;
}

static unsigned count(const volatile uint64_t *from, const volatile uint64_t *to)
{
	unsigned n = 0;

	for (; from < to; from++)
		n += *from == MAGIC;
	return n;
}

static void test_litter(void)
{
	struct sigaction sa = {.sa_sigaction = stop, .sa_flags = SA_SIGINFO};
	static uintptr_t base;
	pthread_t t;

	CHECK(sem_init(&stopped, 0, 0) == 0 && sem_init(&resumed, 0, 0) == 0);
	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0 && pthread_create(&t, NULL, work, &base) == 0);
	sem_wait(&stopped);
	for (int i = 0; i < ROUNDS; i++) {
		for (int k = 0; k < 20; k++) {
			pthread_mutex_lock(&lock);
			pthread_mutex_unlock(&lock);
		}
		CHECK(pthread_kill(t, SIGUSR1) == 0);
		sem_wait(&stopped);
		CHECK(told_sp > found_sp && told_sp < base);
		printf("%u found\n", count((uint64_t *)(found_sp & ~7ul), (uint64_t *)base));
		sem_post(&resumed);
	}
	atomic_store(&done, 1);
	CHECK(pthread_join(t, NULL) == 0);
	step("litter");
}

int main(void)
{
	test_places();
	test_guards();
	test_starts();
	test_litter();
	return check_status();
}
