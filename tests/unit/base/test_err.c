// SPDX-License-Identifier: MIT
/* test_err.c: setting, wrapping, the exit codes of fredctl(1). */
#include <errno.h>

#include "base/err.h"
#include "test.h"

static void set_keeps_one_line(void **state)
{
	struct err e = {0};

	assert_int_equal(err_set(&e, ERR_USAGE, "a\nb %d\n", 7), -1);
	assert_string_equal(e.text, "a b 7");
	assert_int_equal(e.kind, ERR_USAGE);
}

static void errno_is_appended_and_kept(void **state)
{
	struct err e = {0};

	errno = ENOENT;
	assert_int_equal(err_errno(&e, ERR_HOST, "open %s", "x"), -1);
	assert_string_equal(e.text, "open x: No such file or directory");
	assert_int_equal(errno, ENOENT);
}

static void no_room_is_the_hosts(void **state)
{
	static const int of_host[] = {EFBIG, ENOSPC, EDQUOT, EMFILE, ENFILE};
	struct err e = {0};

	for (size_t i = 0; i < sizeof(of_host) / sizeof(of_host[0]); i++) {
		errno = of_host[i];
		err_errno(&e, ERR_INTERNAL, "write");
		assert_int_equal(e.kind, ERR_HOST);
		errno = of_host[i];
		err_errno(&e, ERR_USAGE, "write");
		assert_int_equal(e.kind, ERR_USAGE);
	}
	errno = EIO;
	err_errno(&e, ERR_INTERNAL, "write");
	assert_int_equal(e.kind, ERR_INTERNAL);
}

static void wrap_puts_context_before(void **state)
{
	struct err e = {0};

	err_set(&e, ERR_BUDGET, "cause");
	assert_int_equal(err_wrap(&e, "doing %s", "it"), -1);
	assert_int_equal(err_wrap(&e, "outer"), -1);
	assert_string_equal(e.text, "outer: doing it: cause");
	assert_int_equal(e.kind, ERR_BUDGET);
}

static void its_own_text_may_be_an_argument(void **state)
{
	struct err e = {0};

	err_set(&e, ERR_USAGE, "inner");
	err_set(&e, ERR_INTERNAL, "outer (%s)", e.text);
	assert_string_equal(e.text, "outer (inner)");
	err_wrap(&e, "%s", e.text);
	assert_string_equal(e.text, "outer (inner): outer (inner)");
}

static void too_long_is_cut_not_overrun(void **state)
{
	struct {
		struct err e;
		char guard[16];
	} s = {0};
	char big[3000];

	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	memset(s.guard, 0x5a, sizeof(s.guard));
	err_set(&s.e, ERR_USAGE, "%s", big);
	assert_int_equal(strlen(s.e.text), sizeof(s.e.text) - 1);
	errno = EACCES;
	err_errno(&s.e, ERR_USAGE, "%s", big);
	assert_non_null(strstr(s.e.text, ": Permission denied"));
	for (int i = 0; i < 5; i++)
		err_wrap(&s.e, "%s", big);
	assert_true(strlen(s.e.text) < sizeof(s.e.text));
	for (size_t i = 0; i < sizeof(s.guard); i++)
		assert_int_equal(s.guard[i], 0x5a);
}

static void null_error_is_fine(void **state)
{
	assert_int_equal(err_set(NULL, ERR_USAGE, "x"), -1);
	assert_int_equal(err_errno(NULL, ERR_USAGE, "x"), -1);
	assert_int_equal(err_wrap(NULL, "x"), -1);
}

static void exit_codes_of_the_contract(void **state)
{
	static const struct {
		enum err_kind kind;
		int code;
		const char *name;
	} want[] = {
		{ERR_NONE, 0, "none"},	     {ERR_NOT_FOUND, 1, "not-found"},
		{ERR_USAGE, 2, "usage"},     {ERR_INTERNAL, 70, "internal"},
		{ERR_BUDGET, 75, "budget"},  {ERR_HOST, 77, "host"},
		{ERR_CANCELLED, 130, "cancelled"}, {ERR_TIMEOUT, 70, "timeout"},
		{ERR_KILLED, 70, "killed"},
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(err_exit_code(want[i].kind), want[i].code);
		assert_string_equal(err_kind_name(want[i].kind), want[i].name);
		assert_int_equal(err_kind_from_name(want[i].name), want[i].kind);
	}
	assert_int_equal(err_kind_from_name("no such"), ERR_INTERNAL);
	assert_int_equal(err_kind_from_name(NULL), ERR_INTERNAL);
	assert_int_equal(err_exit_code((enum err_kind)99), 70);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_keeps_one_line),
		cmocka_unit_test(errno_is_appended_and_kept),
		cmocka_unit_test(no_room_is_the_hosts),
		cmocka_unit_test(wrap_puts_context_before),
		cmocka_unit_test(its_own_text_may_be_an_argument),
		cmocka_unit_test(too_long_is_cut_not_overrun),
		cmocka_unit_test(null_error_is_fine),
		cmocka_unit_test(exit_codes_of_the_contract),
	};

	return cmocka_run_group_tests_name("base-err", tests, NULL, NULL);
}
