/* SPDX-License-Identifier: MIT */
/* test_next_segment.c: which segments a thread that is stepped has before it, on a timeline of two threads. */
#include "../base/test.h"

#include "../reclog/tlfix.h"
#include "timetravel/next_segment.h"

struct fixture {
	struct recbuild rb;
	struct rec *rec;
	struct timeline *tl;
	uint64_t total;
};

/* Events: 1 and 2 of thread 1; 3 of thread 2; 4 to 6 of thread 1, the last one in the middle of its program; 7 of 2, 8 of 1. */
static void make(struct fixture *f)
{
	struct logbuild a, b;

	tl_two_threads(&f->rb, &a, &b);
	lb_add(&a, RLOG_YIELD, 130, 0, 0);
	lb_add(&a, RLOG_YIELD, 140, 0, 0);
	lb_add_v(&a, RLOG_PREEMPT, 150, 0, 0, NULL, "place", 5);
	lb_add(&b, RLOG_YIELD, 160, 0, 0);
	lb_add(&a, RLOG_YIELD, 170, 0, 0);
	f->rec = tl_write_two(&f->rb, &a, &b);
	f->tl = tl_make(f->rec, 1, 0);
	f->total = timeline_total(f->tl);
}

static void end(struct fixture *f)
{
	timeline_free(f->tl);
	rec_free(f->rec);
	rb_fini(&f->rb);
}

static void expect(struct fixture *f, struct next_segment *a, uint32_t who, uint64_t from, uint64_t n, bool soft, uint64_t upto)
{
	struct err e;

	assert_int_equal(next_segment_find(a, f->tl, f->total, who, from, &e), 0);
	assert_int_equal(a->n, n);
	assert_int_equal(a->soft, soft);
	if (!soft)
		assert_int_equal(a->end, upto);
}

static void two_threads(void **state)
{
	struct next_segment a = {0};
	struct fixture f;

	make(&f);
	assert_int_equal(f.total, 8);
	expect(&f, &a, 1, 0, 0, false, 2);
	expect(&f, &a, 1, 1, 1, false, 2);
	expect(&f, &a, 1, 2, 3, false, 5);
	expect(&f, &a, 1, 4, 4, false, 5);
	expect(&f, &a, 1, 3, 3, false, 5);
	expect(&f, &a, 1, 4, 4, false, 5);
	expect(&f, &a, 1, 5, 5, true, 0);
	expect(&f, &a, 1, 6, 7, false, 8);
	expect(&f, &a, 1, 8, 8, false, 8);
	expect(&f, &a, 2, 0, 2, false, 3);
	expect(&f, &a, 2, 3, 6, false, 7);
	expect(&f, &a, 2, 7, 8, false, 8);
	/* back again, and another one */
	expect(&f, &a, 2, 1, 2, false, 3);
	expect(&f, &a, 1, 1, 1, false, 2);
	end(&f);
}

/* A live program goes on: what was the last event is not any more. */
static void the_end_moves(void **state)
{
	struct next_segment a = {0};
	struct fixture f;

	make(&f);
	f.total = 6;
	expect(&f, &a, 2, 3, 6, false, 6);
	f.total = 8;
	expect(&f, &a, 2, 3, 6, false, 7);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_threads),
		cmocka_unit_test(the_end_moves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
