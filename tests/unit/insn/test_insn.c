/* SPDX-License-Identifier: MIT */
/* test_insn.c: where instructions take what they write from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "insn/insn.h"

static struct user_regs_struct regs = {.rax = 0x1000,
				       .rbx = 0x2000,
				       .rcx = 2,
				       .rdx = 7,
				       .rsi = 0x5000,
				       .rdi = 0x6000,
				       .rsp = 0x7f00,
				       .rbp = 0x7f80,
				       .rip = 0x400000,
				       .eflags = 0x40};

struct row {
	const char *code; /* INSN_BYTES at most */
	size_t n;
	struct insn_loc l;
	enum insn_effect effect;
	struct insn_loc from; /* of COPIES and DERIVES */
};

#define REG(r, o, n)                                                                                                   \
	{                                                                                                              \
		.where = INSN_IN_REG, .reg = (r), .off = (o), .len = (n)                                               \
	}
#define MEM(a, n)                                                                                                      \
	{                                                                                                              \
		.where = INSN_IN_MEM, .addr = (a), .len = (n)                                                          \
	}
#define CODE(s) s, sizeof(s) - 1

static const struct row rows[] = {
	{CODE("\x48\x8b\x45\xf8"), REG(INSN_RAX, 0, 8), INSN_COPIES, MEM(0x7f78, 8)}, /* mov rax, [rbp-8] */
	{CODE("\x8b\x45\xf8"), REG(INSN_RAX, 0, 8), INSN_COPIES, MEM(0x7f78, 4)}, /* mov eax, [rbp-8] */
	{CODE("\x48\x89\x5d\xf0"), MEM(0x7f70, 8), INSN_COPIES, REG(INSN_RBX, 0, 8)}, /* mov [rbp-16], rbx */
	{CODE("\x48\x89\x5d\xf0"), MEM(0x7f74, 4), INSN_COPIES, REG(INSN_RBX, 4, 4)}, /* ... its upper half */
	{CODE("\x48\x89\x5d\xf0"), MEM(0x7f78, 8), INSN_KEEPS, {0}}, /* ... beside it */
	{CODE("\x48\xc7\x45\xf0\x00\x00\x00\x00"), MEM(0x7f70, 8), INSN_SETS, {0}}, /* mov qword [rbp-16], 0 */
	{CODE("\x31\xc0"), REG(INSN_RAX, 0, 8), INSN_SETS, {0}}, /* xor eax, eax */
	{CODE("\x01\xd0"), REG(INSN_RAX, 0, 4), INSN_COMPUTES, {0}}, /* add eax, edx */
	{CODE("\x48\x83\xc0\x08"), REG(INSN_RAX, 0, 8), INSN_DERIVES, REG(INSN_RAX, 0, 8)}, /* add rax, 8 */
	{CODE("\x48\x8d\x42\x08"), REG(INSN_RAX, 0, 8), INSN_DERIVES, REG(INSN_RDX, 0, 8)}, /* lea rax, [rdx+8] */
	{CODE("\x48\x8d\x05\x00\x00\x00\x00"), REG(INSN_RAX, 0, 8), INSN_SETS, {0}}, /* lea rax, [rip] */
	{CODE("\x53"), MEM(0x7ef8, 8), INSN_COPIES, REG(INSN_RBX, 0, 8)}, /* push rbx */
	{CODE("\x5b"), REG(INSN_RBX, 0, 8), INSN_COPIES, MEM(0x7f00, 8)}, /* pop rbx */
	{CODE("\xe8\x00\x00\x00\x00"), MEM(0x7ef8, 8), INSN_SETS, {0}}, /* call */
	{CODE("\xe8\x00\x00\x00\x00"), REG(INSN_RAX, 0, 8), INSN_KEEPS, {0}},
	{CODE("\xf3\x48\xa5"), MEM(0x6008, 8), INSN_COPIES, MEM(0x5008, 8)}, /* rep movsq, twice */
	{CODE("\xf3\x48\xa5"), MEM(0x6010, 8), INSN_KEEPS, {0}},
	{CODE("\xf3\xaa"), MEM(0x6001, 1), INSN_COPIES, REG(INSN_RAX, 0, 1)}, /* rep stosb */
	{CODE("\x0f\x10\x06"), REG(INSN_XMM0, 8, 8), INSN_COPIES, MEM(0x5008, 8)}, /* movups xmm0, [rsi] */
	{CODE("\x0f\x11\x07"), MEM(0x6008, 8), INSN_COPIES, REG(INSN_XMM0, 8, 8)}, /* movups [rdi], xmm0 */
	{CODE("\x48\x0f\x44\xc3"), REG(INSN_RAX, 0, 8), INSN_COPIES,
	 REG(INSN_RBX, 0, 8)}, /* cmove rax, rbx: ZF is set */
	{CODE("\x48\x0f\x45\xc3"), REG(INSN_RAX, 0, 8), INSN_KEEPS, {0}}, /* cmovne rax, rbx */
	{CODE("\x83\x7b\x14\x00"), REG(INSN_FLAGS, 0, 8), INSN_DERIVES, MEM(0x2014, 4)}, /* cmp dword [rbx+0x14], 0 */
	{CODE("\x48\x85\xd2"), REG(INSN_FLAGS, 0, 8), INSN_DERIVES, REG(INSN_RDX, 0, 8)}, /* test rdx, rdx */
	{CODE("\x0f\x94\xc0"), REG(INSN_RAX, 0, 1), INSN_DERIVES, REG(INSN_FLAGS, 0, 4)}, /* sete al */
	{CODE("\x48\x87\x03"), MEM(0x2000, 8), INSN_COPIES, REG(INSN_RAX, 0, 8)}, /* xchg [rbx], rax */
};

static void origins(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		const struct row *r = &rows[k];
		struct insn i = {(const uint8_t *)r->code, r->n, &regs};
		struct insn_origin o;

		insn_origin(&i, &r->l, &o);
		if (o.effect != r->effect)
			fail_msg("row %zu: effect %d, expected %d", k, (int)o.effect, (int)r->effect);
		if (r->effect != INSN_COPIES && r->effect != INSN_DERIVES)
			continue;
		assert_int_equal(o.n, 1);
		if (o.from[0].where != r->from.where || o.from[0].reg != r->from.reg || o.from[0].off != r->from.off ||
		    o.from[0].addr != r->from.addr || (r->from.reg != INSN_FLAGS && o.from[0].len != r->from.len))
			fail_msg("row %zu: from %d reg %u off %u addr 0x%lx len %u", k, (int)o.from[0].where,
				 o.from[0].reg, o.from[0].off, (unsigned long)o.from[0].addr, o.from[0].len);
	}
}

static void kinds(void **state)
{
	static const struct {
		const char *code;
		size_t n;
		enum insn_kind kind;
	} all[] = {{CODE("\xc3"), INSN_RET},	    {CODE("\xff\xd0"), INSN_CALL},    {CODE("\xff\xe0"), INSN_JUMP},
		   {CODE("\x74\x00"), INSN_BRANCH}, {CODE("\x0f\x05"), INSN_SYSCALL}, {CODE("\x90"), INSN_OTHER},
		   {CODE("\x06"), INSN_BAD},	    {CODE("\x48"), INSN_BAD}};

	(void)state;
	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
		struct insn i = {(const uint8_t *)all[k].code, all[k].n, &regs};

		assert_int_equal(insn_kind(&i), all[k].kind);
	}
}

static void accesses(void **state)
{
	struct insn i = {(const uint8_t *)"\x8b\x04\x91", 3, &regs}; /* mov eax, [rcx+rdx*4] */
	struct insn_access v[INSN_ACCESSES];
	struct insn_loc l;

	(void)state;
	assert_int_equal(insn_accesses(&i, v), 1);
	assert_int_equal(v[0].addr, 2 + 7 * 4);
	assert_int_equal(v[0].base, INSN_RCX);
	assert_int_equal(v[0].index, INSN_RDX);
	assert_false(v[0].writes);
	i = (struct insn){(const uint8_t *)"\xff\x53\x08", 3, &regs}; /* call [rbx+8] */
	assert_int_equal(insn_operands(&i, &l, 1), 1);
	assert_int_equal(l.addr, 0x2008);
	i = (struct insn){(const uint8_t *)"\xf7\xfb", 2, &regs}; /* idiv ebx */
	assert_int_equal(insn_operands(&i, &l, 1), 1);
	assert_int_equal(l.reg, INSN_RBX);
}

static void registers(void **state)
{
	static const struct {
		const char *code;
		size_t n;
		uint64_t reads, writes;
		bool push, pop, leave, saves;
	} all[] = {
#define R(r) (1ull << (r))
		{CODE("\x01\xd0"), R(INSN_RAX) | R(INSN_RDX), R(INSN_RAX) | R(INSN_FLAGS), 0, 0, 0,
		 0}, /* add eax, edx */
		{CODE("\x31\xc0"), 0, R(INSN_RAX) | R(INSN_FLAGS), 0, 0, 0, 0}, /* xor eax, eax */
		{CODE("\x88\xd0"), R(INSN_RDX) | R(INSN_RAX), R(INSN_RAX), 0, 0, 0,
		 0}, /* mov al, dl: the rest of rax stays */
		{CODE("\x89\xd0"), R(INSN_RDX), R(INSN_RAX), 0, 0, 0, 0}, /* mov eax, edx */
		{CODE("\x8b\x04\x91"), R(INSN_RCX) | R(INSN_RDX), R(INSN_RAX), 0, 0, 0, 0}, /* mov eax, [rcx+rdx*4] */
		{CODE("\x53"), R(INSN_RBX), 0, 1, 0, 0, 1}, /* push rbx */
		{CODE("\x50"), R(INSN_RAX), 0, 1, 0, 0, 0}, /* push rax */
		{CODE("\x5d"), 0, R(INSN_RBP), 0, 1, 0, 1}, /* pop rbp */
		{CODE("\xc9"), 0, R(INSN_RBP), 0, 0, 1, 1}, /* leave */
		{CODE("\x0f\x28\xca"), R(INSN_XMM0 + 2), R(INSN_XMM0 + 1), 0, 0, 0, 0}, /* movaps xmm1, xmm2 */
		{CODE("\x0f\x94\xc0"), R(INSN_FLAGS) | R(INSN_RAX), R(INSN_RAX), 0, 0, 0, 0}, /* sete al */
#undef R
	};

	(void)state;
	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
		struct insn_regs r;

		insn_regs((const uint8_t *)all[k].code, all[k].n, &r);
		if (r.reads != all[k].reads || r.writes != all[k].writes || r.push != all[k].push ||
		    r.pop != all[k].pop || r.leave != all[k].leave || r.saves != all[k].saves)
			fail_msg("row %zu: reads 0x%lx, writes 0x%lx", k, (unsigned long)r.reads,
				 (unsigned long)r.writes);
	}
}

static void text(void **state)
{
	char t[80];

	(void)state;
	insn_text((const uint8_t *)"\xe8\x0b\x00\x00\x00", 5, 0x401000, t, sizeof(t));
	assert_string_equal(t, "call 0x401010");
	insn_text((const uint8_t *)"\x83\x45\xfc\x0a", 4, 0x401000, t, sizeof(t));
	assert_string_equal(t, "addl $0xa, -0x4(%rbp)");
	insn_text((const uint8_t *)"\x06", 1, 0x401000, t, sizeof(t));
	assert_string_equal(t, "(bad)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(origins), cmocka_unit_test(kinds),
					   cmocka_unit_test(accesses), cmocka_unit_test(registers),
					   cmocka_unit_test(text)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
