/* SPDX-License-Identifier: MIT */
/*
 * flow.h: what one x86-64 instruction does with the bits of its operands, as far as this is needed to follow which of
 * them were never written: which bits of the result depend on which bits of the operands, if that is simple. The
 * results of instructions that are not known here count as written.
 */
#ifndef FRED_INSN_FLOW_H
#define FRED_INSN_FLOW_H

#include "insn/insn.h"

/*
 * Operations with the same arrangement of operands are next to each other: the tables by operation (flow.c,
 * unwritten/unwritten.c) name the first and the last of a group.
 */
enum flow_op {
	FLOW_NOTHING = 0, /* writes nothing that is followed */
	FLOW_UNKNOWN, /* its results count as written */
	FLOW_MOVE, /* dst = src[0], extended with zeros */
	FLOW_SIGN_EXTEND,
	FLOW_ADDRESS, /* lea; imm: its displacement */
	FLOW_AND, /* of dst and src[0], as all up to FLOW_ADD_CARRY */
	FLOW_OR,
	FLOW_XOR,
	FLOW_ADD, /* and subtractions and comparisons */
	FLOW_ADD_CARRY,
	FLOW_NOT, /* of dst alone */
	FLOW_NEGATE,
	FLOW_SHIFT_LEFT, /* of dst, by imm or by src[0], as all up to FLOW_ROTATE_RIGHT */
	FLOW_SHIFT_RIGHT,
	FLOW_SHIFT_ARITHMETIC,
	FLOW_ROTATE_LEFT,
	FLOW_ROTATE_RIGHT,
	FLOW_MULTIPLY, /* dst = src[0] * src[1] */
	FLOW_WIDE, /* mul, div: all results from all operands */
	FLOW_MIX, /* all of dst from all of the sources: crc32, mulx */
	FLOW_SELECT, /* dst from bits of src[0] that src[1] or imm selects: pext, bextr */
	FLOW_LOWEST, /* dst from src[0], from its lowest bit up: blsr, blsi, blsmsk */
	FLOW_AND_NOT, /* andn */
	FLOW_DOUBLE_SHIFT, /* shld, shrd of dst: bits of src[0] are shifted in; by imm or by src[1] */
	FLOW_COMPARE_EXCHANGE,
	FLOW_SWAP_BYTES,
	FLOW_MOVE_SWAPPED, /* movbe */
	FLOW_BIT_TEST, /* carry = bit src[0] or imm of dst */
	FLOW_COUNT, /* dst from all of src[0]: popcnt */
	FLOW_COUNT_LOW, /* from its bits up to the lowest that is set: bsf */
	FLOW_COUNT_HIGH, /* from its bits down to the highest that is set: bsr */
	FLOW_SET_IF, /* dst = a condition */
	FLOW_MOVE_IF, /* cmov */
	FLOW_EXCHANGE,
	FLOW_EXCHANGE_ADD,
	FLOW_SPREAD_SIGN, /* cdq: rdx from the sign of rax */
	FLOW_BRANCH, /* depends on flags or on src[0] */
	FLOW_PUSH,
	FLOW_POP,
	FLOW_LEAVE,
	FLOW_CALL, /* src[0]: the target, if it is in a register or in memory */
	FLOW_JUMP,
	FLOW_RETURN,
	FLOW_STRING_COPY, /* movs */
	FLOW_STRING_FILL, /* stos */
	/* of two vectors, src[0] and src[1], up to FLOW_VECTOR_SHIFT_BY; src[1] may be missing for PERMUTE */
	FLOW_VECTOR_AND,
	FLOW_VECTOR_OR,
	FLOW_VECTOR_LANES, /* each element from those of the sources at the same place */
	FLOW_VECTOR_SCALAR, /* the same for element 0; the others are those of src[0] */
	FLOW_VECTOR_INSERT, /* element imm of dst = src[1], the others are src[0]'s */
	FLOW_VECTOR_LOW, /* elements of src[0] and src[1] in turn, from the low halves of 16 bytes each */
	FLOW_VECTOR_HIGH,
	FLOW_VECTOR_MOVE_HIGH, /* movhlps */
	FLOW_VECTOR_PACK, /* elements of both, each from one of twice its size */
	FLOW_VECTOR_ALIGN, /* palignr */
	FLOW_VECTOR_LOW_LANES, /* each element from the low halves of those of the sources: pmuludq */
	FLOW_VECTOR_BYTES, /* pshufb: bytes of src[0], by src[1] */
	FLOW_VECTOR_MIX, /* all bytes from all others, in each 16 bytes: mpsadbw, aesenc */
	FLOW_VECTOR_PERMUTE, /* elements of src[0] or src[1], by imm: `wide` is an enum flow_permute */
	FLOW_VECTOR_SHIFT_BY, /* elements of src[0], by the number that src[1] has */
	/* of one vector, src[0], up to FLOW_VECTOR_BROADCAST */
	FLOW_VECTOR_EACH, /* each element from the one at the same place */
	FLOW_VECTOR_NARROW, /* each element from one of twice its size: cvtpd2ps */
	FLOW_VECTOR_MOVE,
	FLOW_VECTOR_SHIFT_LEFT, /* of each element, by imm bits */
	FLOW_VECTOR_SHIFT_RIGHT,
	FLOW_VECTOR_SHIFT_ARITHMETIC,
	FLOW_VECTOR_BYTES_LEFT, /* of 16 bytes each, by imm bytes */
	FLOW_VECTOR_BYTES_RIGHT,
	FLOW_VECTOR_EXTEND, /* pmovzx, pmovsx: dst's elements, each from one of `element` bytes */
	FLOW_VECTOR_SIGNS, /* dst, a number: the highest bit of each element */
	FLOW_VECTOR_CONVERT, /* `element` bytes of dst from all of src[0] */
	FLOW_VECTOR_EXTRACT, /* dst = element imm of src[0] */
	FLOW_VECTOR_SHUFFLE, /* pshufd */
	FLOW_VECTOR_BROADCAST,
	FLOW_VECTOR_COMPARE, /* flags from src[0] and src[1] */
	FLOW_VECTOR_TEST, /* ptest */
	FLOW_VECTOR_UPPER, /* vzeroupper */
	FLOW_VECTOR_ALL, /* xrstor, vzeroall: all vector registers count as written */
	FLOW_OPS
};

enum flow_permute {
	FLOW_WORDS_LOW = 1, /* pshuflw: the low four words of each 16 bytes */
	FLOW_WORDS_HIGH,
	FLOW_TWO_AND_TWO, /* shufps, shufpd: the low half from src[0], the high one from src[1] */
	FLOW_EVEN, /* each of the even elements twice: movddup, movsldup */
	FLOW_ODD,
	FLOW_BLEND, /* a bit of imm for each element: from src[1] */
	FLOW_IN_LANE, /* vpermilpd: a bit of imm for each element */
	FLOW_OF_FOUR, /* vpermq: of each 32 bytes */
	FLOW_HALVES, /* vperm2i128 */
};

enum flow_where { FLOW_NOWHERE = 0, FLOW_CONSTANT, FLOW_REGISTER, FLOW_VECTOR, FLOW_MEMORY };

struct flow_loc {
	uint8_t where, reg, off, len; /* reg: from 0 on of its kind; off, len: bytes */
};

/* Flags, by their places in the register. */
#define FLOW_CF 0x1u
#define FLOW_PF 0x4u
#define FLOW_AF 0x10u
#define FLOW_ZF 0x40u
#define FLOW_SF 0x80u
#define FLOW_OF 0x800u
#define FLOW_FLAGS (FLOW_CF | FLOW_PF | FLOW_AF | FLOW_ZF | FLOW_SF | FLOW_OF)

struct insn_flow {
	uint8_t op; /* enum flow_op */
	uint8_t nsrc, element;
	bool keeps_dst; /* cmp, test: only flags are written */
	bool zero; /* xor of a register with itself and the like */
	bool same; /* both operands are the same register */
	bool zeroes; /* the rest of a vector register becomes 0 */
	bool lowers; /* it may lower the stack pointer: push, call, sub, lea, and */
	bool moves_sp;
	struct flow_loc dst, src[2];
	int64_t imm;
	bool has_imm;
	bool from_operand; /* dst is the register that the ModRM byte names in its upper half */
	bool subtracts; /* of FLOW_ADD */
	bool increments; /* of FLOW_NEGATE */
	bool inverts; /* of FLOW_VECTOR_AND: src[0] */
	bool adds_dst; /* of vectors: dst is a source, too */
	bool left; /* of FLOW_DOUBLE_SHIFT */
	uint8_t wide; /* of FLOW_VECTOR_EXTEND: bytes of dst's elements; of FLOW_VECTOR_PERMUTE: which */
	uint8_t base, index, scale; /* of the operand in memory; INSN_NO_REG: none */
	uint16_t tested, flags; /* flags that it reads, and that it writes */
	uint64_t writes, touches; /* registers as insn_regs has them: written, and read or written */
};

void insn_flow(const uint8_t *code, size_t n, struct insn_flow *f);

#endif
