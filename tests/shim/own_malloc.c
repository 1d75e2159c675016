/* SPDX-License-Identifier: MIT */
/*
 * own_malloc.c: a program with an allocator of its own that looks at clocks and random bytes when it is first asked,
 * whoever asks first; and with functions of the C++ library in it, as programs have that are linked to that statically.
 * NONDET-OUTPUT
 * CFLAGS: -rdynamic
 */
#include "check.h"

#include <stdint.h>
#include <sys/random.h>
#include <sys/time.h>
#include <time.h>

#define ROOM (64u << 20)
#define ALIGN 16u

static struct {
	struct timespec monotonic, real;
	struct timeval day;
	uint64_t random;
	unsigned calls;
} first;

static char room[ROOM] __attribute__((aligned(4096)));
static size_t used;

static void *take(size_t align, size_t size)
{
	size_t at;

	if (!__atomic_fetch_add(&first.calls, 1, __ATOMIC_RELAXED)) {
		clock_gettime(CLOCK_MONOTONIC_COARSE, &first.monotonic);
		clock_gettime(CLOCK_REALTIME, &first.real);
		gettimeofday(&first.day, NULL);
		if (getrandom(&first.random, sizeof(first.random), GRND_NONBLOCK) != sizeof(first.random))
			first.random = 0;
	}
	if (align < ALIGN)
		align = ALIGN;
	/* the size stands before the block, for realloc */
	at = __atomic_fetch_add(&used, size + 2 * align, __ATOMIC_RELAXED);
	at = (at + sizeof(size_t) + align - 1) / align * align;
	if (at + size > ROOM) {
		errno = ENOMEM;
		return NULL;
	}
	*(size_t *)(room + at - sizeof(size_t)) = size;
	return room + at;
}

int __cxa_guard_acquire(uint8_t *guard)
{
	return !*guard;
}

void __cxa_guard_release(uint8_t *guard)
{
	*guard = 1;
}

void *malloc(size_t size)
{
	return take(ALIGN, size);
}

void free(void *p)
{
	(void)p;
}

void *calloc(size_t n, size_t size)
{
	return take(ALIGN, n * size); /* never used before: zeros */
}

void *realloc(void *p, size_t size)
{
	void *n = take(ALIGN, size);

	if (p && n) {
		size_t old = ((size_t *)p)[-1];

		memcpy(n, p, old < size ? old : size);
	}
	return n;
}

void *aligned_alloc(size_t align, size_t size)
{
	return take(align, size);
}

int posix_memalign(void **p, size_t align, size_t size)
{
	*p = take(align, size);
	return *p ? 0 : ENOMEM;
}

int main(void)
{
	struct timespec now;
	char *s = strdup("own");

	CHECK(s >= room && s < room + ROOM && !strcmp(s, "own"));
	CHECK(first.calls > 0);
	CHECK(!clock_gettime(CLOCK_REALTIME, &now));
	CHECK(now.tv_sec - first.real.tv_sec < 3600 && first.real.tv_sec - first.day.tv_sec < 3600);
	CHECK(dprintf(1, "%lld.%09ld %lld.%09ld %lld.%06ld %llx\n", (long long)first.monotonic.tv_sec,
		      first.monotonic.tv_nsec, (long long)first.real.tv_sec, first.real.tv_nsec,
		      (long long)first.day.tv_sec, (long)first.day.tv_usec, (unsigned long long)first.random) > 0);
	step("first allocation");
	return check_status();
}
