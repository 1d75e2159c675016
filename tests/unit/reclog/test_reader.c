/* SPDX-License-Identifier: MIT */
/* Reading a thread's log: pairs, stamps, marks; every truncation and every flipped byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "describe/describe.h"
#include "logbuild.h"
#include "reclog/reader.h"

/* One record of most kinds, with operands of many lengths. */
static void build(struct logbuild *lb)
{
	lb_init(lb, 1, 1, 1000);
	lb_add(lb, RLOG_START, 1000, 0, 0);
	lb_add(lb, RLOG_SYS, 1300, 0, 5, 0ul, 3ul, 0x7ffff7dd1000ul, 4096ul, 77ul);
	lb_add_v(lb, RLOG_SYSRET, 0, 0, 1, (uint64_t[]){5}, "hello", 5);
	lb_add(lb, RLOG_LOCK, 0, 0x3f, 0);
	lb_add(lb, RLOG_COND_WAIT, 1400, 0x40, 0);
	lb_add(lb, RLOG_COND_WOKE, 0, 0, 1, 0ul);
	lb_add(lb, RLOG_UNLOCK, 20000000000ul, 0x3f, 0);
	lb_add(lb, RLOG_CREATE, 20000000001ul, 0, 1, 2ul);
	lb_add(lb, RLOG_CREATED, 0, 0, 2, 0ul, 1002ul);
	lb_add(lb, RLOG_SYS, 20000000001ul, 0, 3, 39ul, -5ul, 1ul);
	lb_add_v(lb, RLOG_SYSRET, 0, 0, 1, (uint64_t[]){-11ul}, "", 0);
	lb_add(lb, RLOG_FORK, 20000000100ul, 0, 0);
	lb_add(lb, RLOG_FORKED, 0, 0, 2, 4242ul, 2ul);
	lb_add(lb, RLOG_CRASH, 20000000200ul, 0, 4, 11ul, 1ul, 0ul, 0x401136ul);
}

#define EVENTS 9

static void test_pairs(void **state)
{
	static const uint8_t kinds[EVENTS] = {RLOG_START,  RLOG_SYS, RLOG_LOCK, RLOG_COND_WAIT, RLOG_UNLOCK,
					      RLOG_CREATE, RLOG_SYS, RLOG_FORK, RLOG_CRASH};
	static const bool has[EVENTS] = {false, true, false, true, false, true, true, true, false};
	struct logbuild lb;
	struct reader r;
	struct reader_event ev;
	struct reader_iter it;
	struct err e;
	uint64_t bytes = sizeof(struct rlog_head);

	build(&lb);
	assert_int_equal(reader_init_mem(&r, "log", lb.b.data, lb.b.len, &e), 0);
	it = reader_begin(&r);
	for (unsigned i = 0; i < EVENTS; i++) {
		assert_int_equal(reader_next(&it, &ev), RLOG_READ_OK);
		assert_int_equal(ev.rec.kind, kinds[i]);
		assert_int_equal(ev.has_result, has[i]);
		assert_int_equal(ev.index, i);
		assert_int_equal(ev.offset, bytes);
		bytes += ev.bytes;
		if (i == 1) {
			assert_int_equal(ev.stamp, 1300);
			assert_int_equal(ev.result.payload_len, 5);
			assert_memory_equal(ev.result.payload, "hello", 5);
		}
		if (i == 2)
			assert_int_equal(ev.stamp, 1300);
		if (i == 6)
			assert_int_equal((int64_t)ev.result.op[0], -11);
	}
	assert_int_equal(bytes, lb.b.len);
	assert_int_equal(ev.stamp, 20000000200ul);
	assert_int_equal(reader_next(&it, &ev), RLOG_READ_END);
	reader_fini(&r);
	lb_fini(&lb);
}

/*
 * A handler's events may stand between a call and its result, and another handler's between one of those
 * and its own. The last call here never returned.
 */
static void test_interrupted(void **state)
{
	static const int results[] = {-4, 0, -11, 0, 7, 0};
	static const bool has[] = {true, false, true, false, true, false};
	struct logbuild lb;
	struct reader r;
	struct reader_event ev;
	struct reader_iter it;
	struct err e;

	lb_init(&lb, 1, 1, 0);
	lb_add(&lb, RLOG_SYS, 5, 0, 2, 34ul, 0ul); /* interrupted by ... */
	lb_add_v(&lb, RLOG_SIGNAL, 6, 0, 1, (uint64_t[]){10}, "x", 1);
	lb_add(&lb, RLOG_SYS, 7, 0, 2, 35ul, 0ul); /* ... whose handler's call is interrupted by ... */
	lb_add_v(&lb, RLOG_SIGNAL, 8, 0, 1, (uint64_t[]){12}, "x", 1);
	lb_add(&lb, RLOG_SYS, 9, 0, 2, 39ul, 0ul); /* ... and this one is not */
	lb_add_v(&lb, RLOG_SYSRET, 0, 0, 1, (uint64_t[]){7}, "", 0);
	lb_add_v(&lb, RLOG_SYSRET, 0, 0, 1, (uint64_t[]){-11ul}, "", 0);
	lb_add_v(&lb, RLOG_SYSRET, 0, 0, 1, (uint64_t[]){-4ul}, "", 0);
	lb_add(&lb, RLOG_SYS, 10, 0, 2, 34ul, 0ul);
	lb_add_v(&lb, RLOG_SIGNAL, 11, 0, 1, (uint64_t[]){10}, "x", 1);
	lb_add(&lb, RLOG_EXIT, 12, 0, 0);
	assert_int_equal(reader_init_mem(&r, "log", lb.b.data, lb.b.len, &e), 0);
	it = reader_begin(&r);
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(reader_next(&it, &ev), RLOG_READ_OK);
		assert_int_equal(ev.index, i);
		assert_int_equal(ev.has_result, has[i]);
		if (has[i])
			assert_int_equal((int64_t)ev.result.op[0], results[i]);
	}
	assert_int_equal(ev.rec.kind, RLOG_SYS);
	assert_int_equal(reader_next(&it, &ev), RLOG_READ_OK);
	assert_int_equal(reader_next(&it, &ev), RLOG_READ_OK);
	assert_int_equal(ev.rec.kind, RLOG_EXIT);
	reader_fini(&r);
	lb_fini(&lb);
}

static void test_slots(void **state)
{
	static const unsigned sizes[] = {1, 1, 2, 1, 1, 1, 1, 1};
	struct logbuild lb;
	struct reader r;
	struct reader_marks marks = {0};
	struct reader_slot slot;
	struct reader_iter it;
	struct err e;

	build(&lb);
	lb_add(&lb, RLOG_LOCK, 0, 1, 0);
	assert_int_equal(reader_init_mem(&r, "log", lb.b.data, lb.b.len, &e), 0);
	it = reader_begin(&r);
	for (unsigned i = 0; i < 8; i++) {
		assert_int_equal(reader_next_slot(&it, &slot, &marks), RLOG_READ_OK);
		assert_int_equal(slot.events, sizes[i]);
		assert_int_equal(slot.last, i == 7);
	}
	assert_int_equal(it.stamp, 20000000200ul);
	assert_int_equal(reader_next_slot(&it, &slot, &marks), RLOG_READ_END);
	assert_int_equal(slot.events, 1);
	assert_false(slot.stamped);
	assert_int_equal(marks.n, 1);
	assert_int_equal(marks.mark[0].offset, sizeof(struct rlog_head));
	free(marks.mark);
	reader_fini(&r);
	lb_fini(&lb);
}

/* Reads all of it in each way; returns the number of events before the end or the damage. */
static unsigned read_all(const void *data, size_t len, bool lenient, enum rlog_read *end)
{
	struct reader r;
	struct reader_event ev;
	struct reader_slot slot;
	struct reader_iter it, by_slot;
	enum rlog_read got, by_slots;
	struct rlog_rec rec;
	struct buf text = {0};
	struct err e = {0};
	unsigned n = 0;

	*end = RLOG_READ_BAD;
	if (reader_init_mem(&r, "log", data, len, &e)) {
		assert_int_equal(e.kind, ERR_USAGE);
		return 0;
	}
	r.lenient = lenient;
	it = reader_begin(&r);
	while ((*end = reader_next(&it, &ev)) == RLOG_READ_OK) {
		n++;
		describe_event_what(&text, &ev);
	}
	if (*end == RLOG_READ_BAD) {
		assert_int_equal(reader_explain(&it, &e), -1);
		assert_non_null(strstr(e.text, "damaged at offset"));
	}
	assert_true(it.p <= r.base + r.size);
	it = by_slot = reader_begin(&r);
	while ((got = reader_next_record(&it, &rec)) == RLOG_READ_OK)
		;
	while ((by_slots = reader_next_slot(&by_slot, &slot, NULL)) == RLOG_READ_OK)
		;
	assert_int_equal(got, by_slots);
	assert_true(it.p == by_slot.p && it.stamp == by_slot.stamp && it.index == by_slot.index);
	buf_fini(&text);
	reader_fini(&r);
	return n;
}

/* In a copy that ends exactly at the end of its memory, so that a sanitizer sees a read past it. */
static unsigned read_copy(const void *data, size_t len, bool lenient, enum rlog_read *end)
{
	void *copy = malloc(len ? len : 1);
	unsigned n;

	memcpy(copy, data, len);
	n = read_all(copy, len, lenient, end);
	free(copy);
	return n;
}

static void test_truncated(void **state)
{
	struct logbuild lb;
	enum rlog_read end;
	unsigned last = 0;

	build(&lb);
	for (size_t len = 0; len <= lb.b.len; len++) {
		unsigned n = read_copy(lb.b.data, len, true, &end);

		assert_int_equal(end, len < sizeof(struct rlog_head) ? RLOG_READ_BAD : RLOG_READ_END);
		assert_true(n >= last && n <= EVENTS);
		last = n;
		n = read_copy(lb.b.data, len, false, &end);
		assert_true(n == last);
	}
	assert_int_equal(last, EVENTS);
	lb_fini(&lb);
}

static void test_flipped(void **state)
{
	struct logbuild lb;
	enum rlog_read end;
	unsigned bad = 0;

	build(&lb);
	for (size_t i = 0; i < lb.b.len; i++)
		for (unsigned v = 1; v < 256; v++) {
			lb.b.data[i] ^= (char)v;
			for (int lenient = 0; lenient < 2; lenient++) {
				read_copy(lb.b.data, lb.b.len, lenient, &end);
				bad += end == RLOG_READ_BAD;
			}
			lb.b.data[i] ^= (char)v;
		}
	assert_true(bad > 1000);
	lb_fini(&lb);
}

/* Bytes that are no log at all, after a good head. */
static void test_random(void **state)
{
	struct logbuild lb;
	enum rlog_read end;

	srandom(1);
	for (unsigned round = 0; round < 3000; round++) {
		lb_init(&lb, 1, 1, (uint64_t)random() << 40);
		for (unsigned n = (unsigned)random() % 200; n; n--)
			buf_add_char(&lb.b, (char)(random() % (round % 2 ? 256 : 44)));
		read_copy(lb.b.data, lb.b.len, round % 3 == 0, &end);
		lb_fini(&lb);
	}
}

/* A stamp that runs over 64 bits is damage, not a jump back in time. */
static void test_stamp_overflow(void **state)
{
	struct logbuild lb;
	enum rlog_read end;

	lb_init(&lb, 1, 1, UINT64_MAX - 10);
	lb_add(&lb, RLOG_START, UINT64_MAX - 1, 0, 0);
	buf_add(&lb.b, "\x02\x05", 2); /* EXIT, 5 ticks later */
	assert_int_equal(read_copy(lb.b.data, lb.b.len, false, &end), 1);
	assert_int_equal(end, RLOG_READ_BAD);
	lb_fini(&lb);
}

static void expect_explain(const void *bytes, size_t n, const char *text)
{
	struct logbuild lb;
	struct reader r;
	struct reader_event ev;
	struct reader_iter it;
	struct err e = {0};

	lb_init(&lb, 1, 1, 1);
	lb_add(&lb, RLOG_START, 1, 0, 0);
	buf_add(&lb.b, bytes, n);
	assert_int_equal(reader_init_mem(&r, "t0001.log", lb.b.data, lb.b.len, &e), 0);
	it = reader_begin(&r);
	assert_int_equal(reader_next(&it, &ev), RLOG_READ_OK);
	assert_int_equal(reader_next(&it, &ev), RLOG_READ_BAD);
	assert_int_equal(reader_explain(&it, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_non_null(strstr(e.text, "t0001.log: damaged at offset 66 (event 2 of this thread)"));
	if (!strstr(e.text, text))
		fail_msg("\"%s\" is not in \"%s\"", text, e.text);
	reader_fini(&r);
	lb_fini(&lb);
}

static void test_explain(void **state)
{
	expect_explain("\x2f", 1, "unknown kind of record (byte 0x2f)");
	expect_explain("\xff\x01", 2, "unknown kind of record (byte 0xff)");
	expect_explain("\x20\x01\x0b", 3, "too many operands");
	expect_explain("\x20\x01", 2, "the file ends inside a record");
	expect_explain("\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, "number too long");
	expect_explain("\x21\x02\x7fhello", 8, "the file ends inside a record");
}

static void test_head(void **state)
{
	struct logbuild lb;
	struct reader r;
	struct err e = {0};
	char versions[80];

	lb_init(&lb, 1, 1, 1);
	assert_int_equal(reader_init_mem(&r, "x.log", lb.b.data, 10, &e), -1);
	assert_non_null(strstr(e.text, "x.log: damaged: 10 bytes long"));
	((struct rlog_head *)lb.b.data)->version = 99;
	assert_int_equal(reader_init_mem(&r, "x.log", lb.b.data, lb.b.len, &e), -1);
	snprintf(versions, sizeof(versions), "recording version 99, this fred reads version %u", RLOG_VERSION);
	assert_non_null(strstr(e.text, versions));
	lb.b.data[0] ^= 1;
	assert_int_equal(reader_init_mem(&r, "x.log", lb.b.data, lb.b.len, &e), -1);
	assert_non_null(strstr(e.text, "damaged at offset 0"));
	assert_int_equal(reader_open(&r, "/nonexistent/t0001.log", &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	lb_fini(&lb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),	       cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_slots),	       cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_flipped),	       cmocka_unit_test(test_random),
		cmocka_unit_test(test_stamp_overflow), cmocka_unit_test(test_explain),
		cmocka_unit_test(test_head),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
