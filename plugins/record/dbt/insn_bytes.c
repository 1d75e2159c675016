/* SPDX-License-Identifier: MIT */
/*
 * insn_bytes.c: see insn_bytes.h. Intel's manual, volume 2. What is not in these tables only costs time: the worker
 * decodes it. So they have what compilers make often.
 */
#include "record/dbt/insn_bytes.h"

int insn_has_prefix(const uint8_t *p, const struct insn *i, uint8_t prefix)
{
	for (const uint8_t *q = p; q < p + i->op_at - i->vex; q++)
		if (*q == prefix)
			return 1;
	return 0;
}

enum insn_prefix insn_simd_prefix(const uint8_t *p, const struct insn *i)
{
	if (i->vex == 2 || i->vex == 3)
		return (enum insn_prefix)(p[i->op_at - 1] & 3);
	if (i->vex == EVEX_BYTES)
		return (enum insn_prefix)(p[i->op_at - 2] & 3);
	if (insn_has_prefix(p, i, 0xf3))
		return INSN_PP_F3;
	if (insn_has_prefix(p, i, 0xf2))
		return INSN_PP_F2;
	return insn_has_prefix(p, i, HALF) ? INSN_PP_66 : INSN_PP_NONE;
}

unsigned insn_number_bytes(const uint8_t *p, const struct insn *i)
{
	return i->rex & 8 ? 8 : insn_has_prefix(p, i, HALF) ? 2 : 4;
}

static unsigned middle(const uint8_t *p, const struct insn *i)
{
	return p[i->modrm_at] >> 3 & 7;
}

/* Opcodes of one byte. */
static unsigned of_one_byte(const uint8_t *p, const struct insn *i)
{
	unsigned n = insn_number_bytes(p, i), odd = i->op & 1 ? n : 1;

	if (i->op < 0x40 && (i->op & 7) < 4)
		return odd;
	switch (i->op) {
	case 0x63: /* movsxd */
		return i->rex & 8 ? 4 : 0;
	case 0x80 ... 0x81:
	case 0x84 ... 0x8b:
	case 0xc0 ... 0xc1:
	case 0xd0 ... 0xd3:
	case 0xf6 ... 0xf7:
		return odd;
	case 0x69:
	case 0x6b:
	case 0x83:
		return n;
	case 0xc6 ... 0xc7:
		return middle(p, i) ? 0 : odd;
	case 0xfe ... 0xff: /* inc, dec; call, jmp */
		if (middle(p, i) < 2)
			return odd;
		return i->kind == INSN_CALL_BY || i->kind == INSN_JMP_BY ? 8 : 0;
	default:
		return 0;
	}
}

/* Opcodes of a map, and the size of their operand by prefix. The first row with the opcode counts. */
struct sizes {
	uint8_t first, last;
	uint8_t by_prefix[4]; /* INSN_PP_NONE, 66, F3, F2 */
};

enum {
	ALL = 0xff, /* the vector */
	NUM = 0xfe, /* a number, or an element, of the instruction's size */
};

static unsigned of_table(const struct sizes *table, const struct insn *i, enum insn_prefix pp, unsigned all,
			 unsigned number)
{
	while (i->op < table->first || i->op > table->last)
		table++;
	switch (table->by_prefix[pp]) {
	case ALL:
		return all;
	case NUM:
		return number;
	default:
		return table->by_prefix[pp];
	}
}

/* Vectors of map 0f: those that SSE and AVX have in common. */
static const struct sizes vectors[] = {
	{0x10, 0x11, {ALL, ALL, 4, 8}}, /* movups and the like, arithmetic */
	{0x12, 0x12, {8, 8, ALL, 0}},	{0x13, 0x13, {8, 8, 0, 0}},	  {0x14, 0x15, {ALL, ALL, 0, 0}},
	{0x16, 0x16, {8, 8, ALL, 0}},	{0x17, 0x17, {8, 8, 0, 0}},	  {0x28, 0x29, {ALL, ALL, 0, 0}},
	{0x2a, 0x2a, {0, 0, NUM, NUM}}, /* cvtsi2ss, cvtsi2sd */
	{0x2b, 0x2b, {ALL, ALL, 0, 0}}, {0x2c, 0x2d, {0, 0, 4, 8}},	  {0x2e, 0x2f, {4, 8, 0, 0}},
	{0x51, 0x51, {ALL, ALL, 4, 8}}, {0x54, 0x57, {ALL, ALL, 0, 0}},	  {0x58, 0x59, {ALL, ALL, 4, 8}},
	{0x5c, 0x5f, {ALL, ALL, 4, 8}}, {0x60, 0x6d, {0, ALL, 0, 0}}, /* punpck, pcmpgt, pack */
	{0x6f, 0x6f, {0, ALL, ALL, 0}}, {0x70, 0x70, {0, ALL, ALL, ALL}}, {0x74, 0x76, {0, ALL, 0, 0}}, /* pcmpeq */
	{0x7e, 0x7e, {0, 0, 8, 0}},	{0x7f, 0x7f, {0, ALL, ALL, 0}},	  {0xc2, 0xc2, {ALL, ALL, 4, 8}},
	{0xc6, 0xc6, {ALL, ALL, 0, 0}}, {0xd1, 0xd3, {0, 16, 0, 0}}, /* shifts by a count */
	{0xd6, 0xd6, {0, 8, 0, 0}},	{0xd7, 0xd7, {0, 0, 0, 0}},	  {0xe1, 0xe2, {0, 16, 0, 0}},
	{0xe6, 0xe6, {0, 0, 0, 0}},	{0xf0, 0xf0, {0, 0, 0, ALL}},	  {0xf1, 0xf3, {0, 16, 0, 0}},
	{0xf7, 0xf7, {0, 0, 0, 0}},	{0xd4, 0xfe, {0, ALL, 0, 0}}, /* padd, pand, por, pxor, psub and the like */
	{0x00, 0xff, {0, 0, 0, 0}},
};

/* The map 0f, without VEX. */
static unsigned of_two_bytes(const uint8_t *p, const struct insn *i)
{
	enum insn_prefix pp = insn_simd_prefix(p, i);
	unsigned n = insn_number_bytes(p, i);

	switch (i->op) {
	case 0x40 ... 0x4f: /* cmov */
		return n;
	case 0x5a:
		return (const uint8_t[]){8, 16, 4, 8}[pp];
	case 0x6e: /* movd, movq */
	case 0x7e:
		if (pp == INSN_PP_66)
			return i->rex & 8 ? 8 : 4;
		break;
	case 0x90 ... 0x9f: /* setcc */
	case 0xb0:
	case 0xb6:
	case 0xbe:
	case 0xc0:
		return 1;
	case 0xa4 ... 0xa5:
	case 0xac ... 0xad:
	case 0xaf: /* imul */
	case 0xb1:
	case 0xb8: /* popcnt */
	case 0xba: /* bt by a constant */
	case 0xbc ... 0xbd: /* tzcnt, lzcnt, bsf, bsr */
	case 0xc1:
		return n;
	case 0xb7:
	case 0xbf:
		return 2;
	case 0xc3: /* movnti */
		return pp == INSN_PP_NONE ? n : 0;
	default:
		break;
	}
	return of_table(vectors, i, pp, 16, n);
}

/* After VEX, in map 0f38 with the prefix 66 */
static const struct sizes vex_38[] = {
	{0x00, 0x00, {0, ALL}}, /* pshufb */
	{0x17, 0x17, {0, ALL}}, /* ptest */
	{0x18, 0x18, {0, 4}}, /* broadcasts */
	{0x19, 0x19, {0, 8}},
	{0x1a, 0x1a, {0, 16}},
	{0x36, 0x40, {0, ALL}}, /* pmin, pmax, pmul */
	{0x58, 0x58, {0, 4}},
	{0x59, 0x59, {0, 8}},
	{0x5a, 0x5a, {0, 16}},
	{0x78, 0x78, {0, 1}},
	{0x79, 0x79, {0, 2}},
	{0xf7, 0xf7, {NUM, NUM, NUM, NUM}}, /* bextr, shlx, sarx, shrx */
	{0xf2, 0xf2, {NUM, NUM, NUM, NUM}}, /* andn */
	{0x00, 0xff, {0, 0, 0, 0}},
};

/* After VEX, of 16 or 32 bytes. */
static unsigned of_vex(const uint8_t *p, const struct insn *i)
{
	enum insn_prefix pp = insn_simd_prefix(p, i);
	unsigned all = p[i->op_at - 1] & 4 ? 32 : 16, wide = i->vex == 3 && p[i->op_at - 1] & 0x80 ? 8 : 4;

	if (i->map == 1 && (i->op == 0x6e || (i->op == 0x7e && pp == INSN_PP_66)))
		return pp == INSN_PP_66 ? wide : 0;
	if (i->map == 1 || i->map == 2)
		return of_table(i->map == 1 ? vectors : vex_38, i, pp, all, wide);
	return i->map == 3 && i->op == 0xf0 ? wide : 0; /* rorx */
}

/* After EVEX, in map 0f */
static const struct sizes evex[] = {
	{0x10, 0x11, {ALL, ALL, 0, 0}},	  {0x28, 0x29, {ALL, ALL, 0, 0}}, {0x6f, 0x6f, {0, ALL, ALL, ALL}},
	{0x7f, 0x7f, {0, ALL, ALL, ALL}}, {0xe7, 0xe7, {0, ALL, 0, 0}},	  {0x00, 0xff, {0, 0, 0, 0}},
};

/* After EVEX, without opmask, broadcast and scaled displacement. */
static unsigned of_evex(const uint8_t *p, const struct insn *i)
{
	uint8_t last = p[i->op_at - 1];
	unsigned all = 16u << (last >> 5 & 3);

	if (last & 0x17 || p[i->modrm_at] >> 6 == 1 || all > 64 || i->map != 1)
		return 0;
	return of_table(evex, i, insn_simd_prefix(p, i), all, 0);
}

unsigned insn_operand_bytes(const uint8_t *p, const struct insn *i)
{
	if (!i->modrm_at || p[i->modrm_at] >> 6 == 3)
		return 0;
	if (i->vex == EVEX_BYTES)
		return of_evex(p, i);
	if (i->vex)
		return of_vex(p, i);
	if (i->map == 0)
		return of_one_byte(p, i);
	if (i->map == 1)
		return of_two_bytes(p, i);
	return i->map == 2 && insn_simd_prefix(p, i) == INSN_PP_66 && i->op == 0x00 ? 16 : 0;
}

static enum insn_way way_of_one_byte(const uint8_t *p, const struct insn *i)
{
	unsigned m = middle(p, i);

	if (i->op < 0x40)
		return i->op & 2 || i->op >= 0x38 ? INSN_READS : INSN_CHANGES; /* 38, 39: cmp */
	switch (i->op) {
	case 0x63:
	case 0x69:
	case 0x6b:
	case 0x84 ... 0x85:
	case 0x8a ... 0x8b:
		return INSN_READS;
	case 0x80 ... 0x81:
	case 0x83:
		return m == 7 ? INSN_READS : INSN_CHANGES;
	case 0x88 ... 0x89:
	case 0xc6 ... 0xc7:
		return INSN_WRITES;
	case 0xc0 ... 0xc1:
	case 0xd0 ... 0xd3:
		return INSN_CHANGES;
	case 0xf6 ... 0xf7: /* not, neg */
		return m == 2 || m == 3 ? INSN_CHANGES : INSN_READS;
	case 0xfe ... 0xff:
		return m < 2 ? INSN_CHANGES : INSN_NOT_KNOWN;
	default:
		return INSN_NOT_KNOWN;
	}
}

static enum insn_way way_of_two_bytes(const uint8_t *p, const struct insn *i)
{
	switch (i->op) {
	case 0x11: /* vectors */
	case 0x13:
	case 0x17:
	case 0x29:
	case 0x2b:
	case 0x7f:
	case 0xd6:
	case 0xe7:
		return INSN_WRITES;
	case 0x7e:
		return insn_simd_prefix(p, i) == INSN_PP_F3 ? INSN_READS : INSN_WRITES;
	case 0x90 ... 0x9f: /* setcc */
	case 0xc3: /* movnti */
		return i->vex ? INSN_NOT_KNOWN : INSN_WRITES;
	case 0xa4 ... 0xa5: /* shld, shrd */
	case 0xac ... 0xad:
		return INSN_CHANGES;
	case 0xb0 ... 0xb1: /* cmpxchg, xadd */
	case 0xc0 ... 0xc1:
		return INSN_NOT_KNOWN;
	case 0xba: /* bt and those that change the bit */
		return middle(p, i) == 4 ? INSN_READS : INSN_CHANGES;
	default:
		return INSN_READS;
	}
}

enum insn_way insn_operand_way(const uint8_t *p, const struct insn *i)
{
	if (insn_has_prefix(p, i, LOCK_PREFIX))
		return INSN_NOT_KNOWN;
	if (i->map == 1)
		return way_of_two_bytes(p, i);
	if (!i->vex && i->map == 0)
		return way_of_one_byte(p, i);
	return INSN_READS; /* of maps 0f38 and 0f3a, only instructions that read have a known size */
}

/* ---- flags ---- */

/* Intel's manual, volume 1, appendix A. AND, OR, XOR and TEST leave AF undefined; processors clear it. */
/* of add, or, adc, sbb, and, sub, xor, cmp, numbered in this order */
static enum insn_flags arithmetic(unsigned which)
{
	return which == 2 || which == 3 ? INSN_FLAGS_READ : INSN_FLAGS_SET;
}

static enum insn_flags flags_one_byte(const uint8_t *p, const struct insn *i)
{
	if (i->op < 0x40)
		return (i->op & 7) < 6 ? arithmetic(i->op >> 3) : INSN_FLAGS_READ;
	switch (i->op) {
	case 0x80:
	case 0x81:
	case 0x83:
		return arithmetic(middle(p, i));
	case 0x84 ... 0x85: /* test */
	case 0xa8 ... 0xa9:
		return INSN_FLAGS_SET;
	case 0xf6 ... 0xf7: /* test, not, neg, mul, div */
		return middle(p, i) < 2 || middle(p, i) == 3 ? INSN_FLAGS_SET : INSN_FLAGS_LEFT;
	case 0xc0 ... 0xc1: /* shifts, rotations; rcl, rcr */
	case 0xd0 ... 0xd3:
		return middle(p, i) == 2 || middle(p, i) == 3 ? INSN_FLAGS_READ : INSN_FLAGS_LEFT;
	case 0xfe ... 0xff: /* inc, dec, push */
		return i->kind == INSN_PLAIN ? INSN_FLAGS_LEFT : INSN_FLAGS_READ;
	case 0x50 ... 0x5f: /* push, pop */
	case 0x63: /* movslq */
	case 0x68 ... 0x6b: /* push, imul */
	case 0x86 ... 0x8b: /* xchg, mov */
	case 0x8d: /* lea */
	case 0x90 ... 0x99: /* xchg, cltq, cqto */
	case 0xb0 ... 0xbf: /* mov */
	case 0xc6 ... 0xc7:
	case 0xc9: /* leave */
		return INSN_FLAGS_LEFT;
	default:
		return INSN_FLAGS_READ;
	}
}

static enum insn_flags flags_two_bytes(const struct insn *i)
{
	switch (i->op) {
	case 0x2e ... 0x2f: /* ucomis, comis */
		return INSN_FLAGS_SET;
	case 0x0d: /* prefetches, nops */
	case 0x18 ... 0x1f:
	case 0x10 ... 0x17: /* moves of vectors */
	case 0x28 ... 0x2d:
	case 0x50 ... 0x76: /* computing on vectors */
	case 0x7c ... 0x7f:
	case 0xa3: /* bt */
	case 0xaf: /* imul */
	case 0xb6 ... 0xb7: /* movzx */
	case 0xba: /* bt and the like */
	case 0xbc ... 0xbf: /* bsf, bsr, movsx */
	case 0xc6: /* shufps */
	case 0xc8 ... 0xcf: /* bswap */
	case 0xd0 ... 0xfe:
		return INSN_FLAGS_LEFT;
	default:
		return INSN_FLAGS_READ;
	}
}

enum insn_flags insn_flags_use(const uint8_t *p, const struct insn *i)
{
	if (i->kind != INSN_PLAIN)
		return INSN_FLAGS_READ;
	if (i->vex) /* none of these reads them */
		return INSN_FLAGS_LEFT;
	return i->map == 0 ? flags_one_byte(p, i) : i->map == 1 ? flags_two_bytes(i) : INSN_FLAGS_READ;
}
