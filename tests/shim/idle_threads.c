/* SPDX-License-Identifier: MIT */
/*
 * idle_threads.c: threads that look for work again and again, with a lock that is free, and one that gives it to them
 * and waits in a loop: chaos may not keep that one from running for as long as the others look in vain.
 * RECORD: --sched chaos:2
 */
#include "check.h"

#include <pthread.h>

#define WORKERS 2
#define ROUNDS 20
#define LOOKS 5000 /* without a call */
#define POLLS_MOST 20000

static atomic_int work[WORKERS], stop;
static pthread_mutex_t lock[WORKERS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static atomic_ulong done, polls;

static void *works(void *arg)
{
	int i = (int)(size_t)arg;

	while (!atomic_load(&stop)) {
		for (int k = 0; k < LOOKS && !atomic_load(&work[i]); k++)
			;
		if (!atomic_load(&work[i])) {
			pthread_mutex_lock(&lock[i]);
			atomic_fetch_add(&polls, 1);
			pthread_mutex_unlock(&lock[i]);
			continue;
		}
		atomic_fetch_add(&done, 1);
		atomic_store(&work[i], 0);
	}
	return NULL;
}

/* The recorder is a library like others. */
static int recorded(void)
{
	static char line[4096];
	FILE *f = fopen("/proc/self/maps", "r");
	int found = 0;

	NEED(f != NULL);
	while (fgets(line, sizeof(line), f))
		found |= strstr(line, "libfred-record") != NULL;
	CHECK(fclose(f) == 0);
	return found;
}

int main(void)
{
	pthread_t t[WORKERS];

	for (int i = 0; i < WORKERS; i++)
		CHECK(pthread_create(&t[i], NULL, works, (void *)(size_t)i) == 0);
	for (int r = 0; r < ROUNDS; r++) {
		CHECK(getppid() > 0);
		for (int i = 0; i < WORKERS; i++)
			atomic_store(&work[i], 1);
		while (atomic_load(&work[0]) + atomic_load(&work[1]) > 0)
			;
	}
	atomic_store(&stop, 1);
	for (int i = 0; i < WORKERS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(done == ROUNDS * WORKERS);
	CHECK(!recorded() || polls < POLLS_MOST); /* natively it depends on the machine */
	step("idle threads");
	return check_status();
}
