/* SPDX-License-Identifier: MIT */
/* test_patience.c: calls that do not return end a search after a bounded time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "expr/patience.h"

/* Until it is an error: how long the calls took, in ms. */
static int endure(struct expr_patience *p, unsigned *calls)
{
	struct err e = {0};
	int ms = 0, r = 0;

	for (*calls = 0; !r; ++*calls) {
		int limit = patience_limit_ms(p, 0);

		ms += limit;
		r = patience_overrun(p, limit, "f(x) < 5", "the call of f did not return", &e);
	}
	assert_int_equal(e.kind, ERR_USAGE);
	return ms;
}

static void test_bound(void **state)
{
	static const struct {
		uint64_t longest_ns;
		unsigned most, least; /* ms, and calls */
	} rows[] = {{0, 13000, 30}, {1000000, 13000, 30}, {100000000, 13000, 9}, {3000000000u, 16000, 3}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct expr_patience *p = patience_new(), *other = patience_share(p);
		unsigned calls;

		patience_returned(p, rows[i].longest_ns);
		assert_in_range(endure(other, &calls), 4000, rows[i].most);
		assert_in_range(calls, rows[i].least, 40);
		patience_drop(p);
		patience_drop(other);
	}
}

/* What returned tells how long is too long; a guess costs little, and ends no search. */
static void test_limits(void **state)
{
	struct expr_patience *p = patience_new();
	int first = patience_limit_ms(p, 0);
	struct err e;

	(void)state;
	assert_int_equal(first, patience_limit_ms(NULL, 0));
	assert_int_equal(patience_limit_ms(p, 1000), 1000);
	for (int i = 0; i < 1000; i++)
		assert_false(patience_overrun(p, patience_limit_ms(p, 20), "f(x)", "", &e));
	assert_int_equal(patience_limit_ms(p, 0), first);
	assert_false(patience_overrun(p, first, "f(x)", "", &e));
	assert_true(patience_limit_ms(p, 0) < first / 10);
	patience_returned(p, 100000000);
	assert_int_equal(patience_limit_ms(p, 0), 1000);
	patience_drop(p);
	patience_drop(NULL);
}

/* Slow calls that return end a search, too, unless it was asked to go on; any number of quick ones does not. */
static void test_slow_calls(void **state)
{
	struct expr_patience *p = patience_new();
	struct err e = {0};
	int n = 0;

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_false(patience_took(p, 200000000, "f(x)", &e));
	while (!patience_took(p, 3000000000u, "f(x)", &e))
		n++;
	assert_in_range(n, 10, 19);
	assert_int_equal(e.kind, ERR_USAGE);
	patience_take_time(p);
	assert_false(patience_took(p, 3000000000u, "f(x)", &e));
	patience_drop(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_slow_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
