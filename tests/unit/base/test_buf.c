// SPDX-License-Identifier: MIT
/* test_buf.c: growth, termination, consuming. */
#include "base/buf.h"
#include "test.h"

static void empty_is_a_string(void **state)
{
	cleanup_buf struct buf b = {0};

	assert_string_equal(buf_str(&b), "");
	buf_clear(&b);
	buf_consume(&b, 10);
	assert_int_equal(b.len, 0);
}

static void grows_and_stays_terminated(void **state)
{
	cleanup_buf struct buf b = {0};

	for (int i = 0; i < 10000; i++) {
		buf_addf(&b, "%d,", i % 10);
		assert_int_equal(b.data[b.len], 0);
	}
	assert_int_equal(b.len, 20000);
	assert_true(b.cap > b.len);
	assert_memory_equal(b.data + 19996, "8,9,", 4);
}

static void holds_zero_bytes(void **state)
{
	cleanup_buf struct buf b = {0};

	buf_add(&b, "a\0b", 3);
	buf_add_char(&b, '\0');
	buf_add(&b, NULL, 0);
	assert_int_equal(b.len, 4);
	assert_memory_equal(b.data, "a\0b\0", 5);
}

static void consumes_from_the_front(void **state)
{
	cleanup_buf struct buf b = {0};

	buf_add_str(&b, "hello world");
	buf_consume(&b, 6);
	assert_string_equal(buf_str(&b), "world");
	assert_int_equal(b.len, 5);
	buf_consume(&b, 99);
	assert_string_equal(buf_str(&b), "");
}

static void steal_leaves_it_empty(void **state)
{
	struct buf b = {0};
	char *s = buf_steal(&b);

	assert_string_equal(s, "");
	free(s);
	buf_add_str(&b, "x");
	s = buf_steal(&b);
	assert_string_equal(s, "x");
	assert_null(b.data);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_is_a_string),	   cmocka_unit_test(grows_and_stays_terminated),
		cmocka_unit_test(holds_zero_bytes),	   cmocka_unit_test(consumes_from_the_front),
		cmocka_unit_test(steal_leaves_it_empty),
	};

	return cmocka_run_group_tests_name("base-buf", tests, NULL, NULL);
}
