/* SPDX-License-Identifier: MIT */
/* main_exits.c: main leaves by pthread_exit; the process lives on until its last thread is done. */
#include "check.h"

#include <pthread.h>

static pthread_t main_thread;

static void *last(void *arg)
{
	void *ret;

	CHECK(pthread_join(main_thread, &ret) == 0);
	CHECK(ret == arg);
	for (int i = 0; i < 100; i++)
		free(malloc(1000 + i));
	step("main has left");
	exit(check_status() ? 1 : 17);
}

int main(void)
{
	pthread_t t;

	main_thread = pthread_self();
	NEED(pthread_create(&t, NULL, last, (void *)99) == 0);
	step("started");
	pthread_exit((void *)99);
}
