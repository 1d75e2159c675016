/* SPDX-License-Identifier: MIT */
/* locks.c: the dearest thing to record: two threads that do nothing but lock and unlock one mutex. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long rounds = 2000000, count;

static void *work(void *unused)
{
	for (unsigned long i = 0; i < rounds; i++) {
		pthread_mutex_lock(&lock);
		count++;
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t t[2];

	if (argc > 1)
		rounds = strtoul(argv[1], NULL, 10);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, work, NULL))
			return 2;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%lu\n", count);
	return count != 2 * rounds;
}
