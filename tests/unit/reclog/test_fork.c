/* SPDX-License-Identifier: MIT */
/* Timelines of forked processes, and positions on timelines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fdio.h"
#include "tlfix.h"

/* ---- forks ---- */

/*
 * Process 1 (threads 1 and 2) forks 2, 2 forks 3, 1 forks 4. named: 1's fork of 2 has its result
 * (else the parent was killed before it wrote that, and never forked 4).
 */
static void forks(struct recbuild *rb, bool named)
{
	struct logbuild a, b, c, d;

	tl_two_threads(rb, &a, &b);
	lb_add(&b, RLOG_UNLOCK, 150, 1, 0);
	lb_add(&a, RLOG_FORK, 160, 0, 0);
	if (named) {
		lb_add(&a, RLOG_FORKED, 0, 0, 2, 2001ul, 2ul);
		lb_add(&a, RLOG_FORK, 170, 0, 0);
		lb_add(&a, RLOG_FORKED, 0, 0, 2, 4001ul, 4ul);
		lb_add(&a, RLOG_EXIT, 500, 0, 0);
	}
	lb_add(&b, RLOG_UNLOCK, 165, 1, 0);
	rb_log(rb, 1, 1, &a);
	rb_log(rb, 1, 2, &b);
	rb_image(rb, 2, 1, RLOG_ORIGIN_FORK, 161);
	lb_init(&c, 2, 1, 161);
	lb_add(&c, RLOG_SYS, 180, 0, 2, 39ul, 0ul);
	lb_add(&c, RLOG_FORK, 190, 0, 0);
	lb_add(&c, RLOG_FORKED, 0, 0, 2, 3001ul, 3ul);
	lb_add(&c, RLOG_SYS, 400, 0, 2, 231ul, 0ul);
	rb_log(rb, 2, 1, &c);
	rb_image(rb, 3, 2, RLOG_ORIGIN_FORK, 191);
	lb_init(&d, 3, 1, 191);
	lb_add(&d, RLOG_SYS, 200, 0, 2, 231ul, 0ul);
	rb_log(rb, 3, 1, &d);
	lb_fini(&a);
	lb_fini(&b);
	lb_fini(&c);
	lb_fini(&d);
}

static void check_sched_file(struct timeline *tl, const char *path, uint64_t prefix_slots)
{
	struct buf b = {0};
	struct err e = {0};
	const struct replay_sched *s;
	uint64_t n, sum = 0;

	timeline_runs(tl, &n);
	assert_int_equal(timeline_write_sched(tl, path, &e), 0);
	assert_int_equal(read_file(path, &b, &e), 0);
	s = (const struct replay_sched *)b.data;
	assert_int_equal(b.len, sizeof(*s) + n * sizeof(s->slot[0]));
	assert_true(s->magic == RLOG_MAGIC_SCHED && s->version == RLOG_VERSION);
	assert_int_equal(s->process, timeline_process(tl));
	assert_int_equal(s->total, timeline_total(tl));
	assert_int_equal(s->prefix_total, timeline_prefix(tl));
	assert_int_equal(s->prefix_slots, prefix_slots);
	for (uint64_t i = 0; i < s->slots; i++) {
		if (i == s->prefix_slots)
			assert_int_equal(sum, s->prefix_total);
		sum += s->slot[i].count;
	}
	assert_int_equal(sum, s->total);
	buf_fini(&b);
}

static void test_fork_prefix(void **state)
{
	struct timeline_where w;
	struct recbuild rb;
	struct timeline *tl;
	struct rec *rec;
	struct err e = {0};

	forks(&rb, true);
	rec = tl_open(&rb);
	tl = tl_make(rec, 1, 0);
	tl_expect_runs(tl, "1*2 2*2 1*1 2*1 1*2");
	assert_int_equal(timeline_prefix(tl), 0);
	timeline_free(tl);
	for (unsigned variant = 0; variant < 3; variant++) {
		tl = tl_make(rec, 2, variant);
		tl_expect_runs(tl, "1*2 2*2 1*1 1*3");
		assert_int_equal(timeline_prefix(tl), 5);
		check_sched_file(tl, rb_path(&rb, "sched"), 3);
		timeline_free(tl);
	}
	tl = tl_make(rec, 3, 0);
	tl_expect_runs(tl, "1*2 2*2 1*1 1*2 1*1");
	assert_int_equal(timeline_prefix(tl), 7);
	check_sched_file(tl, rb_path(&rb, "sched"), 4);
	for (uint64_t n = 1; n <= 8; n++) {
		assert_int_equal(timeline_find(tl, n, &w, &e), 0);
		assert_int_equal(w.process, n <= 5 ? 1 : n <= 7 ? 2 : 3);
	}
	timeline_free(tl);
	rec_free(rec);
	rb_fini(&rb);
}

/* One look at the parent's log gives the same numbers as the timeline of each child; and a child's own events alone. */
static void test_forks_of_process(void **state)
{
	struct timeline_fork v[4];
	struct timeline_where w;
	struct recbuild rb;
	struct timeline *tl;
	struct rec *rec;
	struct err e = {0};
	unsigned n;

	forks(&rb, true);
	rec = tl_open(&rb);
	tl = tl_make(rec, 1, 0);
	assert_int_equal(timeline_forks(tl, 1, v), 1);
	assert_int_equal(n = timeline_forks(tl, 4, v), 2);
	timeline_free(tl);
	assert_true(v[0].child == 2 && v[0].number == 5 && v[1].child == 4);
	tl = tl_make(rec, 2, 0);
	assert_int_equal(timeline_forks(tl, 4, v), 1);
	assert_true(v[0].child == 3 && v[0].number == 7);
	timeline_free(tl);
	assert_int_equal(timeline_build_alone(rec, 2, 5, &tl, &e), 0);
	tl_expect_runs(tl, "1*3");
	assert_int_equal(timeline_prefix(tl), 5);
	assert_int_equal(timeline_total(tl), 8);
	assert_int_equal(timeline_forks(tl, 4, v), 1);
	assert_true(v[0].child == 3 && v[0].number == 7);
	assert_int_equal(timeline_find(tl, 7, &w, &e), 0);
	assert_true(w.process == 2 && w.index == 1);
	assert_int_equal(timeline_find(tl, 5, &w, &e), -1);
	timeline_free(tl);
	rec_free(rec);
	rb_fini(&rb);
}

static void test_fork_without_result(void **state)
{
	struct recbuild rb;
	struct timeline *tl;
	struct rec *rec;
	struct err e = {0};

	forks(&rb, false);
	rb_image(&rb, 4, 2, RLOG_ORIGIN_FORK, 999); /* no fork of 2 says 4 */
	rec = tl_open(&rb);
	tl = tl_make(rec, 2, 0);
	assert_int_equal(timeline_prefix(tl), 5);
	timeline_free(tl);
	assert_int_equal(timeline_build(rec, 4, NULL, &tl, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_non_null(strstr(e.text, "process 4 was forked by process 2"));
	rec_free(rec);
	rb_fini(&rb);
}

/* ---- positions ---- */

static uint64_t resolve(struct timeline *tl, const char *text)
{
	struct timeline_point p;
	struct pos pos;
	struct err e = {0};

	if (pos_parse(text, &pos, &e) || timeline_resolve(tl, &pos, &p, &e)) {
		assert_int_equal(e.kind, ERR_USAGE);
		return ~0ul;
	}
	return p.event;
}

static void test_positions(void **state)
{
	struct recbuild rb;
	struct rec *rec;
	struct timeline *tl;

	forks(&rb, true);
	rec = tl_open(&rb);
	tl = tl_make(rec, 1, 0); /* stamps 100 110 120 150 160 165 170 500, clock 1000 */
	assert_int_equal(resolve(tl, "start"), 1);
	assert_int_equal(resolve(tl, "0"), 1);
	assert_int_equal(resolve(tl, "end"), 8);
	assert_int_equal(resolve(tl, "8"), 8);
	assert_int_equal(resolve(tl, "9"), ~0ul);
	assert_int_equal(resolve(tl, "3/0x10#2"), 3);
	assert_int_equal(resolve(tl, "0%"), 1);
	assert_int_equal(resolve(tl, "100%"), 8);
	assert_int_equal(resolve(tl, "50%"), 5);
	assert_int_equal(resolve(tl, "@0"), 1);
	assert_int_equal(resolve(tl, "@0.0499"), 3);
	assert_int_equal(resolve(tl, "@0.05"), 4);
	assert_int_equal(resolve(tl, "@7"), 8);
	assert_int_equal(resolve(tl, "ckpt:3"), ~0ul);
	timeline_free(tl);
	tl = tl_make(rec, 2, 0);
	assert_int_equal(resolve(tl, "start"), 5);
	assert_int_equal(resolve(tl, "0%"), 5);
	timeline_free(tl);
	rec_free(rec);
	rb_fini(&rb);
}

static void test_no_clock(void **state)
{
	struct logbuild a;
	struct recbuild rb;
	struct rec *rec;
	struct timeline *tl;

	rb_init(&rb, 0);
	rb_image(&rb, 1, 0, RLOG_ORIGIN_EXEC, 1);
	lb_init(&a, 1, 1, 1);
	lb_add(&a, RLOG_START, 1, 0, 0);
	tl_add_log(&rb, 1, 1, &a);
	rec = tl_open(&rb);
	tl = tl_make(rec, 1, 0);
	assert_int_equal(resolve(tl, "@0"), ~0ul);
	assert_int_equal(resolve(tl, "end"), 1);
	timeline_free(tl);
	rec_free(rec);
	rb_fini(&rb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fork_prefix),
		cmocka_unit_test(test_forks_of_process),
		cmocka_unit_test(test_fork_without_result),
		cmocka_unit_test(test_positions),
		cmocka_unit_test(test_no_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
