/* SPDX-License-Identifier: MIT */
/* test_loads.c: strings of bytes that were loaded in pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "memcheck/loads.h"

#define A 0x1000u
#define B 0x2000u
#define MOST 100

static void add(struct loads *l, uint64_t addr, const char *bytes, size_t n)
{
	loads_add(l, addr, (const uint8_t *)bytes, n);
}

static void lengths(void **state)
{
	struct loads l = {0};
	uint64_t n;

	(void)state;
	add(&l, A + 4, "45\0xx", 5); /* with what is behind the end */
	assert_false(loads_length(&l, A, MOST, 1, &n));
	add(&l, A, "0123", 4);
	assert_true(loads_length(&l, A, MOST, 1, &n));
	assert_int_equal(n, 7);
	assert_true(loads_length(&l, A, 3, 1, &n));
	assert_int_equal(n, 3);
	add(&l, B, "\1\0\0\0\0\0\0\0", 8);
	assert_true(loads_length(&l, B, MOST, 4, &n));
	assert_int_equal(n, 8);
	loads_reset(&l);
	assert_false(loads_length(&l, A, MOST, 1, &n));
	loads_fini(&l);
}

static void differences(void **state)
{
	struct loads l = {0};
	uint64_t n;

	(void)state;
	add(&l, A, "abC\0ef", 6);
	add(&l, B, "abc\0xf", 6);
	assert_true(loads_differ(&l, A, B, MOST, 1, LOADS_STRINGS, &n));
	assert_int_equal(n, 3);
	assert_true(loads_differ(&l, A, B, MOST, 1, LOADS_STRINGS_NO_CASE, &n));
	assert_int_equal(n, 4);
	assert_true(loads_differ(&l, A + 3, B + 3, 3, 1, LOADS_MEMORY, &n));
	assert_int_equal(n, 2);
	assert_true(loads_differ(&l, A, B, 2, 1, LOADS_MEMORY, &n));
	assert_int_equal(n, 2);
	assert_false(loads_differ(&l, A + 5, B + 5, MOST, 1, LOADS_MEMORY, &n));
	loads_fini(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(lengths), cmocka_unit_test(differences)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
