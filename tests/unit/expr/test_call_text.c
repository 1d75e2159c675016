/* SPDX-License-Identifier: MIT */
/* test_call_text.c: calls in the text of an expression, and the objects of member calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "expr/call_text.h"

static void test_first_call(void **state)
{
	/* name NULL: no call; object: "" none, NULL: one that is not understood */
	static const struct {
		const char *text, *name, *object;
	} rows[] = {
		{"f(x) < 5", "f", ""},
		{"f (x) < 5", "f", ""},
		{"a::f(x)", "a::f", ""},
		{"n?1:f(x)", "f", ""},
		{"f<int>(x)", "f<int>", ""},
		{"l.f()", "f", "l"},
		{"1 + a[2]->b . f (3)", "f", "a[2]->b "},
		{"n?a:b.f()", "f", "b"},
		{"!(*p).f()", "f", "(*p)"},
		{"(p + 1)->f()", "f", "(p + 1)"},
		{"n + (p + 1)[2].l->f()", "f", "(p + 1)[2].l"},
		{"l.f<int *>()", "f<int *>", "l"},
		{"(T *)(p)->f()", "f", NULL},
		{"(T *) (p)->f()", "f", NULL},
		{"')'->f()", "f", NULL},
		{"sizeof (x) + 1", NULL, NULL},
		{"static_cast<T *>(p)->n", NULL, NULL},
		{"a < b && c > (d)", NULL, NULL},
		{"a<b && c>(d)", NULL, NULL},
		{"\"f(x)\" != s", NULL, NULL},
		{"(x)", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup_free char *name = NULL, *object = NULL;
		struct call_text f;
		size_t at = 0;

		if (call_text_next(rows[i].text, &at, &f))
			name = xstrndup(rows[i].text + f.name, f.name_end - f.name);
		if (!name != !rows[i].name || (name && strcmp(name, rows[i].name) != 0))
			fail_msg("%s: calls %s", rows[i].text, name ? name : "nothing");
		if (!name)
			continue;
		if (call_text_receiver(rows[i].text, &f))
			object = f.object < f.name ? xstrndup(rows[i].text + f.object, f.object_end - f.object)
						   : xstrdup("");
		if (!object != !rows[i].object || (object && strcmp(object, rows[i].object) != 0))
			fail_msg("%s: of %s", rows[i].text, object ? object : "something else");
	}
}

/* The object of a call is itself the result of one. */
static void test_objects_of_calls(void **state)
{
	static const char text[] = "find(1)->list (x).f()";
	struct call_text f;
	size_t at = 0;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_true(call_text_next(text, &at, &f));
	assert_true(call_text_receiver(text, &f));
	assert_int_equal(f.object, 0);
	assert_int_equal(f.object_end, strlen("find(1)->list (x)"));
	assert_false(call_text_last(text, &f));
}

/* Brackets around an object are no call. */
static void test_objects_in_brackets(void **state)
{
	static const char text[] = "((sp)._M_ptr)->id() < 4";
	struct call_text f;

	(void)state;
	assert_true(call_text_last(text, &f));
	assert_int_equal(f.object, 0);
	assert_int_equal(f.object_end, strlen("((sp)._M_ptr)"));
	assert_true(f.arrow);
	assert_true(call_text_last("((Left *)d)->left()", &f));
	assert_false(call_text_last("(find(1))->left()", &f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_first_call), cmocka_unit_test(test_objects_of_calls),
					   cmocka_unit_test(test_objects_in_brackets)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
