/* SPDX-License-Identifier: MIT */
/*
 * emulate_int.h: what the files of the interpreter share, in this order: emulate_memory.c (memory, operands),
 * emulate_arith.c and emulate_exec.c (instructions), emulate_decode.c (their table), emulate.c (the loop).
 */
#ifndef FRED_INSN_EMULATE_INT_H
#define FRED_INSN_EMULATE_INT_H

#include "insn/emulate.h"

#define EMULATE_OPERANDS 3
#define EMULATE_NO_REG 0xff
#define EMULATE_RIP 0xfe /* as a base */
#define EMULATE_XMM 16 /* vector registers have numbers from here on */

enum emulate_kind { EMULATE_NONE = 0, EMULATE_REG, EMULATE_MEM, EMULATE_IMM };

struct emulate_operand {
	uint8_t kind, reg, base, index, scale;
	bool high; /* it is the second byte of a register */
	bool fs;
	uint16_t bits;
	int64_t value; /* displacement, or the number */
};

struct emulate_insn;
struct emulate_cpu;
/* Executes one instruction; cpu->rip is already that of the next one. */
typedef enum emulate_end emulate_fn(struct emulate *m, struct emulate_cpu *c, const struct emulate_insn *i);

struct emulate_insn {
	uint64_t pc; /* 0: an empty place of the table */
	uint8_t bytes[15], len;
	unsigned arg; /* for the function: a condition or an operation */
	emulate_fn *run; /* NULL: not known here */
	struct emulate_operand op[EMULATE_OPERANDS];
};

struct emulate_cpu {
	uint64_t reg[16];
	unsigned __int128 xmm[16];
	uint64_t rip;
	bool cf, pf, zf, sf, of;
};

#define EMULATE_PAGES 512u /* a power of two; a call that needs nearly as many pages is refused */
/* Addresses that are not canonical (Intel's manual, volume 1, 3.3.7.1): nothing is mapped there. */
#define EMULATE_STACK_HI 0x00f0000000000000ull
#define EMULATE_STACK_SIZE (1u << 20)

struct emulate_page {
	uint64_t addr; /* 0 for an empty place of the table */
	uint8_t data[EMULATE_PAGE];
};

struct emulate {
	const struct emulate_ops *ops;
	void *ctx;
	struct emulate_page *page; /* a hash table */
	struct emulate_page *last;
	unsigned pages;
	bool full;
	uint64_t steps; /* interpreted since emulate_begin */
	uint64_t sp; /* below what the caller has put there */
	struct emulate_insn *insn; /* by address; one that has no room takes another's place */
};

/* Reads memory as the function sees it. 0 or -1: not mapped. */
int emulate_load(struct emulate *m, uint64_t addr, void *out, unsigned len);
int emulate_store(struct emulate *m, uint64_t addr, const void *from, unsigned len);
/* The page of an address as the function sees it; NULL: not mapped. */
struct emulate_page *emulate_page_at(struct emulate *m, uint64_t addr);

/* Operands: an address, a value of up to 64 bits, and a value to be written. */
uint64_t emulate_address(const struct emulate_cpu *c, const struct emulate_operand *o);
enum emulate_end emulate_get(struct emulate *m, const struct emulate_cpu *c, const struct emulate_operand *o,
			     uint64_t *v);
enum emulate_end emulate_put(struct emulate *m, struct emulate_cpu *c, const struct emulate_operand *o, uint64_t v);

/* Does the condition hold, as the processor numbers them (Intel's manual, volume 1, appendix B)? */
bool emulate_holds(const struct emulate_cpu *c, unsigned condition);

/* emulate_insn.arg of arithmetic and of shifts */
enum { EMULATE_ADD, EMULATE_SUB, EMULATE_CMP, EMULATE_AND, EMULATE_OR, EMULATE_XOR, EMULATE_TEST };
enum { EMULATE_SHL, EMULATE_SHR, EMULATE_SAR };
emulate_fn emulate_do_arith;
emulate_fn emulate_do_by_one;
emulate_fn emulate_do_call;
emulate_fn emulate_do_cmov;
emulate_fn emulate_do_div;
emulate_fn emulate_do_extend_rax;
emulate_fn emulate_do_imul;
emulate_fn emulate_do_jcc;
emulate_fn emulate_do_jmp;
emulate_fn emulate_do_lea;
emulate_fn emulate_do_leave;
emulate_fn emulate_do_mov;
emulate_fn emulate_do_movsx;
emulate_fn emulate_do_neg;
emulate_fn emulate_do_nop;
emulate_fn emulate_do_not;
emulate_fn emulate_do_pop;
emulate_fn emulate_do_push;
emulate_fn emulate_do_ret;
emulate_fn emulate_do_set;
emulate_fn emulate_do_shift;
emulate_fn emulate_do_sign_to_rdx;
emulate_fn emulate_do_vector_move;
emulate_fn emulate_do_vector_zero;
emulate_fn emulate_do_xchg;

/* Fills i, except pc and bytes, from code. If the instruction is not known, i->run stays NULL. */
void emulate_decode(struct emulate_insn *i, const uint8_t *code, size_t n);

static inline uint64_t emulate_mask(unsigned bits)
{
	return bits >= 64 ? ~0ull : (1ull << bits) - 1;
}

static inline uint64_t emulate_extend(uint64_t v, unsigned bits)
{
	return bits >= 64 ? v : (uint64_t)((int64_t)(v << (64 - bits)) >> (64 - bits));
}

/* Ends a function with what another one ended with, unless that was EMULATE_DONE. */
#define EMULATE_TRY(x)                                                                                                 \
	do {                                                                                                           \
		enum emulate_end end_ = (x);                                                                           \
		if (end_)                                                                                              \
			return end_;                                                                                   \
	} while (0)

#endif
