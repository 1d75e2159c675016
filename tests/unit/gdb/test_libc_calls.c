/* SPDX-License-Identifier: MIT */
/* test_libc_calls.c: calls whose type GDB does not know. No GDB needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "gdb/libc_calls.h"

static void check(const char *expr, const char *name, const char *want)
{
	cleanup_free char *message = str_fmt("'%s' has unknown return type; cast the call to its declared "
					     "return type",
					     name);
	cleanup_free char *got = gdb_libc_cast(expr, message);

	if (!want)
		assert_null(got);
	else
		assert_string_equal(got ? got : "(none)", want);
}

static void test_cast(void **state)
{
	(void)state;
	check("strcmp(a, \"x)\") == 0", "strcmp", "((int)strcmp(a, \"x)\")) == 0");
	check("n > strlen (s)", "strlen", "n > ((unsigned long)strlen (s))");
	check("strlen(a) + strlen(b)", "strlen", "((unsigned long)strlen(a)) + ((unsigned long)strlen(b))");
	check("abs(abs(x))", "abs", "((int)abs(((int)abs(x))))");
	check("sqrt(x) < 2", "sqrt", "((double)sqrt(x)) < 2");
}

/* Members, longer names, functions that are not libc's, open brackets and other messages. */
static void test_no_cast(void **state)
{
	(void)state;
	check("p->strlen(s)", "strlen", NULL);
	check("my_strlen(s) + strlen2(s)", "strlen", NULL);
	check("list_len(s)", "list_len", NULL);
	check("strlen(s", "strlen", NULL);
	check("str (s)", "str", NULL);
	assert_null(gdb_libc_cast("strlen(s)", "No symbol \"s\" in current context."));
}

static void test_types(void **state)
{
	(void)state;
	assert_string_equal(gdb_libc_type("strcmp", 6), "int");
	assert_string_equal(gdb_libc_type("strchr", 6), "char *");
	assert_null(gdb_libc_type("strc", 4));
	assert_null(gdb_libc_type("", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cast),
		cmocka_unit_test(test_no_cast),
		cmocka_unit_test(test_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
