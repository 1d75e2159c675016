/* SPDX-License-Identifier: MIT */
/* fork_threads.c: forks out of a program with threads; children start threads of their own, and have not all memory. */
#include "check.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int stop;
static atomic_int prepared, in_parent, in_child;
static unsigned long work;

#define PAGE 4096
static char *pages; /* that a child does not have, has empty, has, and has again */

static void *worker(void *arg)
{
	for (int stopped = 0; !stopped;) {
		pthread_mutex_lock(&m);
		work++;
		free(malloc(work % 5000));
		stopped = stop;
		pthread_mutex_unlock(&m);
	}
	return arg;
}

static void before(void)
{
	pthread_mutex_lock(&m);
	prepared++;
}

static void after_parent(void)
{
	in_parent++;
	pthread_mutex_unlock(&m);
}

static void after_child(void)
{
	in_child++;
	pthread_mutex_unlock(&m);
}

static void *child_thread(void *arg)
{
	void *p = malloc(100);

	pthread_mutex_lock(&m);
	*(int *)arg += 1;
	pthread_mutex_unlock(&m);
	free(p);
	return NULL;
}

static int child(void)
{
	pthread_t t[3];
	int count = 0;

	if (in_child != 1 || in_parent == prepared)
		return 1;
	if (!mprotect(pages, PAGE, PROT_READ) || pages[PAGE] || pages[2 * PAGE] != 3 || pages[3 * PAGE] != 4)
		return 4;
	for (int i = 0; i < 3; i++)
		if (pthread_create(&t[i], NULL, child_thread, &count))
			return 2;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return count == 3 ? 0 : 3;
}

int main(void)
{
	pthread_t t[2];

	pages = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(pages != MAP_FAILED);
	CHECK(madvise(pages, 2 * PAGE, MADV_DONTFORK) == 0 && madvise(pages + PAGE, PAGE, MADV_DOFORK) == 0);
	CHECK(madvise(pages + PAGE, PAGE, 18 /* MADV_WIPEONFORK */) == 0 && madvise(pages, 1, -1) == -1);
	CHECK(madvise(pages + 3 * PAGE, PAGE, 18) == 0 &&
	      madvise(pages + 3 * PAGE, PAGE, 19 /* MADV_KEEPONFORK */) == 0);
	CHECK(madvise(pages + 2 * PAGE, PAGE, MADV_RANDOM) == 0 && madvise(pages + 2 * PAGE, PAGE, MADV_DONTDUMP) == 0);
	for (int i = 0; i < 4; i++)
		pages[i * PAGE] = (char)(i + 1);
	CHECK(pthread_atfork(before, after_parent, after_child) == 0);
	for (int i = 0; i < 2; i++)
		NEED(pthread_create(&t[i], NULL, worker, NULL) == 0);
	for (int i = 0; i < 10; i++) {
		int status;
		pid_t pid = fork();

		NEED(pid >= 0);
		if (pid == 0)
			_exit(child());
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
	pthread_mutex_lock(&m);
	stop = 1;
	pthread_mutex_unlock(&m);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	CHECK(pages[0] == 1 && pages[PAGE] == 2 && pages[2 * PAGE] == 3 && pages[3 * PAGE] == 4);
	CHECK(prepared == 10 && in_parent == 10 && in_child == 0);
	step("forks with threads");
	return check_status();
}
