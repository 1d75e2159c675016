/* SPDX-License-Identifier: MIT */
/*
 * malloc_calls.c: the allocation family: contents, alignment, sizes, growth, refusals, many threads.
 * CFLAGS: -fno-builtin
 */
#include "check.h"

#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/resource.h>

#define BLOCKS 2000

static void fill(unsigned char *p, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (unsigned char)(seed + i * 7);
}

static int intact(const unsigned char *p, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != (unsigned char)(seed + i * 7))
			return 0;
	return 1;
}

static void test_sizes(void)
{
	static unsigned char *block[BLOCKS];
	static size_t size[BLOCKS];
	unsigned seed = 1;

	for (unsigned round = 0; round < 20000; round++) {
		unsigned i = (seed = seed * 1664525 + 1013904223) >> 8;

		i %= BLOCKS;
		if (block[i])
			CHECK(intact(block[i], size[i], i));
		free(block[i]);
		size[i] = (seed >> 4) % (round % 50 ? 600 : 90000);
		block[i] = malloc(size[i]);
		NEED(block[i] && (uintptr_t)block[i] % 16 == 0);
		CHECK(malloc_usable_size(block[i]) >= size[i]);
		fill(block[i], size[i], i);
	}
	for (unsigned i = 0; i < BLOCKS; i++) {
		CHECK(!block[i] || intact(block[i], size[i], i));
		free(block[i]);
	}
	step("sizes");
}

static void test_alignment(void)
{
	void *p = NULL;

	for (size_t align = 8; align <= 1 << 20; align *= 2) {
		CHECK(posix_memalign(&p, align, 100) == 0 && (uintptr_t)p % align == 0);
		memset(p, 1, 100);
		free(p);
		p = memalign(align, 300);
		CHECK(p && (uintptr_t)p % align == 0);
		free(p);
		p = aligned_alloc(align, align * 2);
		CHECK(p && (uintptr_t)p % align == 0);
		p = realloc(p, align * 4);
		CHECK(p);
		free(p);
	}
	CHECK(posix_memalign(&p, 3, 10) == EINVAL);
	p = valloc(10);
	CHECK(p && (uintptr_t)p % 4096 == 0);
	free(p);
	p = pvalloc(10);
	CHECK(p && (uintptr_t)p % 4096 == 0 && malloc_usable_size(p) >= 4096);
	free(p);
	step("alignment");
}

static void test_realloc(void)
{
	volatile size_t huge = SIZE_MAX / 2;
	unsigned char *p = NULL;

	for (size_t n = 1; n < 3000000; n = n * 3 / 2 + 1) {
		p = realloc(p, n);
		NEED(p);
		if (n > 1)
			CHECK(intact(p, (n - 1) * 2 / 3, 9));
		fill(p, n, 9);
	}
	p = realloc(p, 1000);
	CHECK(p && intact(p, 1000, 9));
	p = reallocarray(p, 100, 50);
	CHECK(p && intact(p, 1000, 9));
	CHECK(reallocarray(NULL, huge, 8) == NULL && errno == ENOMEM);
	free(p);
	free(NULL);
	step("realloc");
}

static void test_zero_and_limits(void)
{
	volatile size_t huge = SIZE_MAX / 2;
	void *volatile none;
	unsigned char *p;
	char *text;

	for (int i = 0; i < 100; i++) {
		size_t n = (size_t)(i * i * 37 % 70000);
		size_t k;

		p = calloc(n, 1);
		NEED(p);
		for (k = 0; k < n && !p[k]; k++)
			;
		CHECK(k == n);
		memset(p, 0xff, n);
		free(p);
	}
	errno = 0;
	none = malloc(huge);
	CHECK(none == NULL && errno == ENOMEM);
	none = calloc(huge, 4);
	CHECK(none == NULL);
	p = malloc(0);
	free(p);
	p = malloc(200 << 20);
	NEED(p);
	p[0] = p[(200 << 20) - 1] = 1;
	free(p);
	text = strdup("copied");
	CHECK(text && !strcmp(text, "copied"));
	free(text);
	CHECK(asprintf(&text, "%d-%s", 5, "x") == 3);
	free(text);
	step("zero and limits");
}

static struct {
	pthread_mutex_t m;
	unsigned char *p[64];
	size_t n[64];
} shelf = {.m = PTHREAD_MUTEX_INITIALIZER};

/* Takes what another thread has put on the shelf, checks and frees it, and leaves something new. */
static void *trade(void *arg)
{
	unsigned seed = (unsigned)(size_t)arg;

	for (int i = 0; i < 5000; i++) {
		unsigned k = (seed = seed * 1664525 + 1013904223) >> 10 & 63;
		size_t n = 1 + (seed >> 16) % 2000, old_n;
		unsigned char *p = malloc(n), *old;

		NEED(p);
		fill(p, n, k);
		pthread_mutex_lock(&shelf.m);
		old = shelf.p[k], old_n = shelf.n[k];
		shelf.p[k] = p, shelf.n[k] = n;
		pthread_mutex_unlock(&shelf.m);
		CHECK(!old || intact(old, old_n, k));
		free(old);
	}
	return NULL;
}

static void test_threads(void)
{
	pthread_t t[4];

	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < 4; i++)
			NEED(pthread_create(&t[i], NULL, trade, (void *)(i + 1)) == 0);
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], NULL);
	}
	for (int i = 0; i < 64; i++)
		free(shelf.p[i]);
	malloc_trim(0);
	step("threads");
}

#define SPARSE (256ul << 20)

/* Of a large block that moves, pages that were not touched take no memory. */
static void test_sparse(void)
{
	unsigned char *p = malloc(SPARSE);
	struct rusage r;
	int good = 1;

	NEED(p);
	for (size_t i = 0; i < SPARSE; i += SPARSE / 16)
		p[i + i / 64] = (unsigned char)(i / (SPARSE / 16) + 1);
	p = realloc(p, 3 * SPARSE);
	NEED(p);
	for (size_t i = 0; i < SPARSE; i += SPARSE / 16)
		good &= p[i + i / 64] == i / (SPARSE / 16) + 1 && !p[i + i / 64 + 8192];
	CHECK(good);
	NEED(getrusage(RUSAGE_SELF, &r) == 0);
	CHECK(r.ru_maxrss < (long)(SPARSE >> 10) / 2);
	free(p);
	step("sparse blocks");
}

/* The kernel refuses memory: in a replay the same calls fail. */
static void test_limit(void)
{
	struct rlimit old, r;
	void *v[64];
	int n = 0;

	NEED(getrlimit(RLIMIT_AS, &old) == 0);
	r = old;
	r.rlim_cur = 4ul << 30;
	NEED(setrlimit(RLIMIT_AS, &r) == 0);
	errno = 0;
	CHECK(!malloc(6ul << 30) && errno == ENOMEM);
	for (; n < 64 && (v[n] = malloc(1ul << 28)); n++)
		;
	CHECK(n > 4 && n < 16);
	CHECK(!realloc(v[0], 5ul << 30));
	while (n--)
		free(v[n]);
	NEED(setrlimit(RLIMIT_AS, &old) == 0);
	v[0] = malloc(6ul << 30);
	CHECK(v[0]);
	free(v[0]);
	step("limits");
}

int main(void)
{
	test_sparse();
	test_limit();
	test_sizes();
	test_alignment();
	test_realloc();
	test_zero_and_limits();
	test_threads();
	return check_status();
}
