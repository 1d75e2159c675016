/* SPDX-License-Identifier: MIT */
/*
 * The start of what is left of a bounded recording: wherever it is, what follows is what followed before, by the same
 * numbers, also when the logs have lost what was before it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fdio.h"
#include "reclog/start.h"
#include "tlfix.h"

#define ROUNDS 100u /* more than READER_MARK_EVERY events of each thread */

/* Two threads that hand a lock to and fro, and one that begins late. */
static void build(struct recbuild *rb)
{
	struct logbuild a, b, c;
	uint64_t now = 200;

	tl_two_threads(rb, &a, &b);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct logbuild *l = i % 3 ? &a : &b;

		lb_add(l, RLOG_LOCK, 0, 0x11, 0);
		lb_add(l, RLOG_UNLOCK, now += 10, 0x11, 0);
		lb_add(l, RLOG_SYS, now += 10, 0, 3, 39ul, 1ul, 2ul);
		lb_add_v(l, RLOG_SYSRET, 0, 0, 1, (uint64_t[]){5}, "hello", 5);
	}
	lb_add(&a, RLOG_CREATE, now += 10, 0, 1, 3ul);
	lb_add(&a, RLOG_CREATED, 0, 0, 2, 0ul, 10ul);
	lb_init(&c, 1, 3, now + 5);
	lb_add(&c, RLOG_START, now += 10, 0, 0);
	lb_add(&c, RLOG_EXIT, now += 10, 0, 0);
	lb_add(&b, RLOG_EXIT, now += 10, 0, 0);
	lb_add(&a, RLOG_SYS, now += 10, 0, 3, 231ul, 0ul, 0ul);
	tl_add_log(rb, 1, 1, &a);
	tl_add_log(rb, 1, 2, &b);
	tl_add_log(rb, 1, 3, &c);
}

static void compare(struct timeline *whole, struct timeline *left, uint64_t first)
{
	struct timeline_event x, y;
	struct timeline_walk w;
	struct err e;

	assert_int_equal(timeline_base(left), first - 1);
	assert_int_equal(timeline_total(left), timeline_total(whole));
	assert_int_equal(timeline_walk_init(&w, left, first, &e), 0);
	for (uint64_t n = first; timeline_walk_next(&w, &y, &e) == 1; n++) {
		assert_int_equal(timeline_read(whole, n, &x, &e), 0);
		assert_int_equal(y.where.number, n);
		assert_int_equal(y.where.thread, x.where.thread);
		assert_int_equal(y.where.offset, x.where.offset);
		assert_int_equal(y.ev.stamp, x.ev.stamp);
		assert_int_equal(timeline_read(left, n, &y, &e), 0);
		assert_int_equal(y.where.offset, x.where.offset);
	}
	assert_int_equal(w.number, timeline_total(whole) + 1);
	timeline_walk_fini(&w);
	assert_int_equal(timeline_read(left, first - 1, &y, &e), -1);
	assert_non_null(strstr(e.text, first == 1 ? "there is no event 0" : "is gone"));
}

/* What was before its start is gone from each log. */
static void forget(struct recbuild *rb, const struct rec_start *s)
{
	static const uint8_t zero[65536];

	for (unsigned i = 0; i < s->nthreads; i++) {
		char name[32];
		int fd;

		snprintf(name, sizeof(name), "p0001/t%04u.log", s->threads[i].thread);
		fd = open(rb_path(rb, name), O_WRONLY);
		assert_true(s->threads[i].offset - sizeof(struct rlog_head) < sizeof(zero));
		assert_int_equal(pwrite_full(fd, zero, s->threads[i].offset - sizeof(struct rlog_head),
					     sizeof(struct rlog_head)),
				 0);
		close(fd);
	}
}

static void test_any_start(void **state)
{
	struct recbuild rb;
	struct timeline *whole;
	struct rec *rec;
	uint64_t total, before = UINT64_MAX;

	build(&rb);
	rec = tl_open(&rb);
	whole = tl_make(rec, 1, 0);
	total = timeline_total(whole);
	for (uint64_t n = 1; n <= total; n++) {
		struct rec_start s;
		struct timeline *left;
		struct rec *again;
		struct err e;
		uint64_t bytes;

		assert_int_equal(timeline_start_at(whole, n, &s, &bytes, &e), 0);
		assert_true(bytes <= before);
		before = bytes;
		s.root = s.checkpoint = 1;
		assert_int_equal(rec_start_write(rb_path(&rb, "p0001/start"), &s, &e), 0);
		if (n == total)
			forget(&rb, &s);
		again = tl_open(&rb);
		left = tl_make(again, 1, 0);
		if (n < total)
			compare(whole, left, n);
		assert_int_equal(timeline_total(left), total);
		/* a start of a start is that of the whole */
		free(s.threads);
		assert_int_equal(timeline_start_at(left, total, &s, &bytes, &e), 0);
		assert_int_equal(s.nthreads, 3);
		assert_true(n > 1 || (s.threads[2].over && s.threads[1].over && !s.threads[0].over));
		free(s.threads);
		timeline_free(left);
		rec_free(again);
	}
	timeline_free(whole);
	rec_free(rec);
	rb_fini(&rb);
}

/* Of a process that is gone as a whole nothing counts, whatever of its logs is still there. */
static void test_nothing_left(void **state)
{
	static const struct rec_start nothing;
	struct recbuild rb;
	struct rec *rec;
	struct err e;

	build(&rb);
	assert_int_equal(rec_start_write(rb_path(&rb, "p0001/start"), &nothing, &e), 0);
	rec = tl_open(&rb);
	assert_int_equal(rec->nimages, 1);
	assert_int_equal(rec->images[0].nthreads, 0);
	assert_null(rec->images[0].start);
	rec_free(rec);
	rb_fini(&rb);
}

static void test_damaged(void **state)
{
	static const char *const bad[] = {
		"", "[]", "{}",
		"{\"event\": 5, \"thread\": 1, \"root\": 1, \"checkpoint\": 1, \"threads\": []}",
		"{\"event\": 5, \"thread\": 1, \"root\": 1, \"checkpoint\": 1, \"threads\": [{\"thread\": 1, \"offset\": 3, "
		"\"stamp\": 1}]}",
		"{\"event\": 5, \"thread\": 9000, \"root\": 1, \"checkpoint\": 1, \"threads\": [{\"thread\": 9000, "
		"\"offset\": 64, \"stamp\": 1}]}",
	};
	struct recbuild rb;
	struct rec *rec;
	struct err e;

	build(&rb);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(write_file(rb_path(&rb, "p0001/start"), bad[i], strlen(bad[i]), 0600, &e), 0);
		assert_int_equal(rec_open(rb.dir, &rec, &e), -1);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_non_null(strstr(e.text, "p0001/start"));
	}
	rb_fini(&rb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_start),
		cmocka_unit_test(test_nothing_left),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
