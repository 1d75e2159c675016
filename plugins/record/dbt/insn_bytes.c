/* SPDX-License-Identifier: MIT */
/*
 * insn_bytes.c: see insn_bytes.h. Intel's manual, volume 2. What is not in these tables only costs time: the worker
 * decodes it. So they have what compilers make often.
 */
#include "record/dbt/insn_bytes.h"

#define EVEX_BYTES 4
#define HALF 0x66

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

/* The map of opcodes of one byte. */
static unsigned of_one_byte(const uint8_t *p, const struct insn *i)
{
	unsigned n = insn_number_bytes(p, i), odd = i->op & 1 ? n : 1;

	if (i->op < 0x40 && (i->op & 7) < 4)
		return odd;
	switch (i->op) {
	case 0x63: /* movsxd */
		return i->rex & 8 ? 4 : 0;
	case 0x69:
	case 0x6b:
		return n;
	case 0x80:
	case 0x81:
	case 0x84:
	case 0x85:
	case 0x86:
	case 0x87:
	case 0x88:
	case 0x89:
	case 0x8a:
	case 0x8b:
	case 0xc0:
	case 0xc1:
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
	case 0xf6:
	case 0xf7:
		return odd;
	case 0x83:
		return n;
	case 0xc6:
	case 0xc7:
		return middle(p, i) ? 0 : odd;
	case 0xfe:
	case 0xff: /* inc, dec; call, jmp */
		if (middle(p, i) < 2)
			return odd;
		return i->kind == INSN_CALL_BY || i->kind == INSN_JMP_BY ? 8 : 0;
	default:
		return 0;
	}
}

static unsigned by_prefix(enum insn_prefix pp, unsigned none, unsigned p66, unsigned f3, unsigned f2)
{
	const unsigned v[] = {[INSN_PP_NONE] = none, [INSN_PP_66] = p66, [INSN_PP_F3] = f3, [INSN_PP_F2] = f2};

	return v[pp];
}

/* Vectors of map 0f, of `all` bytes: those that SSE and AVX have in common. */
static unsigned of_vectors(const struct insn *i, enum insn_prefix pp, unsigned all)
{
	switch (i->op) {
	case 0x10: /* movups and the like, arithmetic */
	case 0x11:
	case 0x51:
	case 0x58:
	case 0x59:
	case 0x5c:
	case 0x5d:
	case 0x5e:
	case 0x5f:
	case 0xc2:
		return by_prefix(pp, all, all, 4, 8);
	case 0x12:
		return by_prefix(pp, 8, 8, all, 0);
	case 0x13:
	case 0x17:
		return by_prefix(pp, 8, 8, 0, 0);
	case 0x16:
		return by_prefix(pp, 8, 8, all, 0);
	case 0x14:
	case 0x15:
	case 0x28:
	case 0x29:
	case 0x2b:
	case 0x54:
	case 0x55:
	case 0x56:
	case 0x57:
	case 0xc6:
		return by_prefix(pp, all, all, 0, 0);
	case 0x2e:
	case 0x2f:
		return by_prefix(pp, 4, 8, 0, 0);
	case 0x6f:
	case 0x7f:
		return by_prefix(pp, 0, all, all, 0);
	case 0x7e:
		return by_prefix(pp, 0, 0, 8, 0);
	case 0xd6:
		return by_prefix(pp, 0, 8, 0, 0);
	case 0xe7:
		return by_prefix(pp, 0, all, 0, 0);
	case 0xf0:
		return by_prefix(pp, 0, 0, 0, all);
	case 0x70:
		return by_prefix(pp, 0, all, all, all);
	case 0xd1: /* shifts by a count */
	case 0xd2:
	case 0xd3:
	case 0xe1:
	case 0xe2:
	case 0xf1:
	case 0xf2:
	case 0xf3:
		return by_prefix(pp, 0, 16, 0, 0);
	default:
		break;
	}
	/* punpck, pcmpgt, pack; pcmpeq; padd, pand, por, pxor, psub and the like */
	if ((i->op >= 0x60 && i->op <= 0x6d) || (i->op >= 0x74 && i->op <= 0x76) ||
	    (i->op >= 0xd4 && i->op <= 0xfe && i->op != 0xd7 && i->op != 0xe6 && i->op != 0xf7))
		return by_prefix(pp, 0, all, 0, 0);
	return 0;
}

/* The map 0f, without VEX. */
static unsigned of_two_bytes(const uint8_t *p, const struct insn *i)
{
	enum insn_prefix pp = insn_simd_prefix(p, i);
	unsigned n = insn_number_bytes(p, i);

	if ((i->op & 0xf0) == 0x40) /* cmov */
		return n;
	if ((i->op & 0xf0) == 0x90) /* setcc */
		return 1;
	switch (i->op) {
	case 0x2a: /* cvtsi2ss, cvtsi2sd */
		return by_prefix(pp, 0, 0, n, n);
	case 0x2c:
	case 0x2d:
		return by_prefix(pp, 0, 0, 4, 8);
	case 0x5a:
		return by_prefix(pp, 8, 16, 4, 8);
	case 0x6e: /* movd, movq */
	case 0x7e:
		if (pp == INSN_PP_66)
			return i->rex & 8 ? 8 : 4;
		break;
	case 0xa4:
	case 0xa5:
	case 0xac:
	case 0xad:
	case 0xaf: /* imul */
	case 0xba: /* bt by a constant */
	case 0xb1:
	case 0xc1:
		return n;
	case 0xb0:
	case 0xc0:
	case 0xb6:
	case 0xbe:
		return 1;
	case 0xb7:
	case 0xbf:
		return 2;
	case 0xb8: /* popcnt, tzcnt, lzcnt, bsf, bsr */
	case 0xbc:
	case 0xbd:
		return n;
	case 0xc3: /* movnti */
		return pp == INSN_PP_NONE ? n : 0;
	default:
		break;
	}
	return of_vectors(i, pp, 16);
}

/* After VEX, of 16 or 32 bytes. */
static unsigned of_vex(const uint8_t *p, const struct insn *i)
{
	enum insn_prefix pp = insn_simd_prefix(p, i);
	unsigned all = p[i->op_at - 1] & 4 ? 32 : 16, wide = i->vex == 3 && p[i->op_at - 1] & 0x80 ? 8 : 4;

	if (i->map == 1) {
		if (i->op == 0x6e || (i->op == 0x7e && pp == INSN_PP_66))
			return pp == INSN_PP_66 ? wide : 0;
		if (i->op == 0x2a)
			return by_prefix(pp, 0, 0, wide, wide);
		if (i->op == 0x2c || i->op == 0x2d)
			return by_prefix(pp, 0, 0, 4, 8);
		return of_vectors(i, pp, all);
	}
	if (i->map == 2 && pp == INSN_PP_66)
		switch (i->op) {
		case 0x00: /* pshufb */
		case 0x17: /* ptest */
		case 0x36:
		case 0x37:
		case 0x38: /* pmin, pmax, pmul */
		case 0x39:
		case 0x3a:
		case 0x3b:
		case 0x3c:
		case 0x3d:
		case 0x3e:
		case 0x3f:
		case 0x40:
			return all;
		case 0x18: /* broadcasts */
		case 0x58:
			return 4;
		case 0x19:
		case 0x59:
			return 8;
		case 0x1a:
		case 0x5a:
			return 16;
		case 0x78:
			return 1;
		case 0x79:
			return 2;
		default:
			break;
		}
	/* andn, bextr, shlx, sarx, shrx; rorx */
	if ((i->map == 2 && (i->op == 0xf2 || i->op == 0xf7)) || (i->map == 3 && i->op == 0xf0))
		return wide;
	return 0;
}

/* After EVEX, without opmask, broadcast, and a displacement that is scaled. */
static unsigned of_evex(const uint8_t *p, const struct insn *i)
{
	enum insn_prefix pp = insn_simd_prefix(p, i);
	uint8_t last = p[i->op_at - 1];
	unsigned all = 16u << (last >> 5 & 3);

	if (last & 0x17 || p[i->modrm_at] >> 6 == 1 || all > 64 || i->map != 1)
		return 0;
	switch (i->op) {
	case 0x10:
	case 0x11:
	case 0x28:
	case 0x29:
		return by_prefix(pp, all, all, 0, 0);
	case 0x6f:
	case 0x7f:
		return by_prefix(pp, 0, all, all, all);
	case 0xe7:
		return by_prefix(pp, 0, all, 0, 0);
	default:
		return 0;
	}
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
