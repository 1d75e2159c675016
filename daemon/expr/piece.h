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

/* Bytecode that leaves one slot, without its `end`; high: of a wide one, other bytecode, for the high word. */
struct piece {
	struct buf code, high;
	enum piece_kind kind;
	char *cast; /* "(TYPE)0", where it is a cast to that; else NULL */
};

void piece_fini(struct piece *p);
#define cleanup_piece __attribute__((cleanup(piece_fini)))

bool piece_is_floating(const struct piece *p);
bool piece_is_wide(const struct piece *p);

void code_op(struct buf *code, enum agent_op o);
void code_op_with(struct buf *code, enum agent_op o, uint64_t operand, unsigned bytes);
/* After what is there: the targets of jumps move along. */
void code_append(struct buf *code, const struct buf *more);

/* The code is the address of a 128-bit integer: it becomes that. */
void piece_read_wide(struct piece *p, bool is_signed);
/* An integer, of whatever width, becomes a wide one. */
void piece_to_wide(struct piece *p, enum piece_kind as);
/* A wide one becomes one of 64 bits, of which some may be cut off after that. */
void piece_to_narrow(struct piece *p);
/* A wide one becomes a narrow one that is zero if, and only if, that is. */
void piece_to_nonzero(struct piece *p);
/* Each bit of a wide one becomes the other. */
void piece_not(struct piece *p);
/* Of two integers, one of them wide: one of == != < > <= >= + - * / % & | ^; << and >>, whose left one is wide. */
void piece_compute_wide(struct piece *out, const char *operator, struct piece * a, struct piece *b);

#endif
