/* SPDX-License-Identifier: MIT */
/* test_policy.c: which checkpoints stay, when one is due, and CRIU's log lines. All pure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "ckpt/criu_log.h"
#include "ckpt/policy.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

static void test_victim_closest(void **state)
{
	const struct ckpt_point p[] = {{100}, {200}, {210}, {300}, {400}};

	/* Without 200 the gap is 110 (100 to 210); without 210 it is 100 (200 to 300). */
	assert_int_equal(ckpt_policy_victim(p, N(p), 500), 2);
}

static void test_victim_ends(void **state)
{
	const struct ckpt_point first[] = {{1}, {50}, {100}};
	const struct ckpt_point last[] = {{40}, {80}, {99}};

	assert_int_equal(ckpt_policy_victim(first, 3, 150), 0);
	assert_int_equal(ckpt_policy_victim(last, 3, 100), 2);
	/* Of an unknown total the last one stays. */
	assert_int_equal(ckpt_policy_victim(last, 3, 0), 1);
	assert_int_equal(ckpt_policy_victim(last, 1, 0), 0);
	assert_int_equal(ckpt_policy_victim(last, 0, 0), 0);
}

static void test_victim_keep(void **state)
{
	struct ckpt_point p[] = {{10, 1, true}, {11, 1, true}, {90}};

	assert_int_equal(ckpt_policy_victim(p, 3, 100), 2);
	p[2].keep = true;
	assert_int_equal(ckpt_policy_victim(p, 3, 100), 3);
}

static uint64_t widest_gap(const struct ckpt_point *p, const bool *drop, size_t n, uint64_t total)
{
	uint64_t before = 0, widest = 0;

	for (size_t i = 0; i <= n; i++) {
		uint64_t here = i < n ? p[i].event : total;

		if (i < n && drop[i])
			continue;
		if (here - before > widest)
			widest = here - before;
		before = here;
	}
	return widest;
}

static int by_event(const void *a, const void *b)
{
	const struct ckpt_point *x = a, *y = b;

	return x->event < y->event ? -1 : x->event > y->event;
}

/* Of random points, those that stay leave no gap much wider than an even spread would. */
static void test_thin_balanced(void **state)
{
	enum { POINTS = 400, LEFT = 20, TOTAL = 1000000 };
	struct ckpt_point p[POINTS];
	bool drop[POINTS];

	srand(1);
	for (int round = 0; round < 20; round++) {
		size_t left = 0;

		for (int i = 0; i < POINTS; i++)
			p[i] = (struct ckpt_point){.event = (uint64_t)rand() % TOTAL, .bytes = 1};
		qsort(p, POINTS, sizeof(*p), by_event);
		assert_int_equal(ckpt_policy_thin(p, POINTS, TOTAL, LEFT, 0, drop), POINTS - LEFT);
		for (int i = 0; i < POINTS; i++)
			left += !drop[i];
		assert_int_equal(left, LEFT);
		assert_true(widest_gap(p, drop, POINTS, TOTAL) <= 2.5 * TOTAL / (LEFT + 1));
	}
}

/* As a replay does it: one is added, one is dropped, over and over; the spread stays even. */
static void test_thin_growing(void **state)
{
	enum { LEFT = 16, STEPS = 5000 };
	struct ckpt_point p[LEFT + 1];
	bool drop[LEFT + 1];
	size_t n = 0;

	for (uint64_t event = 1; event <= STEPS; event++) {
		size_t kept = 0;

		p[n++] = (struct ckpt_point){.event = event};
		ckpt_policy_thin(p, n, 0, LEFT, 0, drop);
		assert_false(drop[n - 1] && n > 1);
		for (size_t i = 0; i < n; i++)
			if (!drop[i])
				p[kept++] = p[i];
		n = kept;
	}
	memset(drop, 0, sizeof(drop));
	assert_int_equal(n, LEFT);
	assert_int_equal(p[n - 1].event, STEPS);
	assert_true(widest_gap(p, drop, n, STEPS) <= 4 * STEPS / (LEFT + 1));
}

static void test_thin_bytes(void **state)
{
	const struct ckpt_point p[] = {{10, 50}, {20, 50}, {30, 50, true}, {40, 50}};
	bool drop[4];

	assert_int_equal(ckpt_policy_thin(p, 4, 50, 0, 200, drop), 0);
	assert_int_equal(ckpt_policy_thin(p, 4, 50, 0, 199, drop), 1);
	assert_int_equal(ckpt_policy_thin(p, 4, 50, 0, 1, drop), 3);
	assert_false(drop[2]);
	assert_int_equal(ckpt_policy_thin(p, 4, 50, 0, 0, drop), 0);
	assert_int_equal(ckpt_policy_thin(p, 0, 50, 1, 1, drop), 0);
}

static void test_log(void **state)
{
	static const char text[] = "(00.000010) Version: 4.2\n"
				   "(00.000100) Error (criu/util.c:1): rlimit: Can't setup "
				   "RLIMIT_NOFILE for self: Operation not permitted\n"
				   "(00.001000) Error (criu/a.c:1): first\n"
				   "(00.001000) Error (criu/a.c:1): first\n"
				   "(00.002000) Warn  (criu/b.c:2): not this\n"
				   "(00.003000) pie: 12: Error (criu/pie/c.c:3): second: x \n"
				   "(00.004000) Error (criu/d.c:4): third";
	char out[100];

	assert_int_equal(criu_log_errors(text, 3, out, sizeof(out)), 4);
	assert_string_equal(out, "first; second: x; third");
	assert_int_equal(criu_log_errors(text, 2, out, sizeof(out)), 4);
	assert_string_equal(out, "first; third");
	assert_int_equal(criu_log_errors(text, 1, out, sizeof(out)), 4);
	assert_string_equal(out, "third");
	criu_log_errors(text, 3, out, 10);
	assert_string_equal(out, "first; se");
	assert_int_equal(criu_log_errors("", 3, out, sizeof(out)), 0);
	assert_string_equal(out, "");
	assert_int_equal(criu_log_errors("Error (", 3, out, sizeof(out)), 1);
	assert_int_equal(criu_log_file_errors("/nonexistent", 3, out, sizeof(out)), 0);
	assert_string_equal(out, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_victim_closest), cmocka_unit_test(test_victim_ends),
		cmocka_unit_test(test_victim_keep),    cmocka_unit_test(test_thin_balanced),
		cmocka_unit_test(test_thin_growing),   cmocka_unit_test(test_thin_bytes),
			       cmocka_unit_test(test_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
