/* SPDX-License-Identifier: MIT */
/* Positions: what is one, what is none, and that writing and reading agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "reclog/pos.h"

static void test_good(void **state)
{
	static const struct {
		const char *text;
		struct pos want;
	} good[] = {
		{"start", {.kind = POS_START}},
		{"end", {.kind = POS_END}},
		{"0", {.kind = POS_EVENT}},
		{"18446744073709551615", {.kind = POS_EVENT, .event = UINT64_MAX}},
		{"12/0x401136#3", {.kind = POS_PC, .event = 12, .pc = 0x401136, .hits = 3}},
		{"12/0x7FFFf7dd1000",
		 {.kind = POS_PC, .event = 12, .pc = 0x7ffff7dd1000, .hits = 1}},
		{"50%", {.kind = POS_PERCENT, .number = 50}},
		{"0.25%", {.kind = POS_PERCENT, .number = 0.25}},
		{"100%", {.kind = POS_PERCENT, .number = 100}},
		{"@1.5", {.kind = POS_SECONDS, .number = 1.5}},
		{"@0", {.kind = POS_SECONDS}},
		{"ckpt:c1", {.kind = POS_CKPT, .ckpt = "c1"}},
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct pos p;
		struct err e = {0};

		if (pos_parse(good[i].text, &p, &e))
			fail_msg("%s: %s", good[i].text, e.text);
		assert_memory_equal(&p, &good[i].want, sizeof(p));
	}
}

static void test_bad(void **state)
{
	static const char *const bad[] = {
		"",
		" 1",
		"1 ",
		"-1",
		"+1",
		"x",
		"starts",
		"1e3",
		"0x10",
		"1.5",
		"%",
		"101%",
		"-1%",
		"nan%",
		"1e1%",
		"0x1%",
		"1..2%",
		"@",
		"@-1",
		"@inf",
		"@1s",
		"ckpt:",
		"ckpt:a/b",
		"ckpt:a b",
		"1/",
		"1/10",
		"1/0x",
		"1/0xg",
		"/0x10",
		"1/0x10#",
		"1/0x10#0",
		"1/0x10#x",
		"1/0x10#1#2",
		"1/0x10/2",
		"1/0x-1",
		"1/0x11112222333344445",
		"99999999999999999999",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err e = {0};
		struct pos p;

		if (!pos_parse(bad[i], &p, &e))
			fail_msg("\"%s\" was taken for a position", bad[i]);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_non_null(strstr(e.text, bad[i]));
		assert_null(strchr(e.text, '\n'));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
