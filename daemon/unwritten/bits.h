/* SPDX-License-Identifier: MIT */
/*
 * bits.h: what the files of unwritten.h share: the state while one instruction is executed, and access to its
 * operands. In all masks a set bit was never written.
 */
#ifndef FRED_UNWRITTEN_BITS_H
#define FRED_UNWRITTEN_BITS_H

#include "unwritten/unwritten.h"

struct bits_state {
	struct unwritten *u;
	struct unwritten_thread *t;
	const struct unwritten_done *d;
	const struct insn_flow *f;
	uint32_t origin; /* of what the sources have */
};

/* ---- registers and operands: bits.c ---- */

bool bits_any(const uint8_t *bits, unsigned len);
void bits_mark(struct unwritten_thread *t, unsigned reg, bool dirty, uint32_t origin);
void bits_clear(struct unwritten_thread *t, uint64_t regs);
uint64_t bits_ones(unsigned bytes);
uint64_t bits_upwards(uint64_t v);
const struct unwritten_access *bits_accessed(const struct bits_state *s, bool writes);
void bits_get_bytes(struct bits_state *s, const struct flow_loc *l, uint8_t *bits);
uint64_t bits_get(struct bits_state *s, const struct flow_loc *l);
void bits_put_bytes(struct bits_state *s, const struct flow_loc *l, const uint8_t *bits);
void bits_put(struct bits_state *s, const struct flow_loc *l, uint64_t v);
void bits_set_flags(struct bits_state *s, uint16_t never);
/* Carry and overflow were never written, if the instruction writes them. */
void bits_set_carry(struct bits_state *s);
void bits_flags_of(struct bits_state *s, uint64_t v, unsigned bytes, bool carry);
bool bits_tested(const struct bits_state *s);
uint64_t bits_constant(const struct bits_state *s);
uint64_t bits_signed_of(uint64_t v, unsigned bytes);

/* ---- instructions on whole numbers: numbers.c ---- */

void bits_two_operands(struct bits_state *s);
void bits_one_operand(struct bits_state *s);
void bits_shift(struct bits_state *s);
void bits_double_shift(struct bits_state *s);
void bits_multiply(struct bits_state *s);
void bits_mix(struct bits_state *s);
void bits_select(struct bits_state *s);
void bits_lowest(struct bits_state *s);
void bits_and_not(struct bits_state *s);
void bits_compare_exchange(struct bits_state *s);
void bits_wide(struct bits_state *s);
void bits_bit_test(struct bits_state *s);
uint64_t bits_turned(uint64_t v, unsigned bytes);
void bits_address(struct bits_state *s);
void bits_exchange(struct bits_state *s);
void bits_move_if(struct bits_state *s);
void bits_set_if(struct bits_state *s);

/* ---- and on vectors: vectors.c ---- */

/* permute.c: of a and b into out, as imm says. */
void bits_permute(const struct bits_state *s, const uint8_t *a, const uint8_t *b, uint8_t *out);

void bits_two_vectors(struct bits_state *s);
void bits_one_vector(struct bits_state *s);
void bits_compare_vectors(struct bits_state *s);
void bits_test_vectors(struct bits_state *s);
void bits_clear_upper(struct unwritten_thread *t);

#endif
