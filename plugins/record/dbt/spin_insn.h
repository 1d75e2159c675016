/* SPDX-License-Identifier: MIT */
/* spin_insn.h: what an instruction does with registers and memory, as far as spin.c needs it. */
#ifndef FRED_RECORD_SPIN_INSN_H
#define FRED_RECORD_SPIN_INSN_H

#include "record/dbt/insn.h"

/* As the processor numbers them. */
#define RSP 4u
#define RBP 5u

enum effect_flags {
	READS = 1, /* memory */
	WRITES = 2,
	ATOMIC = 4, /* cmpxchg, xchg */
	ON_STACK = 8, /* that memory is named by rsp or rbp */
	PAUSES = 16,
	UNKNOWN = 32, /* no loop that waits has such an instruction */
	TESTS = 64, /* compares, and keeps nothing */
};

struct effect {
	unsigned flags;
	/* registers, as bits: those that it computes; those that it copies, from the register `from` or from memory */
	unsigned computed, moved;
	unsigned from, base; /* the register that it copies; those of the address */
	uint64_t where; /* equal for two operands that name the same memory */
};

/* by_rbp: rbp points to the stack. */
void spin_effect(const uint8_t *p, const struct insn *i, int by_rbp, struct effect *e);

#endif
