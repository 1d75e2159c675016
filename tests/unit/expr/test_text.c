/* SPDX-License-Identifier: MIT */
/* test_text.c: where names, quoted texts and groups end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "expr/text.h"

/* rest: what is behind; NULL: it is not closed */
struct row {
	const char *text, *rest;
};

static void check(const char *(*behind)(const char *), const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *got = behind(rows[i].text);

		if (!got != !rows[i].rest || (got && strcmp(got, rows[i].rest)))
			fail_msg("%s: %s", rows[i].text, got ? got : "not closed");
	}
}

static void test_quotes(void **state)
{
	static const struct row rows[] = {
		{"\"a\"b", "b"}, {"\"\"", ""}, {"'\\''x", "x"},	  {"\"\\\\\"+1", "+1"}, {"\"it's\")", ")"},
		{"\"a", NULL},	 {"'", NULL},  {"\"a\\\"", NULL}, {"\"\\", NULL},
	};

	(void)state;
	check(text_after_quote, rows, sizeof(rows) / sizeof(rows[0]));
}

static void test_groups(void **state)
{
	static const struct row rows[] = {
		{"(a)b", "b"},	   {"()", ""},	      {"(a[f(1)])->x", "->x"},
		{"[i](j)", "(j)"}, {"(')')+1", "+1"}, {"(\"(\\\"\")*", "*"},
		{"\"a(\"b", "b"},  {"(a", NULL},      {"((a)", NULL},
		{"(')", NULL},	   {"(a[1)", NULL},   {"'", NULL},
	};

	(void)state;
	check(text_after_group, rows, sizeof(rows) / sizeof(rows[0]));
}

static void test_characters(void **state)
{
	(void)state;
	assert_true(text_is_name('_') && text_is_name('a') && text_is_name('Z') && text_is_name('7'));
	assert_false(text_is_name('\0') || text_is_name('.') || text_is_name('-') || text_is_name('\xe9'));
	assert_true(text_is_quote('"') && text_is_quote('\''));
	assert_false(text_is_quote('\0') || text_is_quote('`'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quotes),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_characters),
	};

	return cmocka_run_group_tests_name("gdb-text", tests, NULL, NULL);
}
