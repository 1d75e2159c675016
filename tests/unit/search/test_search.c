/* SPDX-License-Identifier: MIT */
/* test_search.c: what the search finds on made-up timelines of up to 10^15 events. */
#include "search/bisect.h"
#include "world.h"
#include <string.h>

#define HUGE_TOTAL 1000000000000000ull

static struct search_params all(const struct world *w)
{
	return (struct search_params){.right = w->total};
}

static void check_found(const struct world *w, const struct search_params *p,
			const struct search_result *r)
{
	uint64_t n = search_total(r->stage).evaluations - r->stage[SEARCH_D].evaluations;

	assert_int_equal(r->outcome, SEARCH_FOUND);
	assert_int_equal(r->right, r->left + 1);
	assert_true(r->left >= p->left && r->right <= p->right);
	assert_true(world_is_transition(w, p->left, r->left));
	assert_true(n <= bisect_log2_ceil(p->right - p->left) + 2 + p->slack);
	for (int s = SEARCH_A; s <= SEARCH_C; s++)
		assert_true(r->stage[s].evaluations <= bisect_log2_ceil(r->stage[s].states) + p->slack);
}

static void one_flip_everywhere(void **state)
{
	for (uint64_t total = 1; total <= 70; total++) {
		for (uint64_t at = 1; at <= total; at++) {
			struct world w;
			struct search_result r;
			struct search_params p;
			struct err e;

			world_init(&w, total);
			world_flip(&w, at);
			p = all(&w);
			assert_int_equal(search_run(&world_ops, &w, &p, &r, &e), 0);
			check_found(&w, &p, &r);
			assert_int_equal(r.right, at);
			assert_false(w.found);
		}
	}
}

/* Odd numbers of flips, checkpoints anywhere, any slack, any interval, any ops. */
static void random_timelines(void **state)
{
	const struct search_ops *ops[] = {&world_ops, &world_ops_weight, &world_ops_bare};
	uint64_t seed = 99;

	for (int round = 0; round < 6000; round++) {
		uint64_t n = 20 + world_random(&seed) % HUGE_TOTAL, flip = 0, cuts[32];
		struct world w;
		struct search_result r;
		struct search_params p;
		struct err e;
		unsigned flips = 1 + 2 * (world_random(&seed) % 7);

		if (round % 3 == 0)
			n = 20 + n % 2000;
		world_init(&w, n);
		p = all(&w);
		p.left = world_random(&seed) % 3 ? 0 : world_random(&seed) % 5;
		p.slack = world_random(&seed) % 3;
		flip = p.left;
		for (unsigned i = 0; i < flips; i++) {
			flip += 1 + world_random(&seed) % ((n - flip) / (flips - i) / 2 + 1);
			world_flip(&w, flip);
		}
		assert_true(flip <= n);
		for (unsigned i = world_random(&seed) % 40; i; i--) {
			uint64_t c = 1 + world_random(&seed) % n, near;

			if (!world_ops.ckpt_before(&w, c, &near) || near != c)
				world_ckpt(&w, c);
		}
		memcpy(cuts, w.ckpt, sizeof(cuts));
		p.cuts = cuts;
		p.cuts_n = w.ckpts < 32 ? w.ckpts : 32;
		w.restart_ns = world_random(&seed) % 1000000;
		w.ckpt_ns = world_random(&seed) % 1000000;
		assert_int_equal(search_run(ops[round % 3], &w, &p, &r, &e), 0);
		check_found(&w, &p, &r);
	}
}

/* FReD 3.2: either truth value may be the good one. */
static void both_polarities(void **state)
{
	struct world w;
	struct search_result r;
	struct search_params p;
	struct err e;

	world_init(&w, 1000);
	world_flip(&w, 10);
	world_flip(&w, 700);
	p = (struct search_params){.left = 100, .right = 1000};
	assert_int_equal(search_run(&world_ops, &w, &p, &r, &e), 0);
	assert_int_equal(r.left_value, SEARCH_FALSE);
	assert_int_equal(r.right_value, SEARCH_TRUE);
	assert_int_equal(r.left, 699);
}

static void equal_ends(void **state)
{
	struct world w;
	struct search_result r;
	struct search_params p;
	struct err e;

	world_init(&w, 1000);
	world_flip(&w, 10);
	world_flip(&w, 700);
	p = all(&w);
	assert_int_equal(search_run(&world_ops, &w, &p, &r, &e), 0);
	assert_int_equal(r.outcome, SEARCH_EQUAL);
	assert_int_equal(search_total(r.stage).evaluations, 2);
	assert_int_equal(r.left_value, SEARCH_TRUE);
	assert_int_equal(r.right_value, SEARCH_TRUE);
}

static void bad_interval(void **state)
{
	struct world w;
	struct search_result r;
	struct search_params p = {.left = 5, .right = 5};
	struct err e;

	world_init(&w, 1000);
	assert_int_equal(search_run(&world_ops, &w, &p, &r, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_int_equal(w.calls, 0);
}

static int with_errors(enum search_on_error policy, uint64_t from, uint64_t to, struct world *w,
		       struct search_result *r, struct err *e)
{
	struct search_params p = {.right = 1000, .on_error = policy};

	world_init(w, 1000);
	world_flip(w, 600);
	w->error_from = from;
	w->error_to = to;
	return search_run(&world_ops, w, &p, r, e);
}

static void evaluation_errors(void **state)
{
	struct world w;
	struct search_result r;
	struct err e;

	/* not yet evaluable at the start counts as good */
	assert_int_equal(with_errors(SEARCH_ON_ERROR_GOOD, 0, 300, &w, &r, &e), 0);
	assert_int_equal(r.outcome, SEARCH_FOUND);
	assert_int_equal(r.left, 599);
	assert_int_equal(r.left_value, SEARCH_ERROR);
	/* up to the bad region: the first evaluable position is the transition */
	assert_int_equal(with_errors(SEARCH_ON_ERROR_GOOD, 0, 800, &w, &r, &e), 0);
	assert_int_equal(r.right, 800);
	/* errors at the right end count as good: the same as the left end */
	assert_int_equal(with_errors(SEARCH_ON_ERROR_GOOD, 900, 1001, &w, &r, &e), 0);
	assert_int_equal(r.outcome, SEARCH_EQUAL);
	assert_int_equal(r.right_value, SEARCH_ERROR);

	assert_int_equal(with_errors(SEARCH_ON_ERROR_BAD, 400, 1001, &w, &r, &e), 0);
	assert_int_equal(r.outcome, SEARCH_FOUND);
	assert_int_equal(r.right, 400);
	assert_int_equal(with_errors(SEARCH_ON_ERROR_BAD, 0, 300, &w, &r, &e), 0);
	assert_int_equal(r.outcome, SEARCH_EQUAL);

	assert_int_equal(with_errors(SEARCH_ON_ERROR_FAIL, 450, 550, &w, &r, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_non_null(strstr(e.text, "cannot be evaluated at event 500"));
	assert_int_equal(with_errors(SEARCH_ON_ERROR_FAIL, 100, 110, &w, &r, &e), 0);
	assert_int_equal(r.left, 599);
}

/* With several transitions, the one that is found does not depend on the checkpoints that there are. */
static void checkpoints_do_not_matter(void **state)
{
	const uint64_t cuts[] = {2500, 5000, 7500};
	struct search_params p = {.right = 10000, .slack = 2, .cuts = cuts, .cuts_n = 3};
	uint64_t seed = 42, first = 0;

	for (unsigned round = 0; round < 100; round++) {
		struct search_result r;
		struct world w;
		struct err e;

		world_init(&w, 10000);
		for (uint64_t at = 900; at < 10000; at += 700)
			world_flip(&w, at);
		for (unsigned i = 0; i < 10 * (round % 5); i++)
			world_ckpt(&w, 1 + 200 * i + world_random(&seed) % 200);
		w.restart_ns = world_random(&seed) % 10000;
		w.ckpt_ns = world_random(&seed) % 10000;
		assert_int_equal(search_run(&world_ops, &w, &p, &r, &e), 0);
		check_found(&w, &p, &r);
		first = round ? first : r.left;
		assert_int_equal(r.left, first);
	}
}

/* Evenly spaced checkpoints at all cuts, slack 1: A ends at two neighbours and C works between them only. */
static void stage_a_finds_neighbours(void **state)
{
	struct world w;
	struct search_result r;
	uint64_t cuts[63];
	struct search_params p = {.right = 65536, .slack = 1, .cuts = cuts};
	struct err e;

	world_init(&w, 65536);
	for (uint64_t c = 1024; c < 65536; c += 1024) {
		world_ckpt(&w, c);
		cuts[p.cuts_n++] = c;
	}
	world_flip(&w, 40000);
	assert_int_equal(search_run(&world_ops, &w, &p, &r, &e), 0);
	check_found(&w, &p, &r);
	assert_int_equal(r.stage[SEARCH_A].evaluations, 6);
	assert_int_equal(r.stage[SEARCH_A].checkpoints, 0);
	assert_int_equal(r.stage[SEARCH_A].run_ns, 0);
	assert_int_equal(r.stage[SEARCH_C].evaluations, 10);
	assert_true(r.stage[SEARCH_C].run_ns <= 1024);
}

static void stage_d_finds(void **state)
{
	for (uint64_t insns = 1; insns < 200; insns++) {
		struct world w;
		struct search_result r;
		struct search_params p = {.right = 100};
		struct err e;

		world_init(&w, 100);
		world_flip(&w, 34);
		w.insns = insns;
		w.insn_at = insns * 7 / 10;
		assert_int_equal(search_run(&world_ops_local, &w, &p, &r, &e), 0);
		check_found(&w, &p, &r);
		assert_true(w.found);
		assert_int_equal(w.found_at, w.insn_at);
		assert_int_equal(r.stage[SEARCH_D].evaluations, w.insn_at + 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_flip_everywhere),
		cmocka_unit_test(random_timelines),
		cmocka_unit_test(both_polarities),
		cmocka_unit_test(equal_ends),
		cmocka_unit_test(bad_interval),
		cmocka_unit_test(evaluation_errors),
		cmocka_unit_test(checkpoints_do_not_matter),
		cmocka_unit_test(stage_a_finds_neighbours),
		cmocka_unit_test(stage_d_finds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
