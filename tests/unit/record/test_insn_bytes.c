/* SPDX-License-Identifier: MIT */
/*
 * What the recorder believes of the size of an operand, of whether it is read or written, and of flags, against Zydis:
 * where they differ, a check would miss accesses. Of instructions with any opcode and prefixes, and of all that libc
 * has.
 */
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "record/dbt/insn_bytes.h"
#include "shape.h"

static unsigned compared;

static void compare_flags(const uint8_t *p, const struct insn *i)
{
	enum insn_flags use = insn_flags_use(p, i);
	unsigned is = shape_flags(p, 15);
	char text[64] = "";

	for (unsigned k = 0; k < i->len && k < 16; k++)
		snprintf(text + 3 * k, 4, "%02x ", p[k]);
	if ((use != INSN_FLAGS_READ && is & 1) || (use == INSN_FLAGS_SET && is & 2))
		fail_msg("%s: flags %d, and by Zydis %u", text, use, is);
}

/* Compares one instruction; its length, 0: it is none. */
static unsigned compare(const uint8_t *p)
{
	unsigned bytes, len;
	struct insn i;
	int is;

	insn_decode(p, &i);
	is = shape_bytes(p, 15, &len);
	if (is != -1 && len == i.len)
		compare_flags(p, &i);
	bytes = i.kind == INSN_STOP ? 0 : insn_operand_bytes(p, &i);
	if (!bytes || is == -1)
		return len;
	if (is != (int)bytes || len != i.len) {
		char text[64] = "";

		for (unsigned k = 0; k < i.len; k++)
			snprintf(text + 3 * k, 4, "%02x ", p[k]);
		fail_msg("%s: %u bytes, and by Zydis %d", text, bytes, is);
	}
	is = (int)insn_operand_way(p, &i);
	if (is != INSN_NOT_KNOWN && (unsigned)is != shape_way(p, 15)) {
		char text[64] = "";

		for (unsigned k = 0; k < i.len; k++)
			snprintf(text + 3 * k, 4, "%02x ", p[k]);
		fail_msg("%s: way %d, and by Zydis %u", text, is, shape_way(p, 15));
	}
	compared++;
	return len;
}

static uint64_t random_of(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	return *x ^= *x << 17;
}

/* Any opcode of each map, with prefixes, and an operand in memory. */
static void test_opcodes(void **state)
{
	static const uint8_t before[][2] = {{0, 0},    {0x66, 0},    {0xf3, 0},	   {0xf2, 0},
					    {0x48, 0}, {0x66, 0x48}, {0xf3, 0x48}, {0xf2, 0x48}};
	static const uint8_t maps[][2] = {{0, 0}, {0x0f, 0}, {0x0f, 0x38}, {0x0f, 0x3a}};
	static const uint8_t modrm[] = {0x00, 0x47, 0x8f, 0x34, 0xc1}; /* the last one but one with SIB */
	uint64_t x = 88172645463325252ull;

	(void)state;
	compared = 0;
	for (unsigned a = 0; a < 8; a++)
		for (unsigned m = 0; m < 4; m++)
			for (unsigned op = 0; op < 256; op++)
				for (unsigned r = 0; r < 40; r++) {
					uint8_t b[32] = {0};
					unsigned n = 0;

					for (unsigned k = 0; k < 2; k++)
						if (before[a][k])
							b[n++] = before[a][k];
					for (unsigned k = 0; k < 2; k++)
						if (maps[m][k])
							b[n++] = maps[m][k];
					b[n++] = (uint8_t)op;
					b[n++] = (uint8_t)(modrm[r % 5] ^ (r / 5) << 3);
					for (unsigned k = n; k < 24; k++)
						b[k] = (uint8_t)random_of(&x) & 0x3f;
					compare(b);
				}
	assert_true(compared > 10000);
}

static void test_vectors(void **state)
{
	static const uint8_t pp[] = {0, 1, 2, 3};
	uint64_t x = 1181783497276652981ull;

	(void)state;
	compared = 0;
	for (unsigned vex = 2; vex <= 4; vex++)
		for (unsigned op = 0; op < 256; op++)
			for (unsigned k = 0; k < 512; k++) {
				uint8_t b[32] = {0}, v = (uint8_t)random_of(&x);
				unsigned n = 0;

				if (vex == 2) {
					b[n++] = 0xc5;
					b[n++] = (uint8_t)(0xf8 | (k & 4) | pp[k & 3]);
				} else if (vex == 3) {
					b[n++] = 0xc4;
					b[n++] = (uint8_t)(0xe0 | (1 + (k >> 4) % 3));
					b[n++] = (uint8_t)(0x78 | (v & 0x84) | pp[k & 3]);
				} else {
					b[n++] = 0x62;
					b[n++] = (uint8_t)(0xf0 | (1 + (k >> 4) % 3));
					b[n++] = (uint8_t)(0x7c | (v & 0x80) | pp[k & 3]);
					b[n++] = (uint8_t)(0x08 | (v & 0x70));
				}
				b[n++] = (uint8_t)op;
				b[n++] = (uint8_t)(random_of(&x) & 0x87);
				for (unsigned q = n; q < 24; q++)
					b[q] = (uint8_t)random_of(&x) & 0x3f;
				compare(b);
			}
	assert_true(compared > 10000);
}

/* Bytes of a VEX prefix may be those of a segment's. */
static void test_segments(void **state)
{
	static const uint8_t vmulps[] = {0xc4, 0xc1, 0x64, 0x59, 0x00}; /* (%r8), %ymm3, %ymm0 */
	static const uint8_t of_thread[] = {0x64, 0xc5, 0xfc, 0x28, 0x00}; /* vmovaps %fs:(%rax), %ymm0 */
	const uint64_t reg[16] = {[0] = 4096, [8] = 8192};
	struct insn i;

	(void)state;
	insn_decode(vmulps, &i);
	assert_int_equal(i.len, sizeof(vmulps));
	assert_false(insn_has_prefix(vmulps, &i, 0x64));
	assert_int_equal(insn_address(vmulps, &i, reg), 8192);
	insn_decode(of_thread, &i);
	assert_int_equal(i.len, sizeof(of_thread));
	assert_true(insn_has_prefix(of_thread, &i, 0x64));
	assert_int_equal(insn_address(of_thread, &i, reg), 0);
}

static int each_file(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	(void)data;
	for (unsigned k = 0; k < info->dlpi_phnum && info->dlpi_name[0] == '/'; k++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[k];
		const uint8_t *p = (const uint8_t *)info->dlpi_addr + h->p_vaddr, *end = p + h->p_filesz;

		for (; h->p_type == PT_LOAD && h->p_flags & PF_X && p + 32 < end;) {
			unsigned n = compare(p);

			p += n ? n : 1;
		}
	}
	return 0;
}

static void test_libraries(void **state)
{
	(void)state;
	compared = 0;
	dl_iterate_phdr(each_file, NULL);
	assert_true(compared > 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_opcodes),
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_libraries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
