/* SPDX-License-Identifier: MIT */
/* test_control.c: control dependences of code that is made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "executed/control.h"

#define NONE CONTROL_NONE

/* At 0x1000: je over two nops, a nop, ret. */
static const uint8_t branch[] = {0x74, 0x02, 0x90, 0x90, 0x90, 0xc3};
/* At 0x2000: a nop, jne back to it, ret. */
static const uint8_t loop[] = {0x90, 0x75, 0xfd, 0xc3};
/* At 0x3000: call 0x1000, ret. */
static const uint8_t call[] = {0xe8, 0xfb, 0xdf, 0xff, 0xff, 0xc3};
/* At 0x4000: jmp *%rax; at 0x4002: a nop, jmp 0x4006; at 0x4005: a nop; at 0x4006: a nop, ret. */
static const uint8_t table[] = {0xff, 0xe0, 0x90, 0xeb, 0x01, 0x90, 0x90, 0xc3};
/* At 0x5000: jne to the end of a loop that has none: jmp to itself at 0x5002; ret. */
static const uint8_t endless[] = {0x75, 0x02, 0xeb, 0xfe, 0xc3};

/*
 * At 0x6000: je over a call of 0x6010, a nop, ret; at 0x6010: call 0x6020, ret; at 0x6020: jmp *0x6030(%rip), the word
 * of a function that never returns.
 */
static const uint8_t dies[] = {0x74, 0x05, 0xe8, 0x09, 0,    0,	   0,	 0x90, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc,
			       0xcc, 0xcc, 0xcc, 0xe8, 0x0b, 0,	   0,	 0,    0xc3, 0xcc, 0xcc, 0xcc, 0xcc,
			       0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xff, 0x25, 0x0a, 0,	   0,	 0};
#define SLOT 0x6030u

static size_t read_code(void *ctx, uint64_t pc, uint8_t *code, size_t n)
{
	static const struct {
		uint64_t pc;
		const uint8_t *code;
		size_t n;
	} all[] = {{0x1000, branch, sizeof(branch)}, {0x2000, loop, sizeof(loop)},	 {0x3000, call, sizeof(call)},
		   {0x4000, table, sizeof(table)},   {0x5000, endless, sizeof(endless)}, {0x6000, dies, sizeof(dies)}};

	(void)ctx;
	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
		if (pc >= all[k].pc && pc < all[k].pc + all[k].n) {
			size_t left = (size_t)(all[k].pc + all[k].n - pc);

			n = n < left ? n : left;
			memcpy(code, all[k].code + (pc - all[k].pc), n);
			return n;
		}
	return 0;
}

struct step {
	uint64_t pc, sp;
	uint32_t on;
};

static bool never(void *ctx, uint64_t slot)
{
	(void)ctx;
	return slot == SLOT;
}

static void expect(const struct step *v, size_t n)
{
	static const struct returning_ops ops = {read_code, never};
	struct control *c = control_new(&ops, NULL);

	for (size_t k = 0; k < n; k++)
		if (control_see(c, 1, v[k].pc, v[k].sp, (uint32_t)k) != v[k].on)
			fail_msg("instruction %zu depends on another one", k);
	control_free(c);
}

#define EXPECT(...)                                                                                                    \
	do {                                                                                                           \
		static const struct step steps[] = {__VA_ARGS__};                                                      \
		expect(steps, sizeof(steps) / sizeof(steps[0]));                                                       \
	} while (0)

static void branches(void **state)
{
	(void)state;
	EXPECT({0x1000, 80, NONE}, {0x1002, 80, 0}, {0x1003, 80, 0}, {0x1004, 80, NONE}, {0x1005, 80, NONE});
	EXPECT({0x1000, 80, NONE}, {0x1004, 80, NONE});
}

/* What follows a branch to a call that never returns depends on it. */
static void calls_without_return(void **state)
{
	(void)state;
	EXPECT({0x6000, 80, NONE}, {0x6007, 80, 0}, {0x6008, 80, 0});
}

/* Each round depends on the branch at the end of the one before. */
static void loops(void **state)
{
	(void)state;
	EXPECT({0x2000, 80, NONE}, {0x2001, 80, NONE}, {0x2000, 80, 1}, {0x2001, 80, 1}, {0x2000, 80, 3},
	       {0x2001, 80, 3}, {0x2003, 80, NONE});
}

/* What a function does depends on its call; what comes after the call does not depend on the function's branches. */
static void calls(void **state)
{
	(void)state;
	EXPECT({0x3000, 80, NONE}, {0x1000, 72, 0}, {0x1002, 72, 1}, {0x1003, 72, 1}, {0x1004, 72, 0}, {0x1005, 72, 0},
	       {0x3005, 80, NONE});
	/* it did not return, but a longjmp did */
	EXPECT({0x3000, 80, NONE}, {0x1000, 72, 0}, {0x1002, 72, 1}, {0x3005, 80, NONE});
}

/* Once it has led to two places, it is a branch. */
static void indirect(void **state)
{
	(void)state;
	EXPECT({0x4000, 80, NONE}, {0x4002, 80, NONE}, {0x4003, 80, NONE}, {0x4006, 80, NONE}, {0x4000, 80, NONE},
	       {0x4005, 80, NONE}, {0x4006, 80, NONE}, {0x4000, 80, NONE}, {0x4005, 80, 7}, {0x4006, 80, NONE});
}

static void without_end(void **state)
{
	(void)state;
	EXPECT({0x5000, 80, NONE}, {0x5002, 80, 0}, {0x5002, 80, 0});
	EXPECT({0x5000, 80, NONE}, {0x5004, 80, 0});
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(branches), cmocka_unit_test(calls_without_return),
					   cmocka_unit_test(loops),    cmocka_unit_test(calls),
					   cmocka_unit_test(indirect), cmocka_unit_test(without_end)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
