/* SPDX-License-Identifier: MIT */
/* test_cost.c: what a search costs: events run through, checkpoints kept, Table 1's numbers. */
#include "world.h"

/* Free checkpoints: the way to the right end once and the interval once more. */
static void interval_runs_twice_at_most(void **state)
{
	uint64_t seed = 4711;

	for (int round = 0; round < 2000; round++) {
		uint64_t n = 2 + world_random(&seed) % 1000000000000ull;
		struct search_params p = {.right = n};
		struct search_result r;
		struct world w;
		struct err e;

		world_init(&w, n);
		world_flip(&w, 1 + world_random(&seed) % n);
		w.restart_ns = 0;
		assert_int_equal(search_run(&world_ops, &w, &p, &r, &e), 0);
		assert_true(w.events_run <= 2 * n);
	}
}

/* With prices: time within twice the run, plus what the operations themselves cost. */
static void time_is_bounded(void **state)
{
	uint64_t seed = 815;

	for (int round = 0; round < 2000; round++) {
		uint64_t n = 2 + world_random(&seed) % 10000000000ull;
		uint64_t ck = 1 + world_random(&seed) % 20000000,
			 rs = world_random(&seed) % 20000000;
		struct search_params p = {.right = n, .checkpoint_cost_ns = ck};
		struct search_result r;
		struct search_costs t;
		struct world w;
		struct err e;

		world_init(&w, n);
		world_flip(&w, 1 + world_random(&seed) % n);
		w.ckpt_ns = ck;
		w.restart_ns = rs;
		w.eval_ns = 1000;
		assert_int_equal(search_run(&world_ops, &w, &p, &r, &e), 0);
		t = search_total(r.stage);
		assert_true(t.total_ns == w.now);
		assert_true(t.total_ns ==
			    t.run_ns + t.restart_ns + t.checkpoint_ns + t.evaluate_ns);
		/* all skipped checkpoints together cost no more than 35 taken ones */
		assert_true(w.now <= 2 * n + 35 * (ck + rs + 1000));
	}
}

static void dear_checkpoints_are_skipped(void **state)
{
	struct search_params p = {.right = 100000, .checkpoint_cost_ns = 1000000000};
	struct search_result r;
	struct world w;
	struct err e;

	world_init(&w, 100000);
	world_flip(&w, 99999);
	w.ckpt_ns = 1000000000;
	assert_int_equal(search_run(&world_ops, &w, &p, &r, &e), 0);
	assert_int_equal(search_total(r.stage).checkpoints, 0);
	/* every midpoint is good: the live process just goes on, without a restart */
	assert_int_equal(r.stage[SEARCH_C].restarts, 1);
	assert_true(r.stage[SEARCH_C].run_ns <= 100000);
}

/* The search drops each of its own checkpoints when the next one is taken. */
static void few_checkpoints_are_kept(void **state)
{
	struct search_params p = {.right = 1ull << 40};
	struct search_result r;
	struct world w;
	struct err e;

	world_init(&w, p.right);
	world_ckpt(&w, 12345);
	world_flip(&w, p.right);
	assert_int_equal(search_run(&world_ops, &w, &p, &r, &e), 0);
	assert_int_equal(search_total(r.stage).checkpoints, 40);
	assert_int_equal(w.dropped, 39);
	assert_true(w.ckpts_max <= 4);
	assert_int_equal(w.ckpt[1], 12345); /* not ours: stays */
}

/* Restarts to checkpoints ahead only when that is cheaper than running. */
static void jumps_ahead_only_when_cheaper(void **state)
{
	struct search_params p = {.right = 1000, .slack = 1};
	struct search_result r;
	struct world w;
	struct err e;

	world_init(&w, 1000);
	for (uint64_t c = 10; c < 1000; c += 10)
		world_ckpt(&w, c);
	world_flip(&w, 1000);
	w.restart_ns = 1000000;
	assert_int_equal(search_run(&world_ops, &w, &p, &r, &e), 0);
	assert_int_equal(r.left, 999);
	/* to the left end, from there near the right one (no rate is known yet), to the middle */
	assert_int_equal(search_total(r.stage).restarts, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interval_runs_twice_at_most),
		cmocka_unit_test(time_is_bounded),
		cmocka_unit_test(dear_checkpoints_are_skipped),
		cmocka_unit_test(few_checkpoints_are_kept),
		cmocka_unit_test(jumps_ahead_only_when_cheaper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
