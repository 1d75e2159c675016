/* SPDX-License-Identifier: MIT */
/* test_slice.c: the slice of instructions that are made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "executed/slice.h"

#define R(r) (1ull << (r))

/* Executes an instruction with these registers, in this thread. */
static void execute(struct slice *s, uint16_t thread, uint64_t reads, uint64_t writes)
{
	const struct insn_regs r = {.reads = reads, .writes = writes};
	const struct slice_done d = {.insn = slice_add_insn(s, &r), .thread = thread};

	slice_add(s, &d);
}

static void outside(struct slice *s, uint32_t what)
{
	const struct slice_done d = {.insn = what, .thread = 1};

	slice_add(s, &d);
}

static void expect(const struct slice *s, const char *in)
{
	for (size_t k = 0; k < s->n; k++)
		if (s->done[k].in != (in[k] == 'x'))
			fail_msg("instruction %zu is %sin the slice", k, s->done[k].in ? "" : "not ");
	assert_int_equal(in[s->n], 0);
}

static void by_registers(void **state)
{
	struct slice s = {0};

	(void)state;
	execute(&s, 1, 0, R(INSN_RAX)); /* overwritten */
	execute(&s, 1, 0, R(INSN_RAX));
	execute(&s, 1, 0, R(INSN_RBX)); /* not used */
	execute(&s, 2, 0, R(INSN_RAX)); /* another thread's */
	execute(&s, 1, R(INSN_RAX), R(INSN_RCX));
	execute(&s, 1, R(INSN_RCX), 0);
	slice_compute(&s, 1);
	expect(&s, ".x..xx");
	assert_int_equal(s.in, 3);
	slice_fini(&s);
}

static void by_memory(void **state)
{
	struct slice s = {0};

	(void)state;
	execute(&s, 1, 0, 0);
	slice_add_access(&s, 0x1004, 4, false, true); /* half of it stays */
	execute(&s, 2, R(INSN_RDX), 0);
	slice_add_access(&s, 0x1000, 4, false, true); /* by another thread */
	execute(&s, 1, 0, 0);
	slice_add_access(&s, 0x1008, 8, false, true); /* beside it */
	execute(&s, 1, 0, R(INSN_RAX));
	slice_add_access(&s, 0x1000, 8, true, false);
	execute(&s, 1, R(INSN_RAX), 0);
	slice_compute(&s, 1);
	expect(&s, "xx.xx");
	assert_int_equal(s.words, 2);
	assert_int_equal(s.words_in, 1);
	slice_fini(&s);
}

/* What came from outside was not made by what had been there before. */
static void from_outside(void **state)
{
	struct slice s = {0};

	(void)state;
	execute(&s, 1, 0, 0);
	slice_add_access(&s, 0x1000, 8, false, true);
	execute(&s, 1, 0, R(INSN_RAX) | R(INSN_RBX));
	outside(&s, SLICE_OUTSIDE);
	slice_add_access(&s, 0x1000, 8, false, true);
	execute(&s, 1, 0, R(INSN_RCX));
	slice_add_access(&s, 0x1000, 8, true, false);
	outside(&s, SLICE_RETURNED);
	execute(&s, 1, R(INSN_RAX), 0);
	slice_compute(&s, 1);
	expect(&s, ".....x");
	slice_fini(&s);
	execute(&s, 1, 0, R(INSN_RBX));
	outside(&s, SLICE_RETURNED);
	execute(&s, 1, R(INSN_RBX), 0); /* kept by the call */
	slice_compute(&s, 1);
	expect(&s, "x.x");
	slice_fini(&s);
}

/* A register that a function keeps for its caller, on the stack. */
static void saved(void **state)
{
	const struct insn_regs push = {.reads = R(INSN_RBX), .push = true, .saves = true},
			       pop = {.writes = R(INSN_RBX), .pop = true, .saves = true};
	struct slice s = {0};

	(void)state;
	execute(&s, 1, 0, R(INSN_RBX));
	slice_add(&s, &(struct slice_done){.insn = slice_add_insn(&s, &push), .thread = 1});
	slice_add_access(&s, 0x7000, 8, false, true);
	execute(&s, 1, 0, R(INSN_RBX));
	slice_add(&s, &(struct slice_done){.insn = slice_add_insn(&s, &pop), .thread = 1});
	slice_add_access(&s, 0x7000, 8, true, false);
	execute(&s, 1, R(INSN_RBX), 0);
	slice_compute(&s, 1);
	expect(&s, "x...x");
	slice_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(by_registers), cmocka_unit_test(by_memory),
					   cmocka_unit_test(from_outside), cmocka_unit_test(saved)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
