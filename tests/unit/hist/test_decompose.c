/* SPDX-License-Identifier: MIT */
/* test_decompose.c: expansion and the reverse commands, on the paper's example and random programs.
 */
#include "program.h"
#include <stdlib.h>
#include <string.h>

static struct program p;

/* main: 4 lines; the third calls a function of 3 lines. Every instruction begins a line. */
static void small(void)
{
	const unsigned depth[] = {0, 0, 0, 1, 1, 1, 0, 0};

	memset(&p, 0, sizeof(p));
	p.n = 7;
	for (unsigned i = 0; i <= p.n; i++) {
		p.depth[i] = depth[i];
		p.line[i] = true;
	}
	p.stop[1] = true;
}

static void check(const struct hist *h, const char *want)
{
	char *s = hist_format(h);

	assert_string_equal(s, want);
	free(s);
}

static void start(struct hist *h, struct hist_cursor *c)
{
	hist_init(h);
	hist_cursor_init(c, &program_ops, &p);
}

/* FReD section 4: [continue, next, next, reverse-step] becomes [continue, next, step, next]. */
static void the_papers_example(void **state)
{
	struct hist_cursor c;
	struct hist h;
	struct err e;

	small();
	start(&h, &c);
	assert_int_equal(hist_append(&h, HIST_CONTINUE, 1, &e), 0);
	assert_int_equal(hist_append(&h, HIST_NEXT, 2, &e), 0);
	assert_int_equal(program_end(&p, &h), 6);
	assert_int_equal(hist_reverse_step(&h, &c, &e), 0);
	check(&h, "continue, next, step, next 2");
	assert_int_equal(p.at, 5);
	assert_int_equal(hist_reverse_finish(&h, &c, &e), 0);
	check(&h, "continue, next");
	assert_int_equal(p.at, 2);
	assert_int_equal(hist_reverse_continue(&h, &c, &e), 0);
	assert_int_equal(p.at, 1);
	assert_int_equal(hist_reverse_continue(&h, &c, &e), 0);
	assert_int_equal(p.at, 0);
	assert_int_equal(hist_reverse_continue(&h, &c, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	hist_fini(&h);
}

static void reverse_next_jumps_over_calls(void **state)
{
	struct hist_cursor c;
	struct hist h;
	struct err e;

	small();
	start(&h, &c);
	assert_int_equal(hist_append(&h, HIST_NEXT, 3, &e), 0);
	assert_int_equal(program_end(&p, &h), 6);
	assert_int_equal(hist_reverse_next(&h, &c, &e), 0);
	assert_int_equal(p.at, 2);
	check(&h, "next 2");
	assert_int_equal(hist_undo(&h, &c, 1, &e), 0);
	assert_int_equal(p.at, 1);
	hist_fini(&h);
}

static void random_history(struct hist *h, uint64_t *seed)
{
	uint64_t n = 1 + program_random_number(seed) % 6;
	struct err e;

	for (uint64_t i = 0; i < n; i++)
		assert_int_equal(
			hist_append(h, (enum hist_cmd)(program_random_number(seed) % HIST_CMDS),
				    1 + program_random_number(seed) % 4, &e),
			0);
}

static void decomposition_leads_to_the_same_place(void **state)
{
	uint64_t seed = 31337;

	for (int round = 0; round < 3000; round++) {
		enum hist_cmd finest = round % 2 ? HIST_STEP : HIST_STEPI;
		struct hist_cursor c;
		struct hist h;
		struct err e;
		uint64_t end;

		program_random(&p, 200 + program_random_number(&seed) % 2000, &seed);
		start(&h, &c);
		random_history(&h, &seed);
		end = program_end(&p, &h);
		assert_int_equal(hist_decompose(&h, &c, finest, &e), 0);
		assert_int_equal(program_end(&p, &h), end);
		if (h.n && finest == HIST_STEPI && end < p.n)
			assert_int_equal(hist_at(&h, hist_length(&h) - 1), HIST_STEPI);
		else if (h.n && end < p.n)
			assert_true(hist_at(&h, hist_length(&h) - 1) >= HIST_STEP);
		hist_fini(&h);
	}
}

/* One step from there leads back, and nothing nearer does. */
static void reverse_step_is_one_step(void **state)
{
	uint64_t seed = 4242;
	int moved = 0;

	for (int round = 0; round < 3000; round++) {
		bool insn = round % 2;
		struct hist_cursor c;
		struct hist h;
		struct err e;
		uint64_t end;

		program_random(&p, 200 + program_random_number(&seed) % 2000, &seed);
		start(&h, &c);
		random_history(&h, &seed);
		end = program_end(&p, &h);
		assert_int_equal(
			insn ? hist_reverse_stepi(&h, &c, &e) : hist_reverse_step(&h, &c, &e), 0);
		assert_int_equal(p.at, program_end(&p, &h));
		assert_true(p.at < end);
		if (insn)
			assert_true(p.at == end - 1 || program_after(&p, p.at, HIST_STEP) == end);
		else
			assert_true(program_after(&p, p.at, HIST_STEP) == end || p.at == end - 1);
		moved++;
		hist_fini(&h);
	}
	assert_true(moved > 1000);
}

static void reverse_next_and_finish_depths(void **state)
{
	uint64_t seed = 777;

	for (int round = 0; round < 3000; round++) {
		struct hist_cursor c;
		struct hist h;
		struct err e;
		uint64_t end;

		program_random(&p, 200 + program_random_number(&seed) % 2000, &seed);
		start(&h, &c);
		random_history(&h, &seed);
		end = program_end(&p, &h);
		if (!(round % 2) && !p.depth[end]) {
			assert_int_equal(hist_reverse_finish(&h, &c, &e), -1);
			assert_int_equal(e.kind, ERR_NOT_FOUND);
			hist_fini(&h);
			continue;
		}
		assert_int_equal(round % 2 ? hist_reverse_next(&h, &c, &e)
					   : hist_reverse_finish(&h, &c, &e),
				 0);
		assert_int_equal(p.at, program_end(&p, &h));
		if (h.n) {
			assert_true(p.at < end);
			assert_true(p.depth[p.at] + !(round % 2) <= p.depth[end]);
		}
		hist_fini(&h);
	}
}

/* A continue over many thousand lines is expanded with few commands. */
static void expansion_is_logarithmic(void **state)
{
	struct hist_cursor c;
	struct hist h;
	struct err e;

	memset(&p, 0, sizeof(p));
	p.n = PROGRAM_MAX;
	for (unsigned i = 0; i <= p.n; i++)
		p.line[i] = true;
	p.stop[15000] = true;
	start(&h, &c);
	assert_int_equal(hist_append(&h, HIST_CONTINUE, 1, &e), 0);
	assert_int_equal(hist_reverse_step(&h, &c, &e), 0);
	assert_int_equal(p.at, 14999);
	check(&h, "next 14999");
	assert_true(p.execs < 200);
	hist_fini(&h);
}

static void faults(void **state)
{
	uint64_t calls;
	struct hist_cursor c;
	struct hist h;
	struct err e;

	small();
	start(&h, &c);
	assert_int_equal(hist_append(&h, HIST_NEXT, 3, &e), 0);
	assert_int_equal(hist_reverse_next(&h, &c, &e), 0);
	calls = p.calls;
	hist_fini(&h);
	for (uint64_t at = 1; at <= calls; at++) {
		small();
		p.fail_call = at;
		start(&h, &c);
		assert_int_equal(hist_append(&h, HIST_NEXT, 3, &e), 0);
		assert_int_equal(hist_reverse_next(&h, &c, &e), -1);
		assert_int_equal(e.kind, ERR_HOST);
		assert_non_null(strstr(e.text, "injected fault"));
		hist_fini(&h);
	}
}

/* Replays that do not lead to the same place are reported, not looped over. */
static void not_deterministic(void **state)
{
	struct hist_cursor c;
	struct hist h;
	struct err e;

	small();
	p.line[6] = false; /* `next` from 2 ends at 7 ... */
	start(&h, &c);
	assert_int_equal(hist_append(&h, HIST_NEXT, 3, &e), 0);
	assert_int_equal(program_end(&p, &h), 7);
	assert_int_equal(hist_decompose(&h, &c, HIST_STEP, &e), 0);
	assert_int_equal(program_end(&p, &h), 7);
	hist_fini(&h);
	hist_init(&h);
	assert_int_equal(hist_decompose(&h, &c, HIST_STEP, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_papers_example),
		cmocka_unit_test(reverse_next_jumps_over_calls),
		cmocka_unit_test(decomposition_leads_to_the_same_place),
		cmocka_unit_test(reverse_step_is_one_step),
		cmocka_unit_test(reverse_next_and_finish_depths),
		cmocka_unit_test(expansion_is_logarithmic),
		cmocka_unit_test(faults),
		cmocka_unit_test(not_deterministic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
