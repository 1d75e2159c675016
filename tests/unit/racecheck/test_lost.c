/* SPDX-License-Identifier: MIT */
/* test_lost.c: what is said of accesses after entries of the report were lost: no race, and no position that is not
 * certain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "racecheck/racecheck.h"

static const uint8_t code[INSN_BYTES] = {0x89, 0x08}; /* mov %ecx, (%rax) */
static uint32_t word;

struct world {
	struct rec rec;
	struct racecheck r;
	struct trace t;
};

static void begin(struct world *w)
{
	*w = (struct world){.t.pid = getpid()};
	racecheck_init(&w->r, &w->rec, NULL);
	w->r.many = true;
}

static void writes(struct world *w, uint32_t thread)
{
	const uint64_t v[] = {(uint64_t)REPORT_ACCESS << REPORT_KIND_SHIFT | (uint64_t)(uintptr_t)code,
			      (uint64_t)(uintptr_t)&word};
	struct instrument *i = &w->r.i;
	struct err e;

	i->thread = thread;
	i->stack = &i->stacks[thread];
	i->between = false;
	i->t = &w->t;
	assert_int_equal(i->report.ops->entries(i, v, 2, &w->t, &e), 0);
}

static void nothing_lost(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	writes(&w, 1);
	writes(&w, 2);
	assert_int_equal(w.r.n, 1);
	assert_int_equal(w.r.v[0].earlier.at.hits, 1);
	assert_int_equal(w.r.v[0].later.at.hits, 2);
	racecheck_fini(&w.r);
}

/* Where accesses that are known are left out, an entry has the hits. */
static void passes(void **state)
{
	const uint64_t v[] = {(uint64_t)REPORT_PASS << REPORT_KIND_SHIFT | (uint64_t)(uintptr_t)code,
			      (uint64_t)(uintptr_t)&word, 5, 0};
	struct world w;
	struct err e;

	(void)state;
	begin(&w);
	writes(&w, 2); /* the instruction is known */
	w.r.i.thread = 1;
	w.r.i.stack = &w.r.i.stacks[1];
	assert_int_equal(w.r.i.report.ops->entries(&w.r.i, v, 3, &w.t, &e), 0);
	writes(&w, 2);
	assert_true(w.r.n > 0);
	assert_int_equal(w.r.v[0].later.at.hits, 5);
	racecheck_fini(&w.r);
}

/* What orders the two may be among what was lost. */
static void lost_between(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	writes(&w, 1);
	w.r.i.report.lost++;
	writes(&w, 2);
	assert_int_equal(w.r.n, 0);
	racecheck_fini(&w.r);
}

static void forgotten(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	writes(&w, 1);
	detect_renew_all(&w.r.detect);
	writes(&w, 2);
	assert_int_equal(w.r.n, 0);
	writes(&w, 1);
	assert_int_equal(w.r.n, 1);
	racecheck_fini(&w.r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_lost), cmocka_unit_test(passes),
					   cmocka_unit_test(lost_between), cmocka_unit_test(forgotten)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
