/* SPDX-License-Identifier: MIT */
/* test_hist.c: the list of commands itself. */
#include "program.h"
#include <stdlib.h>

static void check(const struct hist *h, const char *want)
{
	char *s = hist_format(h);

	assert_string_equal(s, want);
	free(s);
}

static void coalesces(void **state)
{
	struct hist h, copy;
	struct err e;

	hist_init(&h);
	check(&h, "");
	assert_int_equal(hist_append(&h, HIST_CONTINUE, 1, &e), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(hist_append(&h, HIST_NEXT, 2, &e), 0);
	assert_int_equal(hist_append(&h, HIST_STEP, 0, &e), 0);
	assert_int_equal(hist_append(&h, HIST_STEPI, 1, &e), 0);
	check(&h, "continue, next 6, stepi");
	assert_int_equal(hist_length(&h), 8);
	assert_int_equal(hist_at(&h, 0), HIST_CONTINUE);
	assert_int_equal(hist_at(&h, 1), HIST_NEXT);
	assert_int_equal(hist_at(&h, 6), HIST_NEXT);
	assert_int_equal(hist_at(&h, 7), HIST_STEPI);
	assert_int_equal(hist_copy(&copy, &h, &e), 0);
	hist_truncate(&h, 7);
	check(&h, "continue, next 6");
	hist_truncate(&h, 3);
	check(&h, "continue, next 2");
	hist_truncate(&h, 100);
	check(&h, "continue, next 2");
	assert_int_equal(hist_append_all(&h, &copy, &e), 0);
	check(&h, "continue, next 2, continue, next 6, stepi");
	hist_truncate(&h, 0);
	check(&h, "");
	hist_fini(&h);
	hist_fini(&copy);
}

static void grows(void **state)
{
	struct hist h;
	struct err e;

	hist_init(&h);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(hist_append(&h, i % 2 ? HIST_NEXT : HIST_STEP, 3, &e), 0);
	assert_int_equal(h.n, 1000);
	assert_int_equal(hist_length(&h), 3000);
	assert_int_equal(hist_at(&h, 2999), HIST_NEXT);
	assert_int_equal(hist_at(&h, 2996), HIST_STEP);
	hist_fini(&h);
}

static void names(void **state)
{
	for (int c = 0; c < HIST_CMDS; c++)
		assert_int_equal(hist_cmd_from_name(hist_cmd_name((enum hist_cmd)c)), c);
	assert_int_equal(hist_cmd_from_name("print"), HIST_CMDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(coalesces),
		cmocka_unit_test(grows),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
