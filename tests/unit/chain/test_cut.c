/* SPDX-License-Identifier: MIT */
/* test_cut.c: what is known of steps goes with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "chain/explain.h"

static void begin(struct explain *x)
{
	*x = (struct explain){
		.kept = 4, .emptied = 2, .overrun = {.steps = 5}, .returned = {.slot = 0x1000, .steps = 3}};
	for (unsigned i = 0; i < 5; i++)
		chain_add(&x->chain, &(struct step){.role = STEP_WRITE});
}

static void cut(void **state)
{
	struct explain x;

	(void)state;
	begin(&x);
	explain_cut(&x, 4);
	assert_int_equal(x.overrun.steps, 0);
	assert_int_equal(x.kept, 4);
	explain_cut(&x, 3);
	assert_int_equal(x.kept, 0);
	assert_int_equal(x.returned.slot, 0x1000);
	explain_cut(&x, 2);
	assert_int_equal(x.returned.slot, 0);
	assert_int_equal(x.emptied, 2);
	explain_cut(&x, 1);
	assert_int_equal(x.emptied, 0);
	assert_int_equal(x.chain.n, 1);
	chain_fini(&x.chain);
}

static void drop(void **state)
{
	struct explain x;

	(void)state;
	begin(&x);
	explain_drop(&x, 3); /* the step that `kept` means */
	assert_int_equal(x.kept, 0);
	assert_int_equal(x.emptied, 2);
	assert_int_equal(x.returned.steps, 3);
	assert_int_equal(x.overrun.steps, 4);
	explain_drop(&x, 0);
	assert_int_equal(x.emptied, 1);
	assert_int_equal(x.returned.steps, 2);
	assert_int_equal(x.overrun.steps, 3);
	assert_int_equal(x.chain.n, 3);
	chain_fini(&x.chain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(cut), cmocka_unit_test(drop)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
