/* SPDX-License-Identifier: MIT */
/*
 * agent.h: an interpreter for GDB's agent expression bytecode (GDB manual, appendix "The GDB Agent
 * Expression Mechanism"), so that a compiled expression is evaluated on a stopped process without GDB.
 * Pure: memory and registers come through callbacks. What the expression read is reported, since
 * those words are the ones to watch when its value is to change.
 *
 * Not supported, since GDB compiles no expression to them: its prefix for floating point, and the opcodes
 * that collect trace data or touch trace state variables. In place of the first there are opcodes of our own
 * (AGENT_FLOATS): a floating-point number stands on the stack as the bits of a double.
 */
#ifndef FRED_AGENT_AGENT_H
#define FRED_AGENT_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define AGENT_STACK 64
#define AGENT_MAX_STEPS 100000
#define AGENT_MAX_RANGES 64

struct agent_ops {
	/* Reads len (1..8) bytes of the program's memory. Returns 0, or -1: not mapped. */
	int (*read_mem)(void *ctx, uint64_t addr, void *out, size_t len);
	/* Reads a register by GDB's number. Returns 0, or -1: unknown. May be NULL: none are known. */
	int (*read_reg)(void *ctx, unsigned regno, uint64_t *value);
};

enum agent_status {
	AGENT_OK = 0,
	AGENT_BAD_MEMORY, /* fault_addr is not mapped */
	AGENT_DIV_ZERO,
	AGENT_BAD_REGISTER,
	AGENT_BAD_CODE, /* stack under- or overflow, jump out of the code, unknown or unsupported opcode */
	AGENT_TOO_LONG, /* more than AGENT_MAX_STEPS */
};

struct agent_range {
	uint64_t addr;
	uint32_t len;
};

struct agent_result {
	int64_t value; /* AGENT_OK: the value, extended with its sign or zeros as the expression's type requires */
	uint64_t fault_addr; /* AGENT_BAD_MEMORY */
	bool ranges_full; /* more was read than range[] holds */
	size_t ranges_n;
	struct agent_range range[AGENT_MAX_RANGES]; /* what was read, also before a failure; each range once */
};

/* Runs code[0..len) up to its `end`. The result is filled for every status. */
enum agent_status agent_run(const uint8_t *code, size_t len, const struct agent_ops *ops, void *ctx,
			    struct agent_result *out);
/* A sentence for a status, without the address; "" for AGENT_OK. */
const char *agent_status_text(enum agent_status status);

/*
 * Translates GDB's listing of an expression ("  0  const64 4210752\n  9  ref64\n 10  end\n"; lines that
 * are no instructions are skipped) to bytecode. *code is the caller's. ERR_INTERNAL when the listing
 * names an opcode that is not supported, or its offsets do not fit its opcodes.
 */
int agent_assemble(const char *listing, uint8_t **code, size_t *len, struct err *e);

/* Opcodes: name as GDB prints it, number, bytes of operand. */
#define AGENT_OPCODES(X)                                                                                               \
	X(add, 0x02, 0)                                                                                                \
	X(sub, 0x03, 0)                                                                                                \
	X(mul, 0x04, 0)                                                                                                \
	X(div_signed, 0x05, 0)                                                                                         \
	X(div_unsigned, 0x06, 0)                                                                                       \
	X(rem_signed, 0x07, 0)                                                                                         \
	X(rem_unsigned, 0x08, 0)                                                                                       \
	X(lsh, 0x09, 0)                                                                                                \
	X(rsh_signed, 0x0a, 0)                                                                                         \
	X(rsh_unsigned, 0x0b, 0)                                                                                       \
	X(log_not, 0x0e, 0)                                                                                            \
	X(bit_and, 0x0f, 0)                                                                                            \
	X(bit_or, 0x10, 0)                                                                                             \
	X(bit_xor, 0x11, 0)                                                                                            \
	X(bit_not, 0x12, 0)                                                                                            \
	X(equal, 0x13, 0)                                                                                              \
	X(less_signed, 0x14, 0)                                                                                        \
	X(less_unsigned, 0x15, 0)                                                                                      \
	X(ext, 0x16, 1)                                                                                                \
	X(ref8, 0x17, 0)                                                                                               \
	X(ref16, 0x18, 0)                                                                                              \
	X(ref32, 0x19, 0)                                                                                              \
	X(ref64, 0x1a, 0)                                                                                              \
	X(if_goto, 0x20, 2)                                                                                            \
	X(goto, 0x21, 2)                                                                                               \
	X(const8, 0x22, 1)                                                                                             \
	X(const16, 0x23, 2)                                                                                            \
	X(const32, 0x24, 4)                                                                                            \
	X(const64, 0x25, 8)                                                                                            \
	X(reg, 0x26, 2)                                                                                                \
	X(end, 0x27, 0)                                                                                                \
	X(dup, 0x28, 0)                                                                                                \
	X(pop, 0x29, 0)                                                                                                \
	X(zero_ext, 0x2a, 1)                                                                                           \
	X(swap, 0x2b, 0)                                                                                               \
	X(pick, 0x32, 1)                                                                                               \
	X(rot, 0x33, 0)

/* Name, number, slots that it takes; one comes back. */
#define AGENT_FLOATS(X)                                                                                                \
	X(of_float, 0xc0, 1) /* the bits of a float */                                                                 \
	X(of_signed, 0xc1, 1)                                                                                          \
	X(of_unsigned, 0xc2, 1)                                                                                        \
	X(round_float, 0xc3, 1) /* to what a float can hold */                                                         \
	X(to_signed, 0xc4, 1) /* towards zero, as a cast in C */                                                       \
	X(to_unsigned, 0xc5, 1)                                                                                        \
	X(neg, 0xc6, 1)                                                                                                \
	X(fadd, 0xc8, 2)                                                                                               \
	X(fsub, 0xc9, 2)                                                                                               \
	X(fmul, 0xca, 2)                                                                                               \
	X(fdiv, 0xcb, 2)                                                                                               \
	X(fequal, 0xcc, 2)                                                                                             \
	X(fless, 0xcd, 2)

/*
 * Opcodes for 128-bit integers a and b. Their slots are a's low and high word, then b's. Each opcode gives one word of
 * the result, or whether a is less; a shift takes the number of bits from b. Words of the result that are the same as
 * with 64-bit arithmetic have no opcode here.
 */
#define AGENT_WIDES(X)                                                                                                 \
	X(wadd_high, 0xd0)                                                                                             \
	X(wsub_high, 0xd1)                                                                                             \
	X(wmul_high, 0xd2)                                                                                             \
	X(wdiv_signed, 0xd3)                                                                                           \
	X(wdiv_signed_high, 0xd4)                                                                                      \
	X(wdiv_unsigned, 0xd5)                                                                                         \
	X(wdiv_unsigned_high, 0xd6)                                                                                    \
	X(wrem_signed, 0xd7)                                                                                           \
	X(wrem_signed_high, 0xd8)                                                                                      \
	X(wrem_unsigned, 0xd9)                                                                                         \
	X(wrem_unsigned_high, 0xda)                                                                                    \
	X(wless_signed, 0xdb)                                                                                          \
	X(wless_unsigned, 0xdc)                                                                                        \
	X(wlsh, 0xdd)                                                                                                  \
	X(wlsh_high, 0xde)                                                                                             \
	X(wrsh_signed, 0xdf)                                                                                           \
	X(wrsh_signed_high, 0xe0)                                                                                      \
	X(wrsh_unsigned, 0xe1)                                                                                         \
	X(wrsh_unsigned_high, 0xe2)
#define AGENT_WIDE_SLOTS 4

enum agent_op {
#define X(name, number, any) AGENT_##name = number,
	AGENT_OPCODES(X) AGENT_FLOATS(X)
#undef X
#define X(name, number) AGENT_##name = number,
		AGENT_WIDES(X)
#undef X
};

/* Bytes of operand after an opcode; 0 also for one that is unknown. */
unsigned agent_operand_size(uint8_t op);
/* The result of an opcode of AGENT_WIDES for these slots. false: it divides by zero. */
bool agent_wide(enum agent_op op, const uint64_t slot[AGENT_WIDE_SLOTS], uint64_t *out);
/* The result of an opcode of AGENT_FLOATS for these slots; b: the upper one if it takes two. */
uint64_t agent_float(enum agent_op op, uint64_t a, uint64_t b);

#endif
