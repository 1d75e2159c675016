/* SPDX-License-Identifier: MIT */
/* test_lines.c: when steps back in one line go round. */
#include "../base/test.h"

#include "debug/debug.h"

#define SP 0x7ff000

/* 0x1000: line 0; 0x1010: line 1; 0x1020: line 0; 0x1030: line 2 */
static void tell(struct debug *d)
{
	struct err e;

	assert_int_equal(lines_set(d, "1000 10:0 10:1 10:0 8:2", NULL, &e), 0);
}

/* Rounds of two instructions. */
static void go_round(struct lines *l, uint64_t a, uint64_t b, unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		lines_note(l, 7, b, SP);
		lines_note(l, 7, a, SP);
	}
}

static void a_loop_is_due(void **state)
{
	struct lines_range r;
	struct debug d = {0};
	uint64_t sp;

	tell(&d);
	go_round(&d.lines, 0x1012, 0x1018, 2);
	assert_false(lines_due(&d.lines, &r, &sp));
	go_round(&d.lines, 0x1012, 0x1018, 1);
	assert_true(lines_due(&d.lines, &r, &sp));
	assert_int_equal(r.lo, 0x1012);
	assert_int_equal(r.hi, 0x1019);
	assert_int_equal(sp, SP);
	/* not at once again */
	assert_false(lines_due(&d.lines, &r, &sp));
	lines_fini(&d.lines);
}

static void deeper_frames_do_not_count(void **state)
{
	struct lines_range r;
	struct debug d = {0};
	uint64_t sp;

	tell(&d);
	for (unsigned i = 0; i < 200; i++) {
		lines_note(&d.lines, 7, 0x1012, SP);
		lines_note(&d.lines, 7, 0x9000, SP - 8);
		lines_note(&d.lines, 7, 0x1030, SP - 64);
	}
	assert_true(lines_due(&d.lines, &r, &sp));
	assert_int_equal(r.hi, 0x1013);
	lines_fini(&d.lines);
}

static void what_ends_a_line(void **state)
{
	struct lines_range r;
	struct debug d = {0};
	uint64_t sp;

	tell(&d);
	for (unsigned i = 0; i < 200; i++) { /* two lines in turn */
		lines_note(&d.lines, 7, 0x1012, SP);
		lines_note(&d.lines, 7, 0x1031, SP);
	}
	assert_false(lines_due(&d.lines, &r, &sp));
	for (unsigned i = 0; i < 200; i++) /* another segment each time */
		lines_note(&d.lines, i, 0x1012, SP);
	assert_false(lines_due(&d.lines, &r, &sp));
	for (unsigned i = 0; i < 200; i++) { /* out of the function, and in again */
		lines_note(&d.lines, 7, 0x1012, SP);
		lines_note(&d.lines, 7, 0x1040, SP + 8);
	}
	assert_false(lines_due(&d.lines, &r, &sp));
	lines_fini(&d.lines);
}

static void other_code_in_between(void **state)
{
	struct lines_range r;
	struct debug d = {0};
	uint64_t sp;

	tell(&d);
	go_round(&d.lines, 0x1002, 0x1022, 200);
	assert_false(lines_due(&d.lines, &r, &sp));
	lines_fini(&d.lines);
}

static void rounds_with_events(void **state)
{
	struct lines_range r;
	struct debug d = {0};
	uint64_t sp;
	struct err e;

	assert_int_equal(lines_set(&d, "1000 10:0:88 10:1:4444 8:2:8", NULL, &e), 0);
	assert_int_equal(d.lines.insns, 7);
	assert_true(d.lines.insn[1] == 0x1008 && d.lines.insn[6] == 0x1020);
	for (unsigned i = 0; i < 2; i++) {
		assert_false(lines_far_due(&d.lines));
		lines_note(&d.lines, 9 - i, 0x1018, SP);
		lines_note(&d.lines, 9 - i, 0x9000, SP - 8);
		lines_note(&d.lines, 9 - i, 0x1014, SP);
	}
	assert_false(lines_due(&d.lines, &r, &sp));
	assert_true(lines_far_due(&d.lines));
	assert_false(lines_far_due(&d.lines));
	assert_true(lines_is_in(&d.lines, 0x1010) && !lines_is_in(&d.lines, 0x100f) && !lines_is_in(&d.lines, 0x1020));
	/* another line */
	lines_note(&d.lines, 7, 0x1008, SP);
	lines_note(&d.lines, 6, 0x1000, SP);
	assert_false(lines_far_due(&d.lines));
	lines_fini(&d.lines);
}

static void nonsense_is_refused(void **state)
{
	static const char *const bad[] = {"", "x", "1000 10", "1000 0:1", "1000 10:z", "1000 10:1 :", "1000 10:100000000", "1000 10:1:0", "1000 4:1:444"};
	struct lines_range r;
	struct debug d = {0};
	uint64_t sp;
	struct err e;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(lines_set(&d, bad[i], NULL, &e), -1);
		go_round(&d.lines, 0x1012, 0x1018, 200);
		assert_false(lines_due(&d.lines, &r, &sp));
		lines_fini(&d.lines);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_is_due),
		cmocka_unit_test(deeper_frames_do_not_count),
		cmocka_unit_test(what_ends_a_line),
		cmocka_unit_test(other_code_in_between),
		cmocka_unit_test(rounds_with_events),
		cmocka_unit_test(nonsense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
