/* SPDX-License-Identifier: MIT */
/* test_packet.c: packets in a stream: whole, in pieces, damaged, too long, with noise and interrupts in between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fake.h"

static void add(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

static void test_whole(void **state)
{
	struct buf in = {0}, p = {0};

	(void)state;
	add(&in, "++$abc#26-$#00");
	assert_int_equal(rsp_parse(&in, &p), RSP_PACKET);
	assert_string_equal(buf_str(&p), "abc");
	assert_int_equal(rsp_parse(&in, &p), RSP_PACKET);
	assert_int_equal(p.len, 0);
	assert_int_equal(rsp_parse(&in, &p), 0);
	buf_fini(&in);
	buf_fini(&p);
}

static void test_in_pieces(void **state)
{
	struct buf line = {0}, in = {0}, p = {0};

	(void)state;
	fake_frame(&line, "m10000,4", 8);
	for (size_t i = 0; i < line.len; i++) {
		assert_int_equal(rsp_parse(&in, &p), 0);
		buf_add(&in, line.data + i, 1);
	}
	assert_int_equal(rsp_parse(&in, &p), RSP_PACKET);
	buf_fini(&line);
	assert_string_equal(buf_str(&p), "m10000,4");
	buf_fini(&in);
	buf_fini(&p);
}

static void test_damaged(void **state)
{
	struct buf in = {0}, p = {0};

	(void)state;
	add(&in, "$abc#27$abc#zz$abc#26");
	assert_int_equal(rsp_parse(&in, &p), -1);
	assert_int_equal(rsp_parse(&in, &p), -1);
	assert_int_equal(rsp_parse(&in, &p), RSP_PACKET);
	buf_fini(&in);
	buf_fini(&p);
}

/* What never ends is thrown away, and does not grow for ever. */
static void test_too_long(void **state)
{
	static const char part[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	struct buf in = {0}, p = {0};
	int r = 0;

	(void)state;
	add(&in, "$");
	for (unsigned i = 0; i < 2 * RSP_PACKET_MAX / (sizeof(part) - 1) && !r; i++) {
		add(&in, part);
		r = rsp_parse(&in, &p);
	}
	assert_int_equal(r, -1);
	assert_int_equal(in.len, 0);
	buf_fini(&in);
	buf_fini(&p);
}

static void test_interrupt(void **state)
{
	struct buf in = {0}, p = {0};

	(void)state;
	add(&in, "+\3$abc#26\3");
	assert_int_equal(rsp_parse(&in, &p), RSP_INTERRUPT);
	assert_int_equal(rsp_parse(&in, &p), RSP_PACKET);
	assert_int_equal(rsp_parse(&in, &p), RSP_INTERRUPT);
	assert_int_equal(rsp_parse(&in, &p), 0);
	buf_fini(&in);
	buf_fini(&p);
}

/* Beside packets, and not acknowledged. */
static void test_notes(void **state)
{
	struct buf in = {0}, p = {0};

	(void)state;
	add(&in, "+%fred:0#0b$abc#26%x#00");
	assert_int_equal(rsp_parse(&in, &p), RSP_NOTE);
	assert_string_equal(buf_str(&p), "fred:0");
	assert_int_equal(rsp_parse(&in, &p), RSP_PACKET);
	assert_string_equal(buf_str(&p), "abc");
	assert_int_equal(rsp_parse(&in, &p), -1);
	assert_int_equal(rsp_parse(&in, &p), 0);
	buf_fini(&in);
	buf_fini(&p);
}

static void test_escapes(void **state)
{
	uint8_t all[256], again[256];
	struct buf line = {0}, p = {0}, hex = {0};

	(void)state;
	for (unsigned i = 0; i < sizeof(all); i++)
		all[i] = (uint8_t)i;
	fake_frame(&line, (const char *)all, sizeof(all));
	assert_int_equal(rsp_parse(&line, &p), RSP_PACKET);
	assert_int_equal(p.len, sizeof(all));
	assert_memory_equal(p.data, all, sizeof(all));
	rsp_hex(&hex, all, sizeof(all));
	assert_int_equal(rsp_unhex(buf_str(&hex), again, sizeof(again)), sizeof(again));
	assert_memory_equal(again, all, sizeof(all));
	assert_int_equal(rsp_unhex("12f", again, sizeof(again)), 1);
	assert_int_equal(rsp_unhex("1234", again, 1), 1);
	buf_fini(&line);
	buf_fini(&p);
	buf_fini(&hex);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),	  cmocka_unit_test(test_in_pieces),
		cmocka_unit_test(test_damaged),	  cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_interrupt), cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_notes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
