/* SPDX-License-Identifier: MIT */
/* next.h: where execution may go on after one instruction of x86-64, as far as its bytes tell. */
#ifndef FRED_INSN_NEXT_H
#define FRED_INSN_NEXT_H

#include <stddef.h>
#include <stdint.h>

enum insn_next_kind {
	NEXT_NOWHERE = 0, /* it ends the program, or cannot be decoded */
	NEXT_RETURN, /* ret */
	NEXT_FOLLOWS, /* the instruction after it */
	NEXT_CALL, /* the instruction after it, once the call has returned */
	NEXT_BRANCH, /* that, or target */
	NEXT_JUMP, /* target */
	NEXT_ANYWHERE, /* where a register or memory says */
};

struct insn_next {
	enum insn_next_kind kind;
	unsigned len; /* 0: it cannot be decoded */
	uint64_t target; /* of CALL: the function's address; 0: a register or memory has it */
	uint64_t slot; /* of CALL and ANYWHERE: the address of the word that has the target, if known; else 0 */
};

/* code: the n bytes at pc. The result is about the first instruction. */
struct insn_next insn_next(const uint8_t *code, size_t n, uint64_t pc);

#endif
