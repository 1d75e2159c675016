/* SPDX-License-Identifier: MIT */
/* test_bisect.c: the window of midpoints, and the bound under the worst answers. */
#include "search/bisect.h"
#include "world.h"

static void log2_ceil(void **state)
{
	assert_int_equal(bisect_log2_ceil(1), 0);
	assert_int_equal(bisect_log2_ceil(2), 1);
	assert_int_equal(bisect_log2_ceil(3), 2);
	assert_int_equal(bisect_log2_ceil(4), 2);
	assert_int_equal(bisect_log2_ceil(5), 3);
	assert_int_equal(bisect_log2_ceil(1000000000000000ull), 50);
	assert_int_equal(bisect_log2_ceil(1ull << 63), 63);
	assert_int_equal(bisect_log2_ceil(UINT64_MAX), 64);
}

static void window_contains_middle(void **state)
{
	for (uint64_t n = 2; n < 300; n++) {
		for (unsigned slack = 0; slack < 3; slack++) {
			struct bisect b;
			uint64_t first, last, mid;

			bisect_init(&b, 1000, 1000 + n, slack);
			bisect_window(&b, &first, &last);
			mid = bisect_middle(&b);
			assert_in_range(mid, first, last);
			assert_true(first > b.left && last < b.right);
		}
	}
}

/* Any allowed midpoint and any answer: never more evaluations than promised. */
static void bound_holds(void **state)
{
	uint64_t seed = 12345;

	for (int round = 0; round < 20000; round++) {
		uint64_t n = 1 + world_random(&seed) % (1ull << (world_random(&seed) % 63));
		unsigned slack = world_random(&seed) % 3, used = 0;
		unsigned mode = world_random(&seed) % 3;
		struct bisect b;

		bisect_init(&b, 0, n, slack);
		while (!bisect_done(&b)) {
			uint64_t first, last, at;
			bool bad;

			bisect_window(&b, &first, &last);
			at = first + world_random(&seed) % (last - first + 1);
			/* adversary: the larger half stays */
			bad = mode == 0 ? at - b.left > b.right - at : world_random(&seed) & 1;
			bisect_put(&b, at, bad);
			used++;
		}
		assert_true(used <= bisect_log2_ceil(n) + slack);
	}
}

static void clamp_limits(void **state)
{
	struct bisect b;

	bisect_init(&b, 0, 1024, 0);
	assert_int_equal(bisect_clamp(&b, 3), 512);
	assert_int_equal(bisect_clamp(&b, 1023), 512);
	bisect_init(&b, 0, 1024, 1);
	assert_int_equal(bisect_clamp(&b, 3), 3);
	assert_int_equal(bisect_clamp(&b, 0), 1);
	assert_int_equal(bisect_clamp(&b, 1024), 1023);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(log2_ceil),
		cmocka_unit_test(window_contains_middle),
		cmocka_unit_test(bound_holds),
		cmocka_unit_test(clamp_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
