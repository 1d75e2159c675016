/* SPDX-License-Identifier: MIT */
/* test_suppress.c: files of suppressions, and stacks that they match. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "memcheck/suppress.h"

static const struct suppress_frame stack[] = {
	{"copy_line", "libtext.so.1", "text.c", 7},
	{NULL, "libtext.so.1", NULL, 0},
	{"main", "program", "main.c", 12},
};
static const char *const strcpys[] = {"strcpy", "stpcpy", NULL};

static bool matches(const char *kind, const char *frames, const char *wanted)
{
	char text[512];
	struct suppressions s = {0};
	struct err e;
	bool r;

	strcpy(text, "# a comment\n{\n  a name\n  Other,Memcheck:");
	strcat(strcat(strcat(strcat(text, wanted), "\n"), frames), "}\n");
	assert_int_equal(suppressions_parse(&s, text, &e), 0);
	assert_int_equal(s.n, 1);
	assert_string_equal(s.v[0].name, "a name");
	r = suppressions_match(&s, kind, stack, 3, strcpys);
	assert_int_equal(s.v[0].count, r);
	suppressions_fini(&s);
	return r;
}

static void by_frames(void **state)
{
	(void)state;
	assert_true(matches("Cond", " fun:copy_line\n", "Cond"));
	assert_true(matches("Cond", " fun:copy_*\n obj:/usr/lib/libtext.so.*\n fun:main\n", "Cond"));
	assert_true(matches("Cond", " src:text.c:7\n ...\n src:main.?\n", "Cond"));
	assert_true(matches("Cond", " ...\n fun:main\n ...\n", "Cond"));
	assert_true(matches("Cond", " fun:strcpy\n fun:copy_line\n", "Cond"));
	assert_true(matches("Cond", " obj:*libc.so.6\n fun:copy_line\n", "Cond"));
	assert_false(matches("Cond", " fun:main\n", "Cond"));
	assert_false(matches("Cond", " fun:strlen\n fun:copy_line\n", "Cond"));
	assert_false(matches("Cond", " fun:copy_line\n fun:main\n", "Cond"));
	assert_false(matches("Cond", " ...\n fun:main\n obj:*\n", "Cond"));
	assert_false(matches("Cond", " src:text.c:8\n", "Cond"));
}

static void by_kind(void **state)
{
	(void)state;
	assert_false(matches("Addr4", " ...\n", "Addr8"));
	assert_true(matches(SUPPRESS_ANY_ADDR, " ...\n", "Addr8"));
	assert_true(matches("Leak", " match-leak-kinds: definite\n ...\n", "Leak"));
	assert_true(matches("Param", " write(buf)\n ...\n", "Param"));
}

static void bad_files(void **state)
{
	static const char *const bad[] = {"x",
					  "{\n",
					  "{\n name\n",
					  "{\n name\n Cond\n fun:f\n}\n",
					  "{\n name\n Memcheck:Cond\n fun:f\n",
					  "{\n name\n Memcheck:Cond\n}\n",
					  "{\n name\n Memcheck:Cond\n frame\n}\n"};

	(void)state;
	for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
		struct suppressions s = {0};
		struct err e;

		assert_int_equal(suppressions_parse(&s, bad[k], &e), -1);
		assert_int_equal(e.kind, ERR_USAGE);
		suppressions_fini(&s);
	}
}

/* What is written suppresses what it was written for; those of other tools are passed over. */
static void written(void **state)
{
	char *text = suppression_text("Value8", stack, 3, "strcpy"), all[1024];
	struct suppressions s = {0};
	struct err e;

	(void)state;
	strcpy(all, "{\n other\n Helgrind:Race\n anything\n}\n\n");
	assert_int_equal(suppressions_parse(&s, strcat(all, text), &e), 0);
	assert_int_equal(s.n, 1);
	assert_true(suppressions_match(&s, "Value8", stack, 3, strcpys));
	assert_false(suppressions_match(&s, "Value8", stack + 1, 2, strcpys));
	suppressions_fini(&s);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_frames),
		cmocka_unit_test(by_kind),
		cmocka_unit_test(bad_files),
		cmocka_unit_test(written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
