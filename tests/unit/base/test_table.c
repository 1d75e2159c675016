/* SPDX-License-Identifier: MIT */
/* test_table.c: a hash table by numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/table.h"

#define MANY 10000u

struct pair {
	uint64_t key;
	uint32_t value;
};

static void test_empty(void **state)
{
	struct table t;

	(void)state;
	table_init(&t, sizeof(struct pair));
	assert_null(table_find(&t, 1));
	assert_null(table_next(&t, NULL));
	table_fini(&t);
	assert_int_equal(t.size, sizeof(struct pair));
}

static void test_a_new_entry_is_zero(void **state)
{
	struct table t;
	struct pair *p;

	(void)state;
	table_init(&t, sizeof(*p));
	p = table_add(&t, UINT64_MAX);
	assert_true(p->key == UINT64_MAX && p->value == 0);
	p->value = 5;
	assert_ptr_equal(table_add(&t, UINT64_MAX), p);
	assert_int_equal(p->value, 5);
	assert_int_equal(t.n, 1);
	assert_null(table_find(&t, 1));
	table_fini(&t);
	assert_null(table_find(&t, UINT64_MAX));
}

/* Keys that are far apart, near to each other, and equal in their lower bits; the table grows on the way. */
static uint64_t key_of(uint64_t k)
{
	return k % 3 == 0 ? k << 40 | 1 : k % 3 == 1 ? k + 1 : (k + 1) * 4096;
}

static void test_many(void **state)
{
	bool seen[MANY] = {false};
	struct table t;
	size_t n = 0;

	(void)state;
	table_init(&t, sizeof(struct pair));
	for (uint32_t k = 0; k < MANY; k++)
		((struct pair *)table_add(&t, key_of(k)))->value = k;
	assert_int_equal(t.n, MANY);
	for (uint32_t k = 0; k < MANY; k++) {
		const struct pair *p = table_find(&t, key_of(k));

		assert_non_null(p);
		assert_int_equal(p->value, k);
		assert_null(table_find(&t, key_of(k) | 1ull << 63));
	}
	for (const struct pair *p = table_next(&t, NULL); p; p = table_next(&t, p), n++) {
		assert_true(p->key == key_of(p->value) && !seen[p->value]);
		seen[p->value] = true;
	}
	assert_int_equal(n, MANY);
	table_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_a_new_entry_is_zero),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
