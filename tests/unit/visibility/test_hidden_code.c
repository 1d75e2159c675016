/* SPDX-License-Identifier: MIT */
/* test_hidden_code.c: which instructions are exits, of code in this process that is never executed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "visibility/hidden_code.h"

/* Two functions; what they do not come to is left out. */
static uint8_t shim[] = {
	0x74, 0x05, /* 0: je 7 */
	0xe8, 0x0a, 0x00, 0x00, 0x00, /* 2: call 17 */
	0xff, 0xd0, /* 7: call *%rax */
	0x90, /* 9: nop */
	0xc3, /* 10: ret */
	0xff, 0xe0, /* 11: jmp *%rax, which nothing leads to */
	0xcc, 0xcc, 0xcc, 0xcc, /* 13 */
	0x0f, 0x05, /* 17: syscall */
	0xeb, 0x00, /* 19: jmp 21 */
	0xff, 0x25, 0x00, 0x00, 0x00, 0x00, /* 21: jmp *0(%rip) */
};
#define SIZE sizeof(shim)

static uint64_t at(unsigned off)
{
	return (uint64_t)(uintptr_t)shim + off;
}

static struct hidden_code *code_of_shim(void)
{
	const struct visibility s = {.shim = {at(0), at(SIZE)}};
	struct hidden_code *c = hidden_code_new(getpid(), &s, NULL);

	assert_non_null(c);
	return c;
}

static void exits(void **state)
{
	static const unsigned want[] = {7, 17, 21};
	struct hidden_code *c = code_of_shim();

	(void)state;
	assert_int_equal(hidden_code_exits(c), 0);
	hidden_code_reach(c, at(0));
	assert_int_equal(hidden_code_exits(c), 3);
	for (unsigned i = 0; i < 3; i++)
		assert_true(hidden_code_is_exit(c, at(want[i])));
	assert_false(hidden_code_is_exit(c, at(11)));
	hidden_code_reach(c, at(11));
	assert_true(hidden_code_is_exit(c, at(11)));
	hidden_code_reach(c, at(SIZE)); /* of somebody else */
	assert_int_equal(hidden_code_exits(c), 4);
	hidden_code_free(c);
}

static void int3s(void **state)
{
	struct hidden_code *c = code_of_shim();
	uint8_t was[SIZE];
	struct err e = {0};

	(void)state;
	memcpy(was, shim, SIZE);
	hidden_code_reach(c, at(0));
	hidden_code_mark(c, at(9), true);
	assert_int_equal(hidden_code_insert(c, getpid(), &e), 0);
	for (unsigned i = 0; i < SIZE; i++)
		assert_int_equal(shim[i], i == 7 || i == 9 || i == 17 || i == 21 ? 0xcc : was[i]);
	assert_int_equal(hidden_code_lift(c, getpid(), at(7), true, &e), 0);
	assert_int_equal(shim[7], was[7]);
	assert_int_equal(hidden_code_lift(c, getpid(), at(7), false, &e), 0);
	assert_int_equal(shim[7], 0xcc);
	hidden_code_mark(c, at(9), false);
	assert_int_equal(hidden_code_take_out(c, getpid(), &e), 0);
	assert_memory_equal(shim, was, SIZE);
	assert_false(hidden_code_is_exit(c, at(9)));
	hidden_code_free(c);
}

static void point_of_the_debugger(void **state)
{
	struct breaks_point p = {.addr = at(7), .saved = shim[7], .in = true};
	const struct breaks b = {.v = &p, .n = 1};
	const struct visibility s = {.shim = {at(0), at(SIZE)}};
	struct hidden_code *c;
	struct err e = {0};

	(void)state;
	shim[7] = 0xcc;
	c = hidden_code_new(getpid(), &s, &b);
	assert_non_null(c);
	hidden_code_reach(c, at(0));
	assert_int_equal(hidden_code_exits(c), 3);
	assert_int_equal(hidden_code_insert(c, getpid(), &e), 0);
	assert_int_equal(hidden_code_take_out(c, getpid(), &e), 0);
	assert_int_equal(shim[7], 0xcc);
	assert_int_equal(shim[17], 0x0f);
	shim[7] = p.saved;
	hidden_code_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exits),
		cmocka_unit_test(int3s),
		cmocka_unit_test(point_of_the_debugger),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
