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
#include "expr/libc_calls.h"
#include "gdb/refusal.h"

static char *supply(const char *expr, const char *message)
{
	struct err why;

	gdb_refusal(message, &why);
	return expr_libc_supply(expr, &why);
}

static void check(const char *expr, const char *name, const char *want)
{
	cleanup_free char *message = str_fmt("'%s' has unknown return type; cast the call to its declared "
					     "return type",
					     name);
	cleanup_free char *got = supply(expr, message);

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
	assert_null(supply("strlen(s)", "No symbol \"s\" in current context."));
}

static void test_constants(void **state)
{
	cleanup_free char *a = supply("p != NULL && NULL_x", "No symbol \"NULL\" in current context.");
	cleanup_free char *b = supply("s[0] == 'NULL' || nullptr==q", "No symbol \"nullptr\" in current context.");

	(void)state;
	assert_string_equal(a, "p != 0 && NULL_x");
	assert_string_equal(b, "s[0] == 'NULL' || 0==q");
	assert_null(supply("head", "No symbol \"head\" in current context."));
}

static void test_variables(void **state)
{
	static const char message[] = "'errno' has unknown type; cast it to its declared type";
	cleanup_free char *a = supply("errno == 0 && p->errno != job.errno", message);

	(void)state;
	assert_string_equal(a, "(*(int *)&errno) == 0 && p->errno != job.errno");
	assert_null(supply("(*(int *)&errno)", message));
	assert_null(supply("err", "'err' has unknown type; cast it to its declared type"));
}

static void test_types(void **state)
{
	(void)state;
	assert_string_equal(expr_libc_type("strcmp", 6), "int");
	assert_string_equal(expr_libc_type("strchr", 6), "char *");
	assert_null(expr_libc_type("strc", 4));
	assert_null(expr_libc_type("", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cast),	  cmocka_unit_test(test_no_cast), cmocka_unit_test(test_constants),
		cmocka_unit_test(test_variables), cmocka_unit_test(test_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
