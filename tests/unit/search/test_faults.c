/* SPDX-License-Identifier: MIT */
/* test_faults.c: a fault or a cancellation at every single op call comes out as that error, at
 * once. */
#include "world.h"
#include <string.h>

static void prepare(struct world *w, uint64_t flip)
{
	world_init(w, 5000);
	world_flip(w, flip);
	for (uint64_t c = 700; c < 5000; c += 700)
		world_ckpt(w, c);
	w->insns = 100;
	w->insn_at = 30;
	w->restart_ns = 10;
	w->ckpt_ns = 20;
}

static uint64_t calls_needed(uint64_t flip)
{
	struct search_params p = {.right = 5000, .slack = 1};
	struct search_result r;
	struct world w;
	struct err e;

	prepare(&w, flip);
	assert_int_equal(search_run(&world_ops_local, &w, &p, &r, &e), 0);
	assert_true(w.found);
	return w.calls;
}

static void fault_at_every_call(void **state)
{
	for (uint64_t flip = 1; flip <= 5000; flip += 333) {
		uint64_t calls = calls_needed(flip);

		assert_true(calls > 20);
		for (uint64_t call = 1; call <= calls; call++) {
			struct search_params p = {.right = 5000, .slack = 1};
			struct search_result r;
			struct world w;
			struct err e = {0};

			prepare(&w, flip);
			w.fail_call = call;
			assert_int_equal(search_run(&world_ops_local, &w, &p, &r, &e), -1);
			assert_int_equal(e.kind, ERR_HOST);
			assert_non_null(strstr(e.text, "injected fault"));
			assert_int_equal(w.calls, call); /* nothing after the fault */
		}
	}
}

static void cancel_at_every_call(void **state)
{
	uint64_t calls = calls_needed(3000);

	for (uint64_t call = 1; call < calls; call++) {
		struct search_params p = {.right = 5000, .slack = 1};
		struct search_result r;
		struct world w;
		struct err e = {0};

		prepare(&w, 3000);
		w.cancel_call = call;
		assert_int_equal(search_run(&world_ops_local, &w, &p, &r, &e), -1);
		assert_int_equal(e.kind, ERR_CANCELLED);
		assert_false(w.op_after_cancel);
		assert_true(w.calls <= call);
	}
}

static void declined_checkpoints(void **state)
{
	struct search_params p = {.right = 5000};
	struct search_result r;
	struct world w;
	struct err e;

	prepare(&w, 3000);
	w.decline = UINT64_MAX;
	assert_int_equal(search_run(&world_ops, &w, &p, &r, &e), 0);
	assert_int_equal(r.left, 2999);
	assert_int_equal(search_total(r.stage).checkpoints, 0);
}

/* An op that lies about where a restart stands must not be believed. */
static int lying_restart(void *ctx, uint64_t at_most, uint64_t *at, struct err *e)
{
	*at = at_most + 1;
	return 0;
}

static void restart_past_the_goal(void **state)
{
	struct search_ops ops = world_ops;
	struct search_params p = {.right = 5000};
	struct search_result r;
	struct world w;
	struct err e;

	prepare(&w, 3000);
	ops.restart = lying_restart;
	assert_int_equal(search_run(&ops, &w, &p, &r, &e), -1);
	assert_int_equal(e.kind, ERR_INTERNAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fault_at_every_call),
		cmocka_unit_test(cancel_at_every_call),
		cmocka_unit_test(declined_checkpoints),
		cmocka_unit_test(restart_past_the_goal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
