/* SPDX-License-Identifier: MIT */
/*
 * nav_program.c: what test_navigate.c records: two threads that take turns at a counter, with calls in between, and
 * a word at a fixed address that tells how far they are.
 */
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

#define AT ((volatile uint64_t *)0x7654000)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
	for (int i = 0; i < 400; i++) {
		struct timespec ts;

		clock_gettime(CLOCK_MONOTONIC, &ts);
		pthread_mutex_lock(&lock);
		AT[0]++;
		AT[1] = AT[1] * 31 + (uint64_t)ts.tv_nsec + (uintptr_t)arg;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;

	if (mmap((void *)AT, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
	    (void *)AT)
		return 1;
	if (pthread_create(&thread, NULL, work, (void *)1))
		return 1;
	work((void *)2);
	pthread_join(thread, NULL);
	return AT[0] != 800;
}
