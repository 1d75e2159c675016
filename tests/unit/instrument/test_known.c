/* SPDX-License-Identifier: MIT */
/* test_known.c: what is known of sites is not used for other code at their addresses. */
#include "scenarios.h"

#include "rlog/replay.h"
#include "segcursor/segcursor_known.h"

#define AT(field) (REPLAY_KNOWN_ADDR + offsetof(struct replay_known, field))

static enum segcur_sort is(void *ctx, uint64_t pc)
{
	(void)pc;
	return *(enum segcur_sort *)ctx;
}

/* A copy makes its first site. */
static void makes(struct segcur_known *k, struct target *copy, uint64_t pc, enum segcur_sort sort)
{
	uint64_t v = 1;

	target_start(copy, scenario_store);
	assert_int_equal(segcur_known_map(k, &copy->t, GADGET, &(struct err){0}), 1);
	OK(trace_write(copy->pid, AT(sites), &v, sizeof(v), &e));
	OK(trace_write(copy->pid, AT(head), &pc, sizeof(pc), &e));
	OK(segcur_known_sort(k, &copy->t, ++k->sorted, is, &sort, &e));
}

static void forgotten(void **state)
{
	struct segcur_known k = {0};
	struct target copy;
	uint64_t stacks;

	(void)state;
	makes(&k, &copy, 1, SEGCUR_UNDECIDED_NEW);
	OK(trace_read(copy.pid, AT(stacks), &stacks, sizeof(stacks), &e));
	assert_int_equal(stacks, 1);
	target_stop(&copy);

	segcur_known_forget(&k);
	makes(&k, &copy, 2, SEGCUR_UNDECIDED);
	target_stop(&copy);

	target_start(&copy, scenario_store);
	assert_int_equal(segcur_known_map(&k, &copy.t, GADGET, &(struct err){0}), 1);
	OK(trace_read(copy.pid, AT(stacks), &stacks, sizeof(stacks), &e));
	assert_int_equal(stacks, 0);
	target_stop(&copy);
	segcur_known_fini(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(forgotten)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
