/* SPDX-License-Identifier: MIT */
/* raw_exit.c: threads that end by the system call alone, detached and joined, between others that go on. */
#include "check.h"

#include <pthread.h>
#include <sys/syscall.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *leave(void *arg)
{
	pthread_mutex_lock(&lock);
	count++;
	pthread_mutex_unlock(&lock);
	if (arg)
		syscall(SYS_exit, 0);
	return &count;
}

int main(void)
{
	pthread_t t[6];
	void *ret;

	for (size_t i = 0; i < 6; i++)
		NEED(pthread_create(&t[i], NULL, leave, (void *)(i % 2)) == 0);
	for (size_t i = 0; i < 6; i++) {
		CHECK(pthread_join(t[i], &ret) == 0);
		CHECK(i % 2 || ret == &count);
	}
	CHECK(count == 6);
	step("threads");
	return check_status();
}
