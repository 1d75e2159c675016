/* SPDX-License-Identifier: MIT */
/* abort_status.c: ends by abort in a thread, with buffered output that is lost and output that is not. */
#include "check.h"

#include <pthread.h>
#include <signal.h>

static void on_abort(int sig)
{
	static const char text[] = "handler saw the abort\n";

	(void)sig;
	if (write(1, text, sizeof(text) - 1) < 0)
		_exit(1);
}

static void *end(void *arg)
{
	(void)arg;
	abort();
}

int main(void)
{
	pthread_t t;

	signal(SIGABRT, on_abort);
	step("before");
	NEED(pthread_create(&t, NULL, end, NULL) == 0);
	pthread_join(t, NULL);
	return 0;
}
