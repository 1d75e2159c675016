/* SPDX-License-Identifier: MIT */
/* test_agent.c: the bytecode interpreter and assembler on made-up code, memory and registers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "agent/agent.h"

/* 64 bytes at 0x1000: byte i holds i + 0x80. Register 3 is 0x1000, others up to 7 hold their number. */
static int read_mem(void *ctx, uint64_t addr, void *out, size_t len)
{
	(void)ctx;
	if (addr < 0x1000 || addr + len > 0x1040)
		return -1;
	for (size_t i = 0; i < len; i++)
		((uint8_t *)out)[i] = (uint8_t)(addr - 0x1000 + i + 0x80);
	return 0;
}

static int read_reg(void *ctx, unsigned regno, uint64_t *value)
{
	(void)ctx;
	if (regno > 7)
		return -1;
	*value = regno == 3 ? 0x1000 : regno;
	return 0;
}

static const struct agent_ops ops = {read_mem, read_reg};

/* Assembles "OP OPERAND; OP; ..." and runs it. Offsets are put in here. */
static enum agent_status run(const char *source, struct agent_result *out)
{
	cleanup_strv struct strv lines = {0};
	cleanup_buf struct buf listing = {0};
	cleanup_free uint8_t *code = NULL;
	size_t len = 0, offset = 0;
	struct err e = {0};

	strv_split(&lines, source, ";");
	for (size_t i = 0; i < lines.n; i++) {
		const char *op = lines.s[i] + strspn(lines.s[i], " ");

		buf_addf(&listing, "%3zu  %s\n", offset, op);
#define X(name, number, operand)                                                                   \
	if (strlen(#name) == strcspn(op, " ") && str_starts(op, #name))                            \
		offset += 1 + (operand);
		AGENT_OPCODES(X)
#undef X
	}
	if (agent_assemble(buf_str(&listing), &code, &len, &e))
		fail_msg("%s: %s", source, e.text);
	assert_int_equal(len, offset);
	return agent_run(code, len, &ops, NULL, out);
}

static const struct {
	const char *code;
	int64_t value;
} sums[] = {
	{"const8 5; end", 5},
	{"const16 65535; end", 65535},
	{"const32 4294967295; end", 4294967295ll},
	{"const64 18446744073709551615; end", -1},
	{"const8 2; const8 3; add; end", 5},
	{"const8 2; const8 3; sub; end", -1},
	{"const64 9223372036854775807; const8 1; add; end", INT64_MIN},
	{"const8 200; const8 200; mul; end", 40000},
	{"const8 249; ext 8; const8 2; div_signed; end", -3},
	{"const8 249; const8 2; div_unsigned; end", 124},
	{"const8 249; ext 8; const8 3; rem_signed; end", -1},
	{"const8 249; const8 4; rem_unsigned; end", 1},
	{"const64 9223372036854775808; const8 255; ext 8; div_signed; end", INT64_MIN},
	{"const64 9223372036854775808; const8 255; ext 8; rem_signed; end", 0},
	{"const8 1; const8 40; lsh; end", 1ll << 40},
	{"const8 1; const8 64; lsh; end", 0},
	{"const8 248; ext 8; const8 1; rsh_signed; end", -4},
	{"const8 248; ext 8; const8 200; rsh_signed; end", -1},
	{"const8 248; ext 8; const8 60; rsh_unsigned; end", 15},
	{"const8 1; const8 64; rsh_unsigned; end", 0},
	{"const8 0; log_not; end", 1},
	{"const8 9; log_not; end", 0},
	{"const8 12; const8 10; bit_and; end", 8},
	{"const8 12; const8 10; bit_or; end", 14},
	{"const8 12; const8 10; bit_xor; end", 6},
	{"const8 0; bit_not; end", -1},
	{"const8 7; const8 7; equal; end", 1},
	{"const8 7; const8 8; equal; end", 0},
	{"const8 255; ext 8; const8 1; less_signed; end", 1},
	{"const8 255; ext 8; const8 1; less_unsigned; end", 0},
	{"const8 16; ext 5; end", -16},
	{"const8 255; zero_ext 3; end", 7},
	{"const8 255; ext 64; end", 255},
	{"const8 255; ext 0; end", 255},
	{"const16 4096; ref8; end", 0x80},
	{"const16 4097; ref16; end", 0x8281},
	{"const16 4096; ref32; end", 0x83828180},
	{"const16 4096; ref64; end", (int64_t)0x8786858483828180ull},
	{"const16 4096; ref8; ext 8; end", -128},
	{"reg 5; end", 5},
	{"reg 3; const8 2; add; ref8; end", 0x82},
	{"const8 1; const8 2; dup; add; add; end", 5},
	{"const8 1; const8 2; pop; end", 1},
	{"const8 5; const8 2; swap; sub; end", -3},
	{"const8 7; const8 8; const8 9; pick 2; end", 7},
	{"const8 7; pick 0; add; end", 14},
	/* a b c becomes c a b: 1 2 3, then 3 1 2; 1 - 2 = -1, 3 - -1 = 4 */
	{"const8 1; const8 2; const8 3; rot; sub; sub; end", 4},
	/* const8 at 0, goto at 2, const8 9 at 5, end at 7 */
	{"const8 4; goto 7; const8 9; end", 4},
	/* 0: const8 C; 2: if_goto 10; 5: const8 1; 7: goto 12; 10: const8 2; 12: end */
	{"const8 1; if_goto 10; const8 1; goto 12; const8 2; end", 2},
	{"const8 0; if_goto 10; const8 1; goto 12; const8 2; end", 1},
};

static void test_values(void **state)
{
	struct agent_result r;

	(void)state;
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		enum agent_status s = run(sums[i].code, &r);

		if (s || r.value != sums[i].value)
			fail_msg("%s: %s, %lld", sums[i].code, agent_status_text(s), (long long)r.value);
	}
}

static const struct {
	const char *code;
	enum agent_status status;
} failures[] = {
	{"const8 1; const8 0; div_signed; end", AGENT_DIV_ZERO},
	{"const8 1; const8 0; div_unsigned; end", AGENT_DIV_ZERO},
	{"const8 1; const8 0; rem_signed; end", AGENT_DIV_ZERO},
	{"const8 1; const8 0; rem_unsigned; end", AGENT_DIV_ZERO},
	{"const8 0; ref8; end", AGENT_BAD_MEMORY},
	{"const16 4159; ref16; end", AGENT_BAD_MEMORY},
	{"reg 8; end", AGENT_BAD_REGISTER},
	{"end", AGENT_BAD_CODE},
	{"const8 1; add; end", AGENT_BAD_CODE},
	{"const8 1; swap; end", AGENT_BAD_CODE},
	{"const8 1; const8 1; rot; end", AGENT_BAD_CODE},
	{"pop; end", AGENT_BAD_CODE},
	{"const8 1; pick 1; end", AGENT_BAD_CODE},
	{"const8 1; goto 6; end", AGENT_BAD_CODE},
	{"const8 1; if_goto 600; end", AGENT_BAD_CODE},
	{"goto 0; const8 1; end", AGENT_TOO_LONG},
	{"const8 1; goto 0; end", AGENT_BAD_CODE}, /* the stack runs full */
};

static void test_failures(void **state)
{
	struct agent_result r;

	(void)state;
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		enum agent_status s = run(failures[i].code, &r);

		if (s != failures[i].status)
			fail_msg("%s: %s", failures[i].code, agent_status_text(s));
		assert_true(agent_status_text(s)[0]);
	}
}

static void test_fault_address(void **state)
{
	struct agent_result r;

	(void)state;
	assert_int_equal(run("const16 4096; ref8; pop; const16 9999; ref32; end", &r), AGENT_BAD_MEMORY);
	assert_int_equal(r.fault_addr, 9999);
	assert_int_equal(r.ranges_n, 1);
	assert_int_equal(r.range[0].addr, 4096);
}

static void test_ranges(void **state)
{
	struct agent_result r;

	(void)state;
	assert_int_equal(run("const16 4096; ref8; const16 4096; ref8; add; const16 4100; ref32; add; "
			     "const16 4096; ref16; add; end", &r), AGENT_OK);
	assert_int_equal(r.ranges_n, 3);
	assert_int_equal(r.range[0].addr, 4096);
	assert_int_equal(r.range[0].len, 1);
	assert_int_equal(r.range[1].addr, 4100);
	assert_int_equal(r.range[1].len, 4);
	assert_int_equal(r.range[2].len, 2);
	assert_false(r.ranges_full);
}

/* Any bytes: an answer, no crash. The stack and code bounds are the sanitizer's to watch. */
static void test_any_bytes(void **state)
{
	static const uint8_t ops_used[] = {0x02, 0x03, 0x05, 0x16, 0x17, 0x1a, 0x20, 0x21, 0x22, 0x25,
					   0x26, 0x27, 0x28, 0x29, 0x2b, 0x32, 0x33, 0x00, 0x01, 0xff};
	unsigned seed = 99;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct agent_result r;
		size_t len = (seed >> 9) % 40;
		cleanup_free uint8_t *code = malloc(len ? len : 1);

		for (size_t i = 0; i < len; i++) {
			seed = seed * 1103515245 + 12345;
			code[i] = seed >> 31 ? ops_used[(seed >> 16) % sizeof(ops_used)] :
					       (uint8_t)(seed >> 16) % 48;
		}
		seed = seed * 1103515245 + 12345;
		assert_in_range(agent_run(code, len, &ops, NULL, &r), 0, AGENT_TOO_LONG);
	}
}

static void test_assemble_bad(void **state)
{
	static const char *const bad[] = {
		"", "nonsense\n", "  0  const8 1\n", "  0  const8 1\n  3  end\n", "  0  frobnicate\n  1  end\n",
		"  0  const8\n  2  end\n", "  0  end 3\n", "  0  ref_float\n  1  end\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint8_t *code;
		size_t len;
		struct err e = {0};

		if (!agent_assemble(bad[i], &code, &len, &e))
			fail_msg("taken: %s", bad[i]);
		assert_int_equal(e.kind, ERR_INTERNAL);
	}
}

static void test_assemble(void **state)
{
	static const uint8_t want[] = {0x25, 0, 0, 0, 0, 0, 0x40, 0x51, 0x78, 0x19, 0x16, 32, 0x27};
	cleanup_free uint8_t *code = NULL;
	size_t len;
	struct err e = {0};

	(void)state;
	assert_int_equal(agent_assemble("Scope: 0x401136\nReg mask: 00\n  0  const64 4215160\n  9  ref32\n"
					" 10  ext 32\n 12  end\n", &code, &len, &e), 0);
	assert_int_equal(len, sizeof(want));
	assert_memory_equal(code, want, len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),	      cmocka_unit_test(test_failures),
		cmocka_unit_test(test_fault_address), cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_any_bytes),
		cmocka_unit_test(test_assemble_bad),  cmocka_unit_test(test_assemble),
	};

	return cmocka_run_group_tests_name("agent", tests, NULL, NULL);
}
