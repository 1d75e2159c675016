/* SPDX-License-Identifier: MIT */
/* insn.h: where an x86-64 instruction ends, and whether it can be run at another address. */
#ifndef FRED_RECORD_INSN_H
#define FRED_RECORD_INSN_H

#include <stdint.h>

enum insn_kind {
	INSN_PLAIN, /* a copy of it does the same, once its RIP-relative operand is adjusted */
	INSN_JCC,
	INSN_LOOP, /* loop, loope, loopne, jrcxz: conditional, and only a byte for the distance */
	INSN_JMP,
	INSN_CALL,
	INSN_RET,
	INSN_JMP_BY, /* through a register or memory */
	INSN_CALL_BY,
	INSN_STOP, /* a system call, a trap, or an unknown instruction */
};

struct insn {
	enum insn_kind kind;
	uint8_t len; /* bytes */
	uint8_t rex; /* 0: none */
	uint8_t op; /* the last byte of the opcode */
	uint8_t map; /* which opcode map: 0: one byte; 1: 0f; 2: 0f 38; 3: 0f 3a; others after EVEX */
	uint8_t vex; /* bytes of a VEX (2 or 3) or EVEX (4) prefix, which ends at op_at; 0: none */
	/* offsets; 0: there is none */
	uint8_t op_at, modrm_at;
	uint8_t rip_at; /* 4 bytes: distance of a RIP-relative operand */
	uint8_t imm_at, imm_len;
	/* of JCC, LOOP, JMP and CALL; for RET: bytes that it removes from the stack besides the return address */
	uint64_t target;
};

/* Decodes the instruction at p, as if it ran there. The memory must be readable; an invalid instruction is a STOP. */
void insn_decode(const uint8_t *p, struct insn *i);

/* The address of its RIP-relative operand; rip_at is not 0. */
uint64_t insn_rip_target(const uint8_t *p, const struct insn *i);
/* X (2) and B (1) of REX, VEX or EVEX: they extend the index and the base of the operand in memory. */
uint8_t insn_extension(const uint8_t *p, const struct insn *i);
/*
 * The address of its operand in memory. 0: it reads and writes none, or only memory that is relative to FS or GS. reg:
 * the registers as the processor numbers them, from rax to r15. 0 as well: operands whose registers are vectors
 * (gathers), those that no ModRM byte names, and, with EVEX, those with a displacement of one byte, which is a number
 * of operands.
 */
uint64_t insn_address(const uint8_t *p, const struct insn *i, const uint64_t *reg);
/* Can it write to memory? 0: certainly not. Calls do. */
int insn_may_write(const uint8_t *p, const struct insn *i);

/*
 * Was a SIGTRAP with this si_code, and these flags in its frame, a step by the trap flag? last: the instruction before,
 * NULL: not known. In virtual machines the bit that tells a step (DR6.BS) is lost now and then: the kernel then takes
 * it for an int1, TRAP_BRKPT, or for a breakpoint.
 */
int insn_stepped(int si_code, uint64_t flags, const uint8_t *last);
/*
 * Does such a SIGTRAP come late, from a step that was given up, or from a breakpoint whose bit in DR6 is lost? No, if
 * the program steps itself, or has executed int1 or int3. before: the byte before the address. The signal can be
 * dropped: a breakpoint is hit again.
 */
int insn_stray_trap(int si_code, uint64_t flags, uint8_t before);

#endif
