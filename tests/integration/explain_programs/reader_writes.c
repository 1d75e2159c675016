/* SPDX-License-Identifier: MIT */
/* A thread that reads under a read-write lock calls what writes: it waits for itself. KIND: deadlock */
#include <pthread.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int values[4], count;

static int __attribute__((noinline)) add(int v)
{
	pthread_rwlock_wrlock(&lock);
	values[count] = v;
	pthread_rwlock_unlock(&lock);
	return count++;
}

static int __attribute__((noinline)) find(int v)
{
	int at = -1;

	pthread_rwlock_rdlock(&lock); /* BUG: it has this when it adds */
	for (int i = 0; i < count; i++)
		if (values[i] == v)
			at = i;
	if (at < 0)
		at = add(v);
	pthread_rwlock_unlock(&lock);
	return at;
}

static void *reader(void *arg)
{
	return find(7) + find(8) ? arg : NULL;
}

int main(void)
{
	pthread_t t;

	add(7);
	pthread_create(&t, NULL, reader, NULL);
	return pthread_join(t, NULL);
}
