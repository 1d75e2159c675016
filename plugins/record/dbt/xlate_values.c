/* SPDX-License-Identifier: MIT */
/* xlate_values.c: entries of a report for the values that an instruction computes with (REPORT_VALUES). */
#include "record/core/state.h"
#include "record/dbt/insn_bytes.h"
#include "record/dbt/xlate_entry.h"

/* bsf, bsr, tzcnt, lzcnt */
static int counts_zeros(const struct insn *i)
{
	return !i->vex && i->map == 1 && (i->op & 0xfe) == 0xbc;
}

static int moves_if(const struct insn *i)
{
	return !i->vex && i->map == 1 && (i->op & 0xf0) == 0x40;
}

/* bt and the like, of a register */
static int tests_bit(const uint8_t *p, const struct insn *i)
{
	return i->map == 1 && (i->op & 0xe7) == 0xa3 && p[i->modrm_at] >> 6 == 3;
}

/* shl and the like, by cl */
static int shifts(const struct insn *i)
{
	return i->map == 0 && (i->op & 0xfe) == 0xd2;
}

/* A worker that does not know VECTOR does not know values of cmov, bt and shifts either. */
static int since_vector(const struct xlate *x)
{
	return report_knows(report_of(x), REPORT_VECTOR);
}

/* add, or, adc, sbb, and, sub, xor, cmp: 00 to 3d; the same with a constant: 80, 81, 83; test: 84, 85, a8, a9, f6, f7;
 * inc, dec: fe, ff
 */
int xlate_has_values(const struct xlate *x, const uint8_t *p, const struct insn *i)
{
	if (i->vex || insn_has_prefix(p, i, GS_PREFIX))
		return 0;
	if (i->map != 0)
		return counts_zeros(i) || (since_vector(x) && (moves_if(i) || tests_bit(p, i)));
	if (shifts(i))
		return since_vector(x);
	if (!i->modrm_at)
		return (i->op & 0xc6) == 0x04 || (i->op & 0xfe) == 0xa8;
	if ((i->op & 0xf6) == 0xf6)
		return (p[i->modrm_at] >> 3 & 6) == 0;
	return (i->op & 0xc4) == 0 || i->op == 0x80 || i->op == 0x81 || i->op == 0x83 || (i->op & 0xfe) == 0x84;
}

static int has_other_register(const uint8_t *p, const struct insn *i)
{
	if (i->map)
		return tests_bit(p, i);
	return i->modrm_at && ((i->op & 0xc4) == 0 || (i->op & 0xfe) == 0x84 || shifts(i));
}

/* For instructions with values: is the operand a byte? */
static int is_of_bytes(const struct insn *i)
{
	return !(i->op & 1) && i->map == 0;
}

/* The full register of which this one is a part: without REX, byte registers 4 to 7 are ah to bh. */
static unsigned whole(const struct insn *i, unsigned reg)
{
	return is_of_bytes(i) && !i->rex && reg >= 4 ? reg - 4 : reg;
}

/* mov %reg, %rcx */
static void put_register(struct cache *c, unsigned reg)
{
	const uint8_t b[] = {(uint8_t)(0x48 | reg >> 3 << 2), STORE, (uint8_t)(0xc0 | (reg & 7) << 3 | RCX)};

	put(c, b, sizeof(b));
}

/* mov OPERAND, %rcx, with the operand's size; the upper bytes become 0 */
static void put_operand(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	uint8_t rex = (uint8_t)(0x40 | (i->rex & 0xb)), modrm = (uint8_t)((p[i->modrm_at] & 0xc7) | MODRM_RCX);
	unsigned to = i->imm_at ? i->imm_at : i->len;
	int byte = is_of_bytes(i), half = insn_has_prefix(p, i, HALF) && !(i->rex & 8);

	for (const uint8_t *q = p; q < p + i->op_at; q++)
		if (*q == FS_PREFIX || *q == ADDR32)
			put(c, q, 1);
	put(c, &rex, 1);
	if (byte)
		BYTES(c, 0x0f, 0xb6);
	else if (half)
		BYTES(c, 0x0f, 0xb7);
	else
		BYTES(c, LOAD);
	put(c, &modrm, 1);
	put(c, p + i->modrm_at + 1, to - i->modrm_at - 1u);
	adjust_operand(x, c, p, i);
}

/* set.. %cl; movzbl %cl, %ecx: by the program's flags */
static void put_condition(struct cache *c, const struct insn *i)
{
	const uint8_t set[] = {0x0f, (uint8_t)(0x90 | (i->op & 15)), 0xc1};

	put(c, set, sizeof(set));
	BYTES(c, 0x0f, 0xb6, 0xc9);
}

void xlate_put_values(struct xlate *x, struct cache *c, const uint8_t *p, const struct insn *i)
{
	uint8_t modrm = i->modrm_at ? p[i->modrm_at] : 0xc0; /* without one: rax */
	unsigned reg = shifts(i) ? RCX : whole(i, (modrm >> 3 & 7) | (i->rex & 4) << 1);
	int other = has_other_register(p, i);

	keep_rax_rcx(c);
	if (moves_if(i))
		put_condition(c, i);
	else if (modrm >> 6 == 3)
		put_register(c, whole(i, (modrm & 7) | (i->rex & 1) << 3));
	else
		put_operand(x, c, p, i);
	put_cur(x, c, LOAD);
	put_word(c, 1);
	if (other && reg == RAX)
		put_gs(c, LOAD, RCX, GS(kept_rax));
	else if (other && reg == RCX)
		put_gs(c, LOAD, RCX, GS(kept_rcx));
	else if (other)
		put_register(c, reg);
	put_word(c, 2);
	put_head(c, REPORT_VALUES, (uint64_t)p);
	end(x, c, 3);
}
