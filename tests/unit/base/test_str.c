// SPDX-License-Identifier: MIT
/* test_str.c: formatting, strict numbers, string vectors. */
#include "base/cleanup.h"
#include "test.h"

static void formats(void **state)
{
	cleanup_free char *s = str_fmt("%s-%d", "a", 5);

	assert_string_equal(s, "a-5");
	str_set(&s, "[%s]", s);
	assert_string_equal(s, "[a-5]");
}

static void prefixes_and_suffixes(void **state)
{
	assert_true(str_starts("abc", "ab"));
	assert_false(str_starts("a", "ab"));
	assert_true(str_ends("abc", "bc"));
	assert_false(str_ends("c", "bc"));
	assert_true(str_ends("c", ""));
	assert_true(str_eq(NULL, NULL));
	assert_false(str_eq("", NULL));
}

static void numbers_are_strict(void **state)
{
	static const char *const bad[] = {"",	"x",  "1x", " 1", "1 ", "-1", "+1",
					  "0x", "--1", "18446744073709551616"};
	uint64_t u = 7;

	for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++)
		assert_int_equal(str_u64(bad[k], 0, 0, UINT64_MAX, &u), -1);
	assert_int_equal(str_u64(NULL, 0, 0, UINT64_MAX, &u), -1);
	assert_int_equal(u, 7);
	assert_int_equal(str_u64("18446744073709551615", 10, 0, UINT64_MAX, &u), 0);
	assert_true(u == UINT64_MAX);
	assert_int_equal(str_u64("0x1F", 0, 0, 31, &u), 0);
	assert_int_equal(u, 31);
	assert_int_equal(str_u64("32", 0, 0, 31, &u), -1);
	assert_int_equal(str_u64("ff", 16, 0, 255, &u), 0);
	assert_int_equal(u, 255);
}

static void vectors_end_with_null(void **state)
{
	cleanup_strv struct strv v = {0};

	for (int i = 0; i < 100; i++) {
		strv_addf(&v, "%d", i);
		assert_null(v.s[v.n]);
	}
	assert_int_equal(v.n, 100);
	assert_string_equal(v.s[99], "99");
	assert_true(strv_has(&v, "50"));
	assert_false(strv_has(&v, "100"));
}

static void vectors_split_join_sort(void **state)
{
	static const char *const more[] = {"c", "a", NULL};
	cleanup_strv struct strv v = {0};
	cleanup_free char *empty = strv_join(&v, ","), *joined = NULL, *sorted = NULL;

	assert_string_equal(empty, "");
	strv_split(&v, ",x,,y z,", ", ");
	strv_add_all(&v, more);
	joined = strv_join(&v, "-");
	assert_string_equal(joined, "x-y-z-c-a");
	strv_sort(&v);
	sorted = strv_join(&v, "");
	assert_string_equal(sorted, "acxyz");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats),		cmocka_unit_test(prefixes_and_suffixes),
		cmocka_unit_test(numbers_are_strict),	cmocka_unit_test(vectors_end_with_null),
		cmocka_unit_test(vectors_split_join_sort),
	};

	return cmocka_run_group_tests_name("base-str", tests, NULL, NULL);
}
