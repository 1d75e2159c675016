/* SPDX-License-Identifier: MIT */
/* test_findings.c: which findings are one, and what becomes of too many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "memcheck/memcheck.h"

#define PAGE 4096ul

static struct memory_finding *add(struct memcheck *m, uint64_t inner, uint64_t outer)
{
	const uint64_t frames[] = {inner, outer};
	const struct moment at = {.stack = stacks_number(&m->stacks, frames, 2), .code = m->i.code.now};

	return memcheck_add(m, FINDING_OUTSIDE, &at, true, 0, 1, NULL);
}

static void *map(void *at)
{
	return mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED_NOREPLACE : 0), -1,
		    0);
}

/* Code that goes makes only findings in it different ones. */
static void code_goes(void **state)
{
	uint64_t here = (uint64_t)(uintptr_t)code_goes;
	struct memcheck m;
	struct err e;
	char *p = map(NULL);

	(void)state;
	memcheck_init(&m, false);
	assert_int_equal(code_see(&m.i.code, getpid(), &e), 0);
	for (unsigned k = 0; k < 3; k++) {
		assert_non_null(code_use(&m.i.code, here));
		assert_non_null(code_use(&m.i.code, (uint64_t)(uintptr_t)p));
		assert_int_equal(add(&m, here, here + 1) != NULL, k == 0);
		assert_non_null(add(&m, (uint64_t)(uintptr_t)p, here));
		assert_non_null(add(&m, here, (uint64_t)(uintptr_t)p));
		munmap(p, PAGE);
		assert_int_equal(code_see(&m.i.code, getpid(), &e), 1);
		assert_ptr_equal(map(p), p);
		assert_int_equal(code_see(&m.i.code, getpid(), &e), 0);
	}
	assert_int_equal(m.n, 7);
	munmap(p, PAGE);
	assert_int_equal(code_see(&m.i.code, getpid(), &e), 0);
	memcheck_fini(&m);
}

static void too_many(void **state)
{
	struct memcheck m;

	(void)state;
	memcheck_init(&m, false);
	for (uint64_t k = 1; k <= MEMCHECK_FINDINGS_MAX; k++)
		assert_non_null(add(&m, k, 1));
	assert_null(add(&m, 1, 1));
	assert_int_equal(m.dropped, 0);
	assert_null(add(&m, MEMCHECK_FINDINGS_MAX + 1, 1));
	assert_int_equal(m.dropped, 1);
	memcheck_fini(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_goes),
		cmocka_unit_test(too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
