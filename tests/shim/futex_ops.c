/* SPDX-License-Identifier: MIT */
/*
 * futex_ops.c: FUTEX_WAKE_OP changes a word and wakes who waits: one that was woken finds the word changed. A thread that ends clears
 * the word that it was made with, also where another process sees it, and where the memory is gone.
 * NOTES: one thread at a time
 */
#include "check.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define ROUNDS 300

static int gate, word, sum;

static long futex(int *at, int op, int val, long val2, int *at2, int val3)
{
	return syscall(SYS_futex, at, op, val, val2, at2, val3);
}

static void *woken(void *arg)
{
	for (int i = 1; i <= ROUNDS; i++) {
		while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) < i)
			futex(&gate, FUTEX_WAIT_PRIVATE, i - 1, 0, NULL, 0);
		sum = sum * 31 + word * 7 + gate;
	}
	return arg;
}

/* Each round the word says how many there were. */
static void test_wake_op(void)
{
	pthread_t t;

	NEED(pthread_create(&t, NULL, woken, NULL) == 0);
	for (int i = 1; i <= ROUNDS; i++) {
		__atomic_store_n(&gate, i, __ATOMIC_RELEASE);
		futex(&gate, FUTEX_WAKE_OP_PRIVATE, 1, 0, &word, FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_EQ, -1));
		if (i % 3 == 0)
			sched_yield();
	}
	pthread_join(t, NULL);
	CHECK(word == ROUNDS);
	printf("sum %d\n", sum != 0);
	step("wake op");
}

static int ends(void *arg)
{
	if (arg)
		munmap(arg, 4096);
	return 0;
}

static int *page(int flags)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	NEED(p != MAP_FAILED);
	return p;
}

static void make(int *tid, void *arg)
{
	char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;

	*tid = 1;
	NEED(clone(ends, stack + 65536, flags | CLONE_CHILD_CLEARTID, arg, NULL, NULL, tid) > 0);
}

static void await_zero(int *tid)
{
	int now;

	while ((now = __atomic_load_n(tid, __ATOMIC_ACQUIRE)) != 0)
		futex(tid, FUTEX_WAIT, now, 0, NULL, 0);
}

static void test_clear(void)
{
	int *shared = page(MAP_SHARED), *gone = page(MAP_PRIVATE), status;
	pid_t child = fork();

	if (!child) { /* waits for a thread of its parent */
		while (!__atomic_load_n(&shared[1], __ATOMIC_ACQUIRE) || __atomic_load_n(shared, __ATOMIC_ACQUIRE))
			sched_yield();
		_exit(0);
	}
	make(shared, NULL);
	__atomic_store_n(&shared[1], 1, __ATOMIC_RELEASE);
	await_zero(shared);
	make(gone, gone);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	step("clear");
}

int main(void)
{
	test_wake_op();
	test_clear();
	return check_status();
}
