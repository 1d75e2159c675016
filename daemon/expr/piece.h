/* SPDX-License-Identifier: MIT */
/*
 * piece.h: bytecode (agent/agent.h) for a part of an expression, and what is made of two such parts where 128-bit
 * integers are concerned. GDB 13 does not compute with those; C's rules hold.
 */
#ifndef FRED_EXPR_PIECE_H
#define FRED_EXPR_PIECE_H

#include "agent/agent.h"
#include "base/buf.h"

enum piece_kind { SIGNED, UNSIGNED, POINTER, FLOAT, DOUBLE, WIDE_SIGNED, WIDE_UNSIGNED };

/* Bytecode that leaves one slot, without its `end`; high: the same for the high word of a wide number. */
struct piece {
	struct buf code, high;
	enum piece_kind kind;
	char *cast; /* "(TYPE)0" if it is a cast to that type; else NULL */
};

void piece_fini(struct piece *p);
#define cleanup_piece __attribute__((cleanup(piece_fini)))

bool piece_is_floating(const struct piece *p);
bool piece_is_wide(const struct piece *p);

void code_op(struct buf *code, enum agent_op o);
void code_op_with(struct buf *code, enum agent_op o, uint64_t operand, unsigned bytes);
/* Appends code, and adjusts the targets of its jumps. */
void code_append(struct buf *code, const struct buf *more);

/* The code computes the address of a 128-bit integer: now it computes that integer. */
void piece_read_wide(struct piece *p, bool is_signed);
/* Makes an integer of any width a wide one. */
void piece_to_wide(struct piece *p, enum piece_kind as);
/* Makes a wide integer one of 64 bits; a later cast may cut off more. */
void piece_to_narrow(struct piece *p);
/* Makes a wide integer a narrow one that is zero exactly if the wide one is. */
void piece_to_nonzero(struct piece *p);
/* Inverts each bit of a wide integer. */
void piece_not(struct piece *p);
/*
 * Computes with two integers, at least one of them wide: == != < > <= >= + - * / % & | ^; or << and >> with a wide left
 * operand.
 */
void piece_compute_wide(struct piece *out, const char *operator, struct piece * a, struct piece *b);

#endif
