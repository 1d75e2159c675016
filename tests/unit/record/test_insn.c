/* SPDX-License-Identifier: MIT */
/* test_insn.c: where instructions end, what they do to the flow, and what is relative to their place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "record/dbt/insn.h"

static const struct {
	uint8_t bytes[16];
	uint8_t len, rip_at;
	enum insn_kind kind;
} known[] = {
	{{0x90}, 1, 0, INSN_PLAIN},
	{{0x48, 0x89, 0xe5}, 3, 0, INSN_PLAIN}, /* mov %rsp, %rbp */
	{{0x48, 0x8b, 0x05, 1, 2, 3, 4}, 7, 3, INSN_PLAIN}, /* mov 0x4030201(%rip), %rax */
	{{0x48, 0xc7, 0x05, 1, 0, 0, 0, 5, 0, 0, 0}, 11, 3, INSN_PLAIN}, /* movq $5, 1(%rip) */
	{{0x66, 0xc7, 0x45, 0xf0, 5, 0}, 6, 0, INSN_PLAIN}, /* movw $5, -16(%rbp) */
	{{0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}, 10, 0, INSN_PLAIN}, /* movabs */
	{{0xa1, 1, 2, 3, 4, 5, 6, 7, 8}, 9, 0, INSN_PLAIN},
	{{0x8b, 0x04, 0x25, 1, 2, 3, 4}, 7, 0, INSN_PLAIN}, /* mov 0x4030201, %eax */
	{{0x8b, 0x44, 0x24, 0x08}, 4, 0, INSN_PLAIN},
	{{0xf6, 0xc1, 0x01}, 3, 0, INSN_PLAIN}, /* test $1, %cl */
	{{0xf6, 0xd1}, 2, 0, INSN_PLAIN}, /* not %cl */
	{{0xf7, 0x05, 0, 0, 0, 0, 1, 0, 0, 0}, 10, 2, INSN_PLAIN}, /* testl $1, (%rip) */
	{{0xc8, 0x10, 0x00, 0x00}, 4, 0, INSN_PLAIN}, /* enter */
	{{0xf3, 0x48, 0xa5}, 3, 0, INSN_PLAIN}, /* rep movsq */
	{{0xf0, 0x48, 0x0f, 0xb1, 0x0a}, 5, 0, INSN_PLAIN}, /* lock cmpxchg */
	{{0xf3, 0x0f, 0x1e, 0xfa}, 4, 0, INSN_PLAIN}, /* endbr64 */
	{{0x66, 0x0f, 0x3a, 0x0f, 0xc1, 0x04}, 6, 0, INSN_PLAIN}, /* palignr */
	{{0x66, 0x0f, 0x38, 0x00, 0x05, 0, 0, 0, 0}, 9, 5, INSN_PLAIN}, /* pshufb (%rip) */
	{{0xc5, 0xf8, 0x77}, 3, 0, INSN_PLAIN}, /* vzeroupper */
	{{0xc5, 0xfd, 0x6f, 0x05, 0, 0, 0, 0}, 8, 4, INSN_PLAIN}, /* vmovdqa (%rip), %ymm0 */
	{{0xc4, 0xe3, 0x7d, 0x39, 0xc1, 0x01}, 6, 0, INSN_PLAIN}, /* vextracti128 */
	{{0x62, 0xf1, 0xfe, 0x48, 0x6f, 0x46, 0x01}, 7, 0, INSN_PLAIN}, /* vmovdqu64 64(%rsi), %zmm0 */
	{{0x75, 0x10}, 2, 0, INSN_JCC},
	{{0x0f, 0x84, 0, 1, 0, 0}, 6, 0, INSN_JCC},
	{{0xe3, 0x10}, 2, 0, INSN_LOOP},
	{{0xeb, 0x10}, 2, 0, INSN_JMP},
	{{0xe8, 0, 1, 0, 0}, 5, 0, INSN_CALL},
	{{0x66, 0x66, 0x48, 0xe8, 0, 1, 0, 0}, 8, 0, INSN_CALL}, /* as for __tls_get_addr */
	{{0xff, 0x15, 0, 1, 0, 0}, 6, 2, INSN_CALL_BY},
	{{0x3e, 0xff, 0xe0}, 3, 0, INSN_JMP_BY}, /* notrack jmp *%rax */
	{{0xff, 0xc0}, 2, 0, INSN_PLAIN}, /* inc %eax */
	{{0xf3, 0xc3}, 2, 0, INSN_RET},
	{{0x0f, 0x05}, 2, 0, INSN_STOP}, /* syscall */
	{{0x0f, 0x31}, 2, 0, INSN_STOP}, /* rdtsc */
	{{0xcc}, 1, 0, INSN_STOP},
	{{0x0f, 0x0b}, 2, 0, INSN_STOP}, /* ud2 */
};

static void test_known(void **state)
{
	struct insn i;

	(void)state;
	for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++) {
		insn_decode(known[k].bytes, &i);
		assert_int_equal(i.kind, known[k].kind);
		if (i.kind != INSN_STOP)
			assert_int_equal(i.len, known[k].len);
		assert_int_equal(i.rip_at, known[k].rip_at);
	}
}

static void test_targets(void **state)
{
	static const uint8_t back[16] = {0x75, 0xfe}, far[16] = {0xe9, 0xfb, 0xff, 0xff, 0xff}, ret[16] = {0xc2, 0x10, 0x01};
	struct insn i;

	(void)state;
	insn_decode(back, &i);
	assert_true(i.target == (uint64_t)back);
	insn_decode(far, &i);
	assert_true(i.target == (uint64_t)far);
	insn_decode(ret, &i);
	assert_int_equal(i.target, 0x110);
}

/* Whatever the bytes are, an instruction has a length, and at most 15 bytes of it are believed. */
static void test_anything(void **state)
{
	uint64_t x = 88172645463325252ull;
	uint8_t bytes[32];
	struct insn i;

	(void)state;
	for (int n = 0; n < 200000; n++) {
		for (size_t k = 0; k < sizeof(bytes); k++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			bytes[k] = (uint8_t)x;
		}
		insn_decode(bytes, &i);
		assert_true(i.len > 0 && (i.len <= 15 || i.kind == INSN_STOP));
	}
}

/* As kernels tell of a step, in virtual machines that lose DR6.BS too. */
static void test_steps(void **state)
{
	static const uint8_t nop[] = {0x90}, int1[] = {0xf1};
	const uint64_t traced = 0x302, not_traced = 0x202;

	(void)state;
	assert_true(insn_stepped(2 /* TRAP_TRACE */, traced, nop));
	assert_true(insn_stepped(2, not_traced, NULL)); /* popf has just cleared it */
	assert_true(insn_stepped(1 /* TRAP_BRKPT */, traced, nop));
	assert_true(insn_stepped(1, traced, NULL));
	assert_true(insn_stepped(4 /* TRAP_HWBKPT */, traced, nop));
	assert_false(insn_stepped(1, traced, int1)); /* the program's own */
	assert_false(insn_stepped(1, not_traced, nop));
	assert_false(insn_stepped(6 /* TRAP_PERF */, traced, nop));
	assert_false(insn_stepped(0x80 /* SI_KERNEL: int3 */, traced, nop));
	assert_true(insn_stray_trap(1, not_traced, *nop));
	assert_false(insn_stray_trap(1, not_traced, *int1));
	assert_false(insn_stray_trap(1, traced, *nop)); /* the program steps itself */
	assert_false(insn_stray_trap(0x80, not_traced, *nop));
	assert_false(insn_stray_trap(6, not_traced, *nop));
}

static const struct {
	uint8_t bytes[16];
	int writes;
} written[] = {
	{{0x48, 0x89, 0x07}, 1}, /* mov %rax, (%rdi) */
	{{0x48, 0x8b, 0x07}, 0},
	{{0x48, 0x89, 0xc7}, 0}, /* mov %rax, %rdi */
	{{0x83, 0x07, 0x01}, 1}, /* addl $1, (%rdi) */
	{{0x83, 0x3f, 0x01}, 0}, /* cmpl */
	{{0x01, 0x07}, 1},
	{{0x03, 0x07}, 0},
	{{0x39, 0x07}, 0},
	{{0x87, 0x07}, 1}, /* xchg */
	{{0x85, 0x07}, 0},
	{{0xc6, 0x07, 0x01}, 1},
	{{0xf7, 0x07, 1, 0, 0, 0}, 0}, /* testl */
	{{0xf7, 0x17}, 1}, /* notl */
	{{0xf7, 0x27}, 0}, /* mull */
	{{0xff, 0x07}, 1},
	{{0xff, 0xc0}, 0},
	{{0xff, 0xf0}, 1}, /* push %rax, the long form */
	{{0x50}, 1},
	{{0x58}, 0},
	{{0x8f, 0x07}, 1}, /* pop (%rdi) */
	{{0xe8, 0, 1, 0, 0}, 1},
	{{0xc3}, 0},
	{{0xf3, 0x48, 0xa5}, 1}, /* rep movsq */
	{{0xf3, 0xaa}, 1},
	{{0xa3, 1, 2, 3, 4, 5, 6, 7, 8}, 1},
	{{0xa1, 1, 2, 3, 4, 5, 6, 7, 8}, 0},
	{{0x0f, 0x11, 0x07}, 1}, /* movups %xmm0, (%rdi) */
	{{0x0f, 0x10, 0x07}, 0},
	{{0x0f, 0x94, 0x07}, 1}, /* sete */
	{{0x0f, 0xb6, 0x07}, 0}, /* movzbl */
	{{0xf0, 0x48, 0x0f, 0xb1, 0x0f}, 1}, /* lock cmpxchg */
	{{0x0f, 0xba, 0x27, 1}, 0}, /* bt */
	{{0x0f, 0xba, 0x2f, 1}, 1}, /* bts */
	{{0x66, 0x0f, 0xf7, 0xc1}, 1}, /* maskmovdqu: to (%rdi), which no operand says */
	{{0x66, 0x0f, 0xd6, 0x07}, 1},
	{{0xc5, 0xfd, 0x7f, 0x07}, 1}, /* vmovdqa %ymm0, (%rdi) */
	{{0xc5, 0xfd, 0x6f, 0x07}, 0},
	{{0xc4, 0xe2, 0x7d, 0x2e, 0x07}, 1}, /* vmaskmovps */
	{{0x62, 0xf1, 0xfe, 0x48, 0x7f, 0x07}, 1}, /* vmovdqu64 %zmm0, (%rdi) */
	{{0xdd, 0x1f}, 1}, /* fstpl */
	{{0xc8, 0x10, 0x00, 0x00}, 1},
};

static void test_writes(void **state)
{
	struct insn i;

	(void)state;
	for (size_t k = 0; k < sizeof(written) / sizeof(written[0]); k++) {
		insn_decode(written[k].bytes, &i);
		assert_int_equal(insn_may_write(written[k].bytes, &i), written[k].writes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_anything),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
