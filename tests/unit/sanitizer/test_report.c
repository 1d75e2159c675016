/* SPDX-License-Identifier: MIT */
/* test_report.c: the texts of sanitizers' reports. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */
#include "sanitizer/report.h"

static void address(void **state)
{
	struct sanitizer_report r;

	(void)state;
	assert_true(sanitizer_report_parse(
		"====\n==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000098 "
		"at pc 0x5619070440d2 bp 0x7f\nREAD of size 8 at 0x602000000098 thread T0\n",
		&r));
	assert_string_equal(r.tool, "AddressSanitizer");
	assert_string_equal(r.what, "heap-use-after-free");
	assert_true(r.addr == 0x602000000098 && r.size == 8 && !r.writes);
	assert_true(sanitizer_report_is_stale(&r));
	assert_true(sanitizer_report_parse(
		"\033[1m\033[31m==7==ERROR: AddressSanitizer: stack-buffer-overflow on address 0x10 "
		"at pc 0x1\n\033[1m\033[0m\033[1m\033[34mWRITE of size 4 at 0x10 thread T0",
		&r));
	assert_string_equal(r.what, "stack-buffer-overflow");
	assert_true(r.addr == 0x10 && r.size == 4 && r.writes && !sanitizer_report_is_stale(&r));
	assert_true(sanitizer_report_parse(
		"==7==ERROR: AddressSanitizer: attempting double-free on 0x602000000010 in thread T0:\n", &r));
	assert_string_equal(r.what, "attempting double-free");
	assert_true(r.addr == 0x602000000010 && !r.size && sanitizer_report_is_stale(&r));
	assert_true(sanitizer_report_parse(
		"==7==ERROR: AddressSanitizer: attempting free on address which was not malloc()-ed: "
		"0x7ffc00 in thread T0\n",
		&r));
	assert_true(r.addr == 0x7ffc00);
}

static void undefined(void **state)
{
	struct sanitizer_report r;

	(void)state;
	assert_true(sanitizer_report_parse(
		"a.c:4:35: runtime error: index 9 out of bounds for type 'int [4]'\nSUMMARY: x", &r));
	assert_string_equal(r.tool, "UndefinedBehaviorSanitizer");
	assert_string_equal(r.what, "index 9 out of bounds for type 'int [4]'");
	assert_true(!r.addr && !r.size);
}

static void none(void **state)
{
	struct sanitizer_report r;

	(void)state;
	assert_false(sanitizer_report_parse("", &r));
	assert_false(sanitizer_report_parse("ERROR: no such file\n", &r));
	assert_false(sanitizer_report_parse("====\n==7==ERROR: ", &r));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(address), cmocka_unit_test(undefined),
					   cmocka_unit_test(none)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
