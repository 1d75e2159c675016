/* SPDX-License-Identifier: MIT */
/*
 * malloc_turns.c: an allocator of the program's own with a lock of its own, which libc calls too, when it makes a
 * thread, when one ends and when it is joined; who finds the lock taken makes other calls. The output depends on the
 * order of all calls.
 *
 * RECORD: --sched serial
 * CFLAGS: -rdynamic
 * NONDET-OUTPUT
 */
#include "check.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define ROOM (256u << 20)
#define ALIGN 16u
#define MADE 30

static char room[ROOM] __attribute__((aligned(4096)));
static size_t used;
static int taken, stop;
static unsigned waits, order;

static void lock(void)
{
	unsigned busy = 0;

	while (__atomic_exchange_n(&taken, 1, __ATOMIC_ACQUIRE))
		busy++;
	if (busy)
		waits++;
}

static void unlock(void)
{
	__atomic_store_n(&taken, 0, __ATOMIC_RELEASE);
}

static void *take(size_t align, size_t size, int slow)
{
	size_t at;

	if (align < ALIGN)
		align = ALIGN;
	lock();
	order = order * 31 + (unsigned)size;
	if (slow)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	at = (used + sizeof(size_t) + align - 1) / align * align;
	used = at + size;
	unlock();
	if (used > ROOM) {
		errno = ENOMEM;
		return NULL;
	}
	*(size_t *)(room + at - sizeof(size_t)) = size;
	return room + at;
}

void *malloc(size_t size)
{
	return take(ALIGN, size, 0);
}

void free(void *p)
{
	(void)p;
	lock();
	order = order * 37 + 1;
	unlock();
}

void *calloc(size_t n, size_t size)
{
	return take(ALIGN, n * size, 1); /* never used before; libc calls it for a thread */
}

void *realloc(void *p, size_t size)
{
	void *q = take(ALIGN, size, 0);

	if (p && q) {
		size_t was = *(size_t *)((char *)p - sizeof(size_t));

		memcpy(q, p, was < size ? was : size);
	}
	return q;
}

void *memalign(size_t align, size_t size)
{
	return take(align, size, 0);
}

void *aligned_alloc(size_t align, size_t size)
{
	return take(align, size, 0);
}

int posix_memalign(void **p, size_t align, size_t size)
{
	*p = take(align, size, 0);
	return *p ? 0 : ENOMEM;
}

static void *nothing(void *arg)
{
	return arg;
}

static void *make(void *arg)
{
	for (int i = 0; i < MADE; i++) {
		pthread_t t;

		CHECK(pthread_create(&t, NULL, nothing, NULL) == 0);
		CHECK(pthread_join(t, NULL) == 0);
	}
	return arg;
}

static void *use(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		void *volatile p = malloc(8);
		unsigned before = waits;

		free(p);

		for (int i = 0; i < 20; i++)
			lock(), unlock();
		for (; before < waits; before++)
			getppid();
		getpid();
		getuid();
	}
	return arg;
}

int main(void)
{
	pthread_t maker, user;

	NEED(pthread_create(&user, NULL, use, NULL) == 0);
	NEED(pthread_create(&maker, NULL, make, NULL) == 0);
	CHECK(pthread_join(maker, NULL) == 0);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	CHECK(pthread_join(user, NULL) == 0);
	printf("%u %u\n", waits, order);
	return check_status();
}
