/* SPDX-License-Identifier: MIT */
/* test_casts.c: casts that GDB computes wrongly are refused, wherever they stand in an expression. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "expr/casts.h"

static void test_dynamic(void **state)
{
	static const struct {
		const char *text;
		bool refused;
	} rows[] = {
		{"dynamic_cast<Boat *>(cur)->tons < 30", true},
		{"dynamic_cast <Boat *>(cur)->tons < 30", true},
		{"n == 0 || (dynamic_cast<Boat &>(*cur)).tons < 30", true},
		{"static_cast<Boat *>(cur)->tons < 30", false},
		{"$_streq(word, \"dynamic_cast<\")", false},
		{"dynamic_casts <30", false},
		{"my_dynamic_cast<Boat *>(cur) != 0", false},
		{"\"not closed", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err e = {0};

		if ((expr_check_casts(rows[i].text, &e) != 0) != rows[i].refused)
			fail_msg("%s", rows[i].text);
		assert_int_equal(e.kind == ERR_USAGE, rows[i].refused);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_dynamic)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
