/* SPDX-License-Identifier: MIT */
/* test_search.c: stage B on histories: the single step in which the expression turns. */
#include "program.h"
#include <string.h>

static struct program p;

static void history(struct hist *h, uint64_t *seed)
{
	struct err e;

	hist_init(h);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(
			hist_append(h, HIST_CONTINUE, 1 + program_random_number(seed) % 3, &e), 0);
		assert_int_equal(hist_append(h, HIST_NEXT, 1 + program_random_number(seed) % 5, &e),
				 0);
		assert_int_equal(hist_append(h, HIST_STEP, 1 + program_random_number(seed) % 5, &e),
				 0);
	}
}

/* The transition lies inside one step: good before, bad behind. */
static void finds_a_step(void **state)
{
	uint64_t seed = 2024;
	int found = 0;

	for (int round = 0; round < 2000; round++) {
		struct hist_search_result r;
		uint64_t end, flips, at = 0;
		struct hist h;
		struct err e;

		program_random(&p, 2000 + program_random_number(&seed) % 5000, &seed);
		history(&h, &seed);
		end = program_end(&p, &h);
		flips = 1 + 2 * (program_random_number(&seed) % 4);
		for (uint64_t f = 0; f < flips; f++) {
			at += 1 + program_random_number(&seed) % (end / flips - 1);
			for (uint64_t i = at; i <= p.n; i++)
				p.bad[i] = !p.bad[i];
		}
		assert_int_equal(
			hist_search(&program_search_ops, &p, &h, SEARCH_ON_ERROR_FAIL, &r, &e), 0);
		assert_int_equal(r.outcome, SEARCH_FOUND);
		at = program_end(&p, &r.good);
		assert_false(p.bad[at]);
		assert_true(p.bad[program_after(&p, at, r.last)]);
		assert_true(r.last == HIST_STEP || r.last == HIST_STEPI);
		assert_true(r.evaluations < 2 + 6 + 40);
		found++;
		hist_search_result_fini(&r);
		hist_fini(&h);
	}
	assert_int_equal(found, 2000);
}

static void equal_and_empty(void **state)
{
	struct hist_search_result r;
	uint64_t seed = 3;
	struct hist h;
	struct err e;

	program_random(&p, 3000, &seed);
	history(&h, &seed);
	assert_int_equal(hist_search(&program_search_ops, &p, &h, SEARCH_ON_ERROR_GOOD, &r, &e), 0);
	assert_int_equal(r.outcome, SEARCH_EQUAL);
	assert_int_equal(r.evaluations, 2);
	hist_search_result_fini(&r);
	hist_truncate(&h, 0);
	assert_int_equal(hist_search(&program_search_ops, &p, &h, SEARCH_ON_ERROR_GOOD, &r, &e),
			 -1);
	assert_int_equal(e.kind, ERR_USAGE);
	hist_search_result_fini(&r);
	hist_fini(&h);
}

static void faults(void **state)
{
	uint64_t seed = 5, calls, keep;
	struct hist_search_result r;
	struct hist h;
	struct err e;

	program_random(&p, 3000, &seed);
	keep = seed;
	history(&h, &seed);
	for (uint64_t i = program_end(&p, &h) / 2; i <= p.n; i++)
		p.bad[i] = true;
	assert_int_equal(hist_search(&program_search_ops, &p, &h, SEARCH_ON_ERROR_GOOD, &r, &e), 0);
	calls = p.calls;
	hist_search_result_fini(&r);
	assert_true(calls > 50 && keep);
	for (uint64_t at = 1; at <= calls; at++) {
		p.calls = 0;
		p.fail_call = at;
		p.base = 0;
		assert_int_equal(
			hist_search(&program_search_ops, &p, &h, SEARCH_ON_ERROR_GOOD, &r, &e), -1);
		assert_int_equal(e.kind, ERR_HOST);
		assert_int_equal(p.calls, at);
		hist_search_result_fini(&r);
	}
	hist_fini(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_a_step),
		cmocka_unit_test(equal_and_empty),
		cmocka_unit_test(faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
