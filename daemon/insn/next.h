/* SPDX-License-Identifier: MIT */
/* next.h: where execution can continue after one x86-64 instruction, as far as its bytes show. */
#ifndef FRED_INSN_NEXT_H
#define FRED_INSN_NEXT_H

#include <stddef.h>
#include <stdint.h>

enum insn_next_kind {
	NEXT_NOWHERE = 0, /* it ends the program, or cannot be decoded */
	NEXT_RETURN, /* ret */
	NEXT_FOLLOWS, /* the instruction after it */
	NEXT_CALL, /* the instruction after it, once the call has returned */
	NEXT_BRANCH, /* the instruction after it, or target */
	NEXT_JUMP, /* target */
	NEXT_ANYWHERE, /* the target is in a register or in memory */
};

struct insn_next {
	enum insn_next_kind kind;
	unsigned len; /* 0: it cannot be decoded */
	uint64_t target; /* CALL: the function's address; 0: it is in a register or in memory */
	uint64_t slot; /* CALL, ANYWHERE: the address of the word with the target, if known; else 0 */
};

/* code: the n bytes at pc. The result is about the first instruction. */
struct insn_next insn_next(const uint8_t *code, size_t n, uint64_t pc);

#endif
