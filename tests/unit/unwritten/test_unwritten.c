/* SPDX-License-Identifier: MIT */
/* test_unwritten.c: what was never written, through machine code that is made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unwritten/unwritten.h"

#define THREAD 1
#define NEVER 0x10000u /* memory that was never written, from its fourth byte on */
#define BEFORE 3u
#define OTHER 0x20000u
#define STACK 0x7fff0000u
#define ORIGIN 7

struct seen {
	unsigned branches, addresses, outputs;
	uint32_t origin;
};

static void uses(void *ctx, enum unwritten_use use, uint32_t origin)
{
	struct seen *s = ctx;

	s->branches += use == UNWRITTEN_BRANCH;
	s->addresses += use == UNWRITTEN_ADDRESS;
	s->outputs += use == UNWRITTEN_OUTPUT;
	s->origin = origin;
}

static void begin(struct unwritten *u, struct seen *s)
{
	*s = (struct seen){0};
	unwritten_init(u, uses, s);
	unwritten_fill(&u->memory, NEVER + BEFORE, 64, true, ORIGIN);
}

struct values {
	uint64_t operand, other;
};

/* Executes an instruction; addr: what it accesses, 0: nothing. */
static void step(struct unwritten *u, const char *code, size_t n, uint64_t addr, unsigned len, int64_t sp,
		 const struct values *v)
{
	struct insn_flow f;
	struct unwritten_done d = {.flow = &f, .sp = STACK, .next_sp = STACK + (uint64_t)sp};

	insn_flow((const uint8_t *)code, n, &f);
	if (addr)
		d.access[d.n++] = (struct unwritten_access){addr, len, true, true};
	if (v) {
		d.operand = v->operand;
		d.other = v->other;
		d.has_values = true;
	}
	unwritten_execute(u, THREAD, &d, ORIGIN + 1);
}

#define STEP(u, code) step(u, code, sizeof(code) - 1, 0, 0, 0, NULL)
#define ACCESS(u, code, addr, len) step(u, code, sizeof(code) - 1, addr, len, 0, NULL)

#define VALUES(u, code, operand, other) step(u, code, sizeof(code) - 1, 0, 0, 0, &(struct values){operand, other})

static uint64_t reg(struct unwritten *u, unsigned r)
{
	return unwritten_thread(u, THREAD)->reg[r];
}

static void by_bits(void **state)
{
	struct unwritten u;
	struct seen s;

	(void)state;
	begin(&u, &s);
	ACCESS(&u, "\x8b\x08", NEVER + 4, 4); /* mov (%rax), %ecx */
	assert_int_equal(reg(&u, INSN_RCX), 0xffffffff);
	STEP(&u, "\x83\xe1\x05"); /* and $5, %ecx */
	assert_int_equal(reg(&u, INSN_RCX), 5);
	STEP(&u, "\x83\xc9\x01"); /* or $1, %ecx */
	assert_int_equal(reg(&u, INSN_RCX), 4);
	STEP(&u, "\x48\xc1\xe1\x04"); /* shl $4, %rcx */
	assert_int_equal(reg(&u, INSN_RCX), 0x40);
	STEP(&u, "\x8d\x51\x01"); /* lea 1(%rcx), %edx */
	assert_int_equal(reg(&u, INSN_RDX), 0xffffffc0);
	STEP(&u, "\x0f\xb6\xf2"); /* movzbl %dl, %esi */
	assert_int_equal(reg(&u, INSN_RSI), 0xc0);
	STEP(&u, "\x48\x0f\xbe\xfa"); /* movsbq %dl, %rdi */
	assert_int_equal(reg(&u, INSN_RDI), ~0x3full);
	STEP(&u, "\x31\xd2"); /* xor %edx, %edx */
	assert_int_equal(reg(&u, INSN_RDX), 0);
	STEP(&u, "\x85\xd2"); /* test %edx, %edx */
	STEP(&u, "\x75\x00"); /* jne */
	assert_int_equal(s.branches, 0);
	STEP(&u, "\x85\xf6"); /* test %esi, %esi */
	STEP(&u, "\x78\x00"); /* js: the sign was written */
	assert_int_equal(s.branches, 0);
	STEP(&u, "\x75\x00"); /* jne */
	assert_int_equal(s.branches, 1);
	assert_int_equal(s.origin, ORIGIN);
	ACCESS(&u, "\x8a\x04\x0a", OTHER, 1); /* mov (%rdx,%rcx), %al */
	assert_int_equal(s.addresses, 1);
	unwritten_fini(&u);
}

/* A carry goes on from a bit that was never written only as far as bits that were let it. */
static void by_sums(void **state)
{
	struct unwritten u;
	struct seen s;

	(void)state;
	begin(&u, &s);
	ACCESS(&u, "\x8b\x08", NEVER + 4, 4); /* mov (%rax), %ecx */
	STEP(&u, "\x81\xe1\x10\x00\x00\x80"); /* and $0x80000010, %ecx */
	STEP(&u, "\x8d\x14\x09"); /* lea (%rcx,%rcx), %edx */
	assert_int_equal(reg(&u, INSN_RDX), 0x20);
	STEP(&u, "\x8d\x14\x8d\x00\x00\x00\x00"); /* lea 0(,%rcx,4), %edx */
	assert_int_equal(reg(&u, INSN_RDX), 0x40);
	STEP(&u, "\x8d\x14\x8d\x10\x00\x00\x00"); /* lea 16(,%rcx,4), %edx */
	assert_int_equal(reg(&u, INSN_RDX), 0xffffffc0);
	VALUES(&u, "\x83\xc1\x21", 0x800, 0); /* add $33, %ecx */
	assert_int_equal(reg(&u, INSN_RCX), 0x80000010);
	VALUES(&u, "\x83\xe9\x11", 0x821, 0); /* sub $17, %ecx, which borrows up to the 1 */
	assert_int_equal(reg(&u, INSN_RCX), 0x80000030);
	VALUES(&u, "\xff\xc1", 0x80f, 0); /* inc %ecx */
	assert_int_equal(reg(&u, INSN_RCX), 0x80000070);
	STEP(&u, "\x0f\xb6\xd1"); /* movzbl %cl, %edx */
	STEP(&u, "\x86\xd6"); /* xchg %dl, %dh */
	VALUES(&u, "\xfe\xc6", 0x07ff, 0); /* inc %dh */
	assert_int_equal(reg(&u, INSN_RDX), 0x7000);
	STEP(&u, "\x81\xe1\x00\x00\x00\x80"); /* and $0x80000000, %ecx */
	VALUES(&u, "\x01\xc9", 1, 1); /* add %ecx, %ecx */
	assert_int_equal(reg(&u, INSN_RCX), 0);
	STEP(&u, "\x75\x00"); /* jne */
	assert_int_equal(s.branches, 0);
	STEP(&u, "\x72\x00"); /* jc */
	assert_int_equal(s.branches, 1);
	unwritten_fini(&u);
}

/* Instructions whose source is ecx or xmm0, of which this is never written, and what of their result then is. */
static void by_many(void **state)
{
	static const struct {
		const char *code;
		unsigned n, reg;
		uint64_t before, after;
		struct values v;
	} t[] = {
		{"\x0f\xa4\xca\x08", 4, INSN_RDX, 0xff000000, 0xff}, /* shld $8, %ecx, %edx */
		{"\x0f\xac\xca\x04", 4, INSN_RDX, 0xf, 0xf0000000}, /* shrd $4, %ecx, %edx */
		{"\xc4\xe2\x68\xf3\xc9", 5, INSN_RDX, 0x10, 0xfffffff0}, /* blsr %ecx, %edx */
		{"\xf2\x0f\x38\xf1\xd1", 5, INSN_RDX, 0x10, 0xffffffff}, /* crc32 %ecx, %edx */
		{"\xc4\xe3\x7b\xf0\xd1\x04", 6, INSN_RDX, 0x10, 1}, /* rorx $4, %ecx, %edx */
		{"\xc4\xe2\x6b\xf6\xf1", 5, INSN_RSI, 0x10, 0xffffffff}, /* mulx %ecx, %edx, %esi */
		{"\x0f\x44\xd1", 3, INSN_RDX, 0x10, 0x10, {1, 0}}, /* cmove %ecx, %edx, which moves ... */
		{"\x0f\x44\xd1", 3, INSN_RDX, 0x10, 0, {0, 0}}, /* ... or does not */
		{"\xd3\xe1", 2, INSN_RCX, 0x100, 0x800, {0, 3}}, /* shl %cl, %ecx */
	};
	struct unwritten u;
	struct seen s;

	(void)state;
	begin(&u, &s);
	for (size_t k = 0; k < sizeof(t) / sizeof(t[0]); k++) {
		unwritten_store(&u.memory, OTHER, 4, (const uint8_t *)&t[k].before, ORIGIN);
		STEP(&u, "\x31\xd2"); /* xor %edx, %edx */
		ACCESS(&u, "\x8b\x08", OTHER, 4); /* mov (%rax), %ecx */
		step(&u, t[k].code, t[k].n, 0, 0, 0, &t[k].v);
		assert_int_equal(reg(&u, t[k].reg), t[k].after);
	}
	unwritten_fini(&u);
}

/* So of xmm0, of whose bytes those from the fourth on were never written: which of the results were. */
static void by_permutes(void **state)
{
	static const struct {
		const char *code;
		unsigned n;
		uint16_t never;
	} t[] = {
		{"\xf2\x0f\x70\xc8\x1b", 5, 0xff2f}, /* pshuflw $0x1b, %xmm0, %xmm1 */
		{"\xf3\x0f\x70\xc8\x1b", 5, 0xfff8}, /* pshufhw */
		{"\x0f\xc6\xc8\x40", 4, 0xf800}, /* shufps $0x40 */
		{"\x66\x0f\x3a\x0c\xc8\x05", 6, 0x0f08}, /* blendps $5 */
		{"\xf3\x0f\x16\xc8", 4, 0xffff}, /* movshdup */
		{"\xf3\x0f\x12\xc8", 4, 0xff88}, /* movsldup */
		{"\xf2\x0f\x12\xc8", 4, 0xf8f8}, /* movddup */
		{"\x66\x0f\xf4\xc8", 4, 0xffff}, /* pmuludq */
		{"\xf3\x0f\x5b\xc8", 4, 0xffff}, /* cvttps2dq */
		{"\x66\x0f\x5a\xc8", 4, 0x00ff}, /* cvtpd2ps */
		{"\xf2\x0f\x51\xc8", 4, 0x00ff}, /* sqrtsd */
		{"\xf2\x0f\x5d\xc8", 4, 0x00ff}, /* minsd */
		{"\x66\x0f\x7c\xc8", 4, 0xff00}, /* haddpd */
		{"\xc4\xe2\xf1\xb9\xc8", 5, 0x00ff}, /* vfmadd231sd %xmm0, %xmm1, %xmm1 */
		{"\xc4\xe3\xfd\x00\xc8\xb1", 6, 0xf8ff}, /* vpermq $0xb1, %ymm0, %ymm1 */
	};
	struct unwritten u;
	struct seen s;

	(void)state;
	begin(&u, &s);
	unwritten_fill(&u.memory, NEVER + BEFORE, 13, true, ORIGIN);
	for (size_t k = 0; k < sizeof(t) / sizeof(t[0]); k++) {
		uint16_t never = 0;

		STEP(&u, "\x0f\x57\xc9"); /* xorps %xmm1, %xmm1 */
		ACCESS(&u, "\x0f\x10\x00", NEVER, 16); /* movups (%rax), %xmm0 */
		step(&u, t[k].code, t[k].n, 0, 0, 0, NULL);
		for (unsigned b = 0; b < 16; b++)
			never |= (uint16_t)((unwritten_thread(&u, THREAD)->vector[1][b] != 0) << b);
		assert_int_equal(never, t[k].never);
	}
	unwritten_fini(&u);
}

/* What a 0 in a mask leaves of xmm0, a 1 of it sets, and a shuffle takes. */
static void by_masks(void **state)
{
	static const uint8_t mask[UNWRITTEN_BYTES] = {0xff, 0, 0xff, 0xff, 0, 0x0f, 0x80}, none[UNWRITTEN_BYTES];
	static const struct {
		const char *code;
		unsigned n;
		uint8_t never[7];
	} t[] = {
		{"\x66\x0f\xdb\xc1", 4, {0, 0, 0, 0xff, 0, 0x0f, 0x80}}, /* pand %xmm1, %xmm0 */
		{"\x66\x0f\xdf\xc1", 4, {0, 0, 0, 0xff, 0, 0x0f, 0x80}}, /* pandn */
		{"\x66\x0f\xeb\xc1", 4, {0, 0, 0, 0, 0xff, 0xf0, 0x7f}}, /* por */
		{"\x66\x0f\x38\x00\xc1", 5, {0, 0, 0, 0, 0, 0xff, 0}}, /* pshufb */
	};
	struct unwritten u;
	struct insn_flow f;
	struct unwritten_done d = {.flow = &f, .sp = STACK, .next_sp = STACK, .vector = {none, mask}};
	struct seen s;

	(void)state;
	begin(&u, &s);
	for (size_t k = 0; k < sizeof(t) / sizeof(t[0]); k++) {
		ACCESS(&u, "\x0f\x10\x00", NEVER, 16); /* movups (%rax), %xmm0 */
		insn_flow((const uint8_t *)t[k].code, t[k].n, &f);
		unwritten_execute(&u, THREAD, &d, ORIGIN);
		assert_memory_equal(unwritten_thread(&u, THREAD)->vector[0], t[k].never, 7);
	}
	unwritten_fini(&u);
}

static void by_memory(void **state)
{
	uint8_t bits[16];
	uint32_t origin = 0;
	struct unwritten u;
	struct seen s;

	(void)state;
	begin(&u, &s);
	ACCESS(&u, "\x0f\x10\x00", NEVER, 16); /* movups (%rax), %xmm0 */
	ACCESS(&u, "\x0f\x11\x00", OTHER, 16); /* movups %xmm0, (%rax) */
	assert_true(unwritten_load(&u.memory, OTHER, 16, bits, &origin));
	assert_memory_equal(bits, "\0\0\0\xff\xff\xff", 6);
	assert_int_equal(origin, ORIGIN);
	ACCESS(&u, "\xc6\x00\x01", OTHER + 3, 1); /* movb $1, (%rax) */
	assert_true(unwritten_load(&u.memory, OTHER, 16, bits, &origin));
	assert_memory_equal(bits, "\0\0\0\0\xff\xff", 6);
	STEP(&u, "\x66\x0f\xef\xc0"); /* pxor %xmm0, %xmm0 */
	ACCESS(&u, "\x0f\x11\x00", OTHER, 16); /* movups %xmm0, (%rax) */
	assert_false(unwritten_load(&u.memory, OTHER, 16, bits, &origin));
	unwritten_copy(&u.memory, OTHER + 4094, NEVER, 8); /* over the end of a page */
	assert_true(unwritten_load(&u.memory, OTHER + 4094, 8, bits, &origin));
	assert_memory_equal(bits, "\0\0\0\xff\xff", 5);
	unwritten_fini(&u);
}

/* cmpl $0x01020304, (%rax), of which the last byte was never written. */
static void by_values(void **state)
{
	static const char cmp[] = "\x81\x38\x04\x03\x02\x01", jne[] = "\x75\x00", jb[] = "\x72\x00";
	const struct values same = {0xaa020304, 0}, differs = {0xaa020305, 0}, reg_and[] = {{1, 0xf}, {1, 0xe}};
	struct unwritten u;
	struct seen s;

	(void)state;
	begin(&u, &s);
	step(&u, cmp, 6, NEVER, 4, 0, &differs);
	step(&u, jne, 2, 0, 0, 0, NULL); /* they are not equal, whatever that byte is */
	assert_int_equal(s.branches, 0);
	step(&u, jb, 2, 0, 0, 0, NULL);
	assert_int_equal(s.branches, 1);
	step(&u, cmp, 6, NEVER, 4, 0, &same);
	step(&u, jne, 2, 0, 0, 0, NULL);
	assert_int_equal(s.branches, 2);
	ACCESS(&u, "\x8b\x08", NEVER + 4, 4); /* mov (%rax), %ecx */
	for (unsigned k = 0; k < 2; k++) {
		step(&u, "\x85\xd1", 2, 0, 0, 0, &reg_and[k]); /* test %edx, %ecx */
		step(&u, jne, 2, 0, 0, 0, NULL);
	}
	assert_int_equal(s.branches, 4);
	step(&u, "\x85\xd1", 2, 0, 0, 0, &(struct values){1, 0}); /* with 0 */
	step(&u, jne, 2, 0, 0, 0, NULL);
	assert_int_equal(s.branches, 4);
	unwritten_fini(&u);
}

/* 16 bytes, of which those from the fourth on were never written, are compared with others. */
static void by_vectors(void **state)
{
	const struct values third = {0xfffc, 0}, fourth = {0xfff8, 0};
	struct unwritten u;
	struct seen s;

	(void)state;
	begin(&u, &s);
	STEP(&u, "\x66\x0f\x76\xd2"); /* pcmpeqd %xmm2, %xmm2 */
	ACCESS(&u, "\x0f\x10\x00", NEVER, 16); /* movups (%rax), %xmm0 */
	STEP(&u, "\x66\x0f\x74\xc2"); /* pcmpeqb %xmm2, %xmm0 */
	STEP(&u, "\x66\x0f\xd7\xc8"); /* pmovmskb %xmm0, %ecx */
	assert_int_equal(reg(&u, INSN_RCX), 0xfff8);
	step(&u, "\x0f\xbc\xd1", 3, 0, 0, 0, &third); /* bsf %ecx, %edx */
	assert_int_equal(reg(&u, INSN_RDX), 0);
	step(&u, "\x0f\xbc\xd1", 3, 0, 0, 0, &fourth);
	assert_int_equal(reg(&u, INSN_RDX), 0xffffffff);
	step(&u, "\xff\xc1", 2, 0, 0, 0, &third); /* inc %ecx */
	STEP(&u, "\x74\x00"); /* je: it had a 0 */
	assert_int_equal(s.branches, 0);
	ACCESS(&u, "\x0f\x10\x00", NEVER, 16);
	STEP(&u, "\x66\x0f\x73\xf8\x0c"); /* pslldq $12, %xmm0 */
	STEP(&u, "\x66\x0f\xd7\xc8");
	assert_int_equal(reg(&u, INSN_RCX), 0x8000);
	ACCESS(&u, "\x0f\x10\x00", NEVER, 16);
	STEP(&u, "\x66\x0f\x73\xd8\x02"); /* psrldq $2, %xmm0 */
	STEP(&u, "\x66\x0f\x63\xc2"); /* packsswb %xmm2, %xmm0 */
	STEP(&u, "\x66\x0f\xd7\xc8");
	assert_int_equal(reg(&u, INSN_RCX), 0x7f);
	STEP(&u, "\x66\x0f\xef\xc0"); /* pxor %xmm0, %xmm0 */
	ACCESS(&u, "\x66\x0f\x38\x21\x00", NEVER + 2, 4); /* pmovsxbd (%rax), %xmm0 */
	STEP(&u, "\x0f\x50\xc8"); /* movmskps %xmm0, %ecx */
	assert_int_equal(reg(&u, INSN_RCX), 0xe);
	STEP(&u, "\x66\x0f\x38\x17\xc0"); /* ptest %xmm0, %xmm0 */
	STEP(&u, "\x74\x00");
	assert_int_equal(s.branches, 1);
	unwritten_fini(&u);
}

static bool is_never(struct unwritten *u, uint64_t addr)
{
	uint64_t at;
	uint32_t origin;

	return unwritten_find(&u->memory, addr, 1, &at, &origin);
}

static void by_stack(void **state)
{
	struct unwritten u;
	struct seen s;

	(void)state;
	begin(&u, &s);
	step(&u, "\x48\x83\xec\x40", 4, 0, 0, -0x40, NULL); /* sub $0x40, %rsp */
	assert_true(is_never(&u, STACK - 0x40 - UNWRITTEN_RED_ZONE));
	assert_false(is_never(&u, STACK - UNWRITTEN_RED_ZONE));
	step(&u, "\x53", 1, 0, 0, -8, NULL); /* push %rbx */
	step(&u, "\xe8\0\0\0\0", 5, 0, 0, -8, NULL); /* call */
	assert_false(is_never(&u, STACK - 8));
	assert_true(is_never(&u, STACK - 16));
	unwritten_jumped(&u, STACK, STACK - 64);
	assert_false(is_never(&u, STACK - 16));
	unwritten_fini(&u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_bits),     cmocka_unit_test(by_sums),    cmocka_unit_test(by_many),
		cmocka_unit_test(by_permutes), cmocka_unit_test(by_masks),   cmocka_unit_test(by_memory),
		cmocka_unit_test(by_values),   cmocka_unit_test(by_vectors), cmocka_unit_test(by_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
